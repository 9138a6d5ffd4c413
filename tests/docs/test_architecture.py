"""What the architecture names is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "gatechart"
TEXT = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
PATHS = sorted(set(re.findall(r"`([a-z][a-z_]*(?:/[a-z_]+)*/?(?:\.py)?)`", TEXT)))
NOT_PATHS = {"a/b"}  # an agent's id


def is_there(path):
    """Whether a module, package, folder or file is at the path, in the package or in the repository."""
    bare = path.rstrip("/")
    return any((root / name).exists() for root in (SOURCE, ROOT) for name in (bare, f"{bare}.py"))


@pytest.mark.parametrize("path", [path for path in PATHS if "/" in path and path not in NOT_PATHS])
def test_every_path_that_the_architecture_names_exists(path):
    assert is_there(path)


LAYERS = re.findall(r"^\| `([a-z_]+)/?` \| (.*) \|$", TEXT.partition("### ")[0], re.MULTILINE)


@pytest.mark.parametrize(("package", "told"), LAYERS, ids=[package for package, _ in LAYERS])
def test_every_module_that_a_layer_is_said_to_hold_is_in_it(package, told):
    there = {path.stem for path in (SOURCE / package).rglob("*")}
    named = set(re.findall(r"`([a-z][a-z_]*)`", told))
    assert named <= there


PLACES = re.findall(r"^\| Where .* \| `([a-z_/]+)` \| `(\w+)` \|$", TEXT, re.MULTILINE)


def test_each_of_ten_questions_leads_to_a_module_that_defines_where_reading_begins():
    assert len(PLACES) == 10
    for path, name in PLACES:
        source = (SOURCE / f"{path}.py").read_text(encoding="utf-8")
        assert re.search(rf"^(?:class|def|async def) {name}\b", source, re.MULTILINE), f"{path} lacks {name}"


def test_a_path_that_does_not_exist_would_be_noticed():
    assert is_there("kernel/select")
    assert is_there("kernel/")
    assert not is_there("kernel/no_such_module")
