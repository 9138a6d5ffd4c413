"""What a wheel holds is all that the source tree holds."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_package_of_the_source_tree_is_installed():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found = {".".join(file.parent.relative_to(ROOT / "src").parts) for file in (ROOT / "src").rglob("__init__.py")}
    charts = ("customer_service", "leave_approval", "online_shop")
    examples = {"gatechart.examples", *(f"gatechart.examples.{name}" for name in charts)}
    mapped = {"gatechart.migrations", "gatechart.migrations.versions", *examples}  # from `persistence`, `statecharts`
    assert set(config["tool"]["setuptools"]["packages"]) == found | mapped


def test_the_lowest_versions_that_are_tested_are_those_that_are_allowed():
    lowest = re.search(r"^LOWEST := ([^#]*)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[1].split()
    allowed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    bounds = dict(re.fullmatch(r"([\w.-]+)(?:\[.*\])?>=([\d.]+),.*", each).groups() for each in allowed)
    for each in lowest:
        name, _, version = each.partition("==")
        assert version.removesuffix(".0") == bounds[name]
