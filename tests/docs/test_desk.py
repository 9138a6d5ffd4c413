"""What pages, docstrings and help say of the ready-made desk."""

import re
from pathlib import Path

from gatechart.contrib.human_desk import ENTRY_POINTS

ROOT = Path(__file__).parents[2]
OFFERS = re.compile(r"""human_desk['"]?,? (?:--)?at[=:\s]+['"]?([A-Z_]+)""")


def test_work_is_handed_to_the_desk_at_entry_points_that_it_has():
    files = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/*.py"), ROOT / "README.md"]
    named = [(file.name, door) for file in files for door in OFFERS.findall(file.read_text(encoding="utf-8"))]
    assert len(named) > 10
    assert {(file, door) for file, door in named if door not in ENTRY_POINTS.values()} == set()
