"""The examples in docstrings: each prints what it says.

One test for each module that has some, so that pytest need not import all others to look for examples in them. Without
`capsys`, since a library that is imported here for the first time may keep `sys.stderr` as it is then.
"""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
WITH_EXAMPLES = [
    *(path.relative_to(SOURCE) for path in sorted(SOURCE.rglob("*.py")) if ">>> " in path.read_text()),
    Path("tests/crash/fault_points.py"),
]


@pytest.mark.parametrize("module", [".".join(path.with_suffix("").parts) for path in WITH_EXAMPLES])
def test_the_examples_of_docstrings_print_what_they_say(module):
    tried = doctest.testmod(import_module(module.removesuffix(".__init__")))
    assert tried.attempted > 0
    assert tried.failed == 0  # pytest shows what doctest printed
