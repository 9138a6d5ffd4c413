"""What the changelog sends its readers to is there."""

import re
from importlib import import_module
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[2] / "CHANGELOG.md").read_text(encoding="utf-8")
TABLE = TEXT.partition("| old | new |")[2].partition("\n\n")[0]
ROWS = [row.strip("|").split(" | ") for row in TABLE.splitlines() if row.startswith("| `")]
NEW = sorted({name for row in ROWS for name in re.findall(r"`(gatechart(?:\.\w+)+)`", row[1])})


def found(name):
    """Import a module, or what a name after the last dots of it means."""
    parts, rest = name.split("."), []
    while parts:
        try:
            thing = import_module(".".join(parts))
        except ModuleNotFoundError:
            rest.insert(0, parts.pop())
            continue
        for each in rest:
            thing = getattr(thing, each)
        return thing
    raise ModuleNotFoundError(name)


@pytest.mark.parametrize("name", NEW)
def test_a_new_name_that_the_changelog_gives_in_place_of_an_old_one_is_there(name):
    assert found(name) is not None


def test_a_name_that_is_not_there_would_be_noticed():
    with pytest.raises((AttributeError, ModuleNotFoundError)):
        found("gatechart.restate.capacity")
