"""What a wheel holds is all that the source tree holds."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

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


def installed_with(wanted: Iterable[Requirement]) -> set[str]:
    """The distributions that pip installs for some requirements, their own included, by canonical name."""
    seen: set[tuple[str, str]] = set()
    waiting = [(each.name, extra) for each in wanted for extra in ("", *each.extras)]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) not in seen:
            seen.add((name, extra))
            needed = [Requirement(each) for each in _requires(name)]
            meant = [each for each in needed if each.marker is None or each.marker.evaluate({"extra": extra})]
            waiting += [(each.name, inner) for each in meant for inner in ("", *each.extras)]
    return {canonicalize_name(name) for name, _ in seen}


def _requires(name: str) -> list[str]:
    """None of what is not installed here, such as the peers that the benchmarks alone install."""
    try:
        return requires(name) or []
    except PackageNotFoundError:
        return []


@pytest.mark.processes
def test_the_environment_of_the_benchmarks_has_what_the_benchmarks_import():
    recipe = re.search(r"^\.bench-venv/\.ready:.*\n\t.*-e '\.(\[.*?\])'", (ROOT / "Makefile").read_text(), re.MULTILINE)
    peers = (ROOT / "benchmarks/requirements.txt").read_text(encoding="utf-8").splitlines()
    pinned = (Requirement(each) for each in peers if not each.startswith("#"))
    expected = installed_with([Requirement(f"gatechart{recipe[1]}"), *pinned])
    listing = "import sys; before = set(sys.modules); import benchmarks.run; print(*set(sys.modules) - before)"
    found = subprocess.run([sys.executable, "-c", listing], cwd=ROOT, capture_output=True, text=True, check=True)
    providers = packages_distributions()
    roots = {name.partition(".")[0] for name in found.stdout.split()}
    imported = {name: providers[name] for name in roots & providers.keys()}
    missing = {name for name, dists in imported.items() if not expected & {canonicalize_name(d) for d in dists}}
    assert not missing
