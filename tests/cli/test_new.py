"""`gatechart new`: a project that checks, tests and draws as it is."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from gatechart.cli.errors import UsageError
from gatechart.cli.new import Example, copied, starter, write
from tests.forked import COMMAND, PIPE, fork

ROOT = Path(__file__).parents[2]


def run(folder: Path, *arguments: str, path: str = "") -> str:
    """Run Python in a folder, and return what it printed."""
    environment = {**os.environ, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # it needs one
    done = subprocess.run(  # what it printed says why it failed
        [sys.executable, *arguments], check=False, cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_command(folder: Path, line: str) -> str:
    """Run a command of a shell, `gatechart`, in a folder, and return what it printed."""
    _, *arguments = shlex.split(line, comments=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with fork(COMMAND, *arguments, cwd=folder, env=environment, stdout=PIPE, stderr=PIPE) as process:
        told, failed = process.communicate(timeout=60)
    assert process.returncode == 0, failed
    return told


def lives(folder: Path, command: Callable[[Path, str], str] = run_command, path: str = "") -> None:
    """Check, test, draw and start, as the README of a project says."""
    assert "no findings" in command(folder, "gatechart check")
    assert "passed" in run(folder, "-m", "pytest", "-q", "-p", "pytest_asyncio.plugin", path=path)
    readme = (folder / "README.md").read_text(encoding="utf-8")
    draw, start = (line for line in readme.splitlines() if line.startswith(("gatechart draw", "gatechart start")))
    command(folder, draw.replace(".svg", ".dot"))
    assert "digraph" in (folder / "chart.dot").read_text(encoding="utf-8")
    assert command(folder, start)


def test_a_new_project_is_checked_tested_drawn_and_started(processes, tmp_path):
    run_command(tmp_path, "gatechart new help-desk")
    lives(tmp_path / "help-desk")


@pytest.mark.parametrize(
    "example", [pytest.param(each, marks=pytest.mark.slow if number else ()) for number, each in enumerate(Example)]
)
def test_a_project_that_begins_with_an_example_is_checked_tested_drawn_and_started(processes, tmp_path, example):
    write(tmp_path / "mine", copied("mine", example, ROOT / "statecharts"))
    assert not [each for each in (tmp_path / "mine").rglob("*.py") if "statecharts" in each.read_text(encoding="utf-8")]
    lives(tmp_path / "mine")


def test_the_examples_are_listed_and_all_of_them_are_in_the_wheel(folder, gatechart):
    listed = gatechart("new", "--list", "--json").document["examples"]
    assert [each["example"] for each in listed] == [*Example]
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"]
    found = [name.removeprefix("gatechart.examples.") for name in packages if name.startswith("gatechart.examples.")]
    assert sorted(found) == sorted(Example)
    assert "online_shop" in gatechart("new", "--list").out


def test_a_project_needs_a_folder(folder, gatechart):
    failed = gatechart("new", "--example", "online_shop")
    assert failed.code == 2
    assert "no folder; name the one to create, or add --list to see the examples" in failed.err


def test_a_folder_that_holds_something_is_left_as_it_is(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="exists already; name a new folder, or an empty one"):
        write(tmp_path, starter("mine"))
    assert [each.name for each in tmp_path.iterdir()] == ["mine.txt"]


def test_a_name_that_no_package_can_have_is_refused():
    with pytest.raises(UsageError, match="'7up' cannot name a Python package; start the name with a letter"):
        starter("7up")


@pytest.mark.slow
def test_the_wheel_holds_the_examples(processes, tmp_path):
    wheel, installed = tmp_path / "wheel", tmp_path / "installed"
    run(ROOT, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", str(wheel), str(ROOT))
    run(ROOT, "-m", "pip", "install", "-q", "--no-deps", "--target", str(installed), *map(str, wheel.glob("*.whl")))
    work = tmp_path / "work"
    work.mkdir()

    def of_the_wheel(folder: Path, line: str) -> str:
        return run(folder, "-m", *shlex.split(line, comments=True), path=str(installed))

    for example in ("customer_service", "online_shop"):
        run(work, "-m", "gatechart", "new", example, "--example", example, path=str(installed))
        lives(work / example, of_the_wheel, path=str(installed))
