"""The architecture names only modules that exist, and every package; its index leads to every decision."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "gatechart"
ENTRY = ROOT / "docs" / "explanation" / "architecture.md"
PAGES = sorted((ROOT / "docs" / "explanation" / "architecture").glob("*.md"))
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in (ENTRY, *PAGES))
PATHS = sorted(set(re.findall(r"`([a-z][a-z_]*(?:/[a-z_]+)*/?(?:\.py)?)`", TEXT)))
NOT_PATHS = {"a/b"}  # an agent's id


def is_there(path):
    """Whether a module, package, folder or file is at the path, in the package or in the repository."""
    bare = path.rstrip("/")
    return any((root / name).exists() for root in (SOURCE, ROOT) for name in (bare, f"{bare}.py"))


@pytest.mark.parametrize("path", [path for path in PATHS if "/" in path and path not in NOT_PATHS])
def test_every_path_that_the_architecture_names_exists(path):
    assert is_there(path)


MODULES = re.findall(r"^\| `([a-z_/]+?)/?`.*? \| (.*) \|$", TEXT, re.MULTILINE)
PACKAGES = [
    (package, text) for package, text in MODULES if (SOURCE / package).exists() or (SOURCE / f"{package}.py").exists()
]


@pytest.mark.parametrize(("package", "text"), PACKAGES, ids=[package for package, _ in PACKAGES])
def test_every_module_in_the_row_of_a_package_is_in_that_package(package, text):
    modules = {path.stem for path in (SOURCE / package).rglob("*")}
    assert set(re.findall(r"`([a-z][a-z_]*)`", text)) <= modules


def test_every_package_has_a_row():
    packages = {init.parent.name for init in SOURCE.glob("*/__init__.py")}
    assert packages - {package for package, _ in PACKAGES} == set()


QUESTIONS = re.findall(r"^\| Where .* \| `([a-z_/]+)` \| `(\w+)` \|$", TEXT, re.MULTILINE)


def test_each_of_ten_questions_leads_to_a_module_that_defines_the_first_name_to_read():
    assert len(QUESTIONS) == 10
    for path, name in QUESTIONS:
        source = (SOURCE / f"{path}.py").read_text(encoding="utf-8")
        assert re.search(rf"^(?:class|def|async def) {name}\b", source, re.MULTILINE), f"{path} lacks {name}"


def test_the_entry_links_to_every_page_and_is_short():
    text = ENTRY.read_text(encoding="utf-8")
    assert [page.name for page in PAGES if f"](architecture/{page.name}" not in text] == []
    assert len(text.split()) <= 1500


def test_a_path_that_does_not_exist_would_be_noticed():
    assert is_there("kernel/select")
    assert is_there("kernel/")
    assert not is_there("kernel/no_such_module")
