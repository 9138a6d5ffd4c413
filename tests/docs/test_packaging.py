"""What a wheel holds is all that the source tree holds."""

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
