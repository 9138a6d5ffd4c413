"""What a machine cannot test is told at the end, also where other processes run the tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEST = """
import pytest
from tests.skipped import LOUD

@pytest.mark.parametrize("number", range(3))
def test_one(number):
    pytest.skip(LOUD + "the moon: it is away")

def test_other():
    pytest.skip("for a reason of its own")
"""


@pytest.mark.processes
@pytest.mark.parametrize("processes", ["0", "1"])
def test_a_home_that_is_not_there_is_told_once_and_other_reasons_are_not(tmp_path, processes):
    (tmp_path / "conftest.py").write_text("from tests.skipped import pytest_terminal_summary\n")
    (tmp_path / "test_it.py").write_text(TEST)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {ROOT}\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "xdist", "-n", processes, "-p", "no:cacheprovider", tmp_path]
    alone = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_DEBUG_TEMPROOT": str(tmp_path)}
    ran = subprocess.run(command, cwd=tmp_path, env=alone, capture_output=True, text=True, check=False, timeout=80)
    assert ran.stdout.splitlines().count("NOT TESTED on the moon: it is away") == 1, ran.stdout
    assert "of its own" not in ran.stdout
