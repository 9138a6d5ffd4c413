"""A new test has one place, the folder of the package that it is about; and no file of the package is too long."""

from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PACKAGE = TESTS.parent / "src" / "gatechart"
ACROSS = {
    "conformance": "documents of others, which a chart must behave like",
    "crash": "processes that are killed",
    "docs": "what the documents, the package and this folder say of themselves",
    "laws": "what holds for every chart, by property",
    "statecharts": "the example agents",
}
"""The folders with tests of more than one package."""


def folders(of):
    """List the folders with Python files; a checkout keeps the caches of folders that it no longer has."""
    return sorted(each.name for each in of.iterdir() if each.is_dir() and any(each.rglob("*.py")))


@pytest.mark.parametrize("folder", folders(TESTS))
def test_every_folder_of_tests_is_named_like_a_package_or_goes_across(folder):
    assert (folder in folders(PACKAGE)) != (folder in ACROSS)


@pytest.mark.parametrize("file", sorted(file.name for file in TESTS.glob("test_*.py")))
def test_a_test_outside_of_a_folder_is_about_a_module_outside_of_a_package_or_about_a_helper_of_tests(file):
    module = file.removeprefix("test_")
    assert (PACKAGE / module).exists() or (TESTS / module).exists()


def test_no_file_of_the_package_is_longer_than_500_lines():
    lengths = {file: len(file.read_text(encoding="utf-8").splitlines()) for file in PACKAGE.rglob("*.py")}
    assert {str(file): length for file, length in lengths.items() if length > 500} == {}


def test_no_file_repeats_the_name_of_its_folder():
    files = TESTS.rglob("test_*.py")
    assert [file for file in files if file.stem.startswith(f"test_{file.parent.name}_")] == []
