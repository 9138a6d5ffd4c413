"""What `pip install gatechart` brings is enough for what is core, and what is missing says how to get it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from sybil import Document
from sybil.parsers.markdown import PythonCodeBlockParser

from tests.skipped import LOUD

ROOT: Final = Path(__file__).parents[2]
PATIENCE_S: Final = 600
BROUGHT: Final = {
    *("aiosqlite", "alembic", "common-expression-language", "cronsim", "filelock", "graphviz", "greenlet", "mako"),
    *("markdown-it-py", "markupsafe", "mdurl", "pydantic", "pydantic-core", "annotated-types", "rapidfuzz"),
    *("typing-inspection", "typing-extensions", "rich", "pygments", "ruamel-yaml", "sqlalchemy", "transitions", "six"),
    *("typer", "annotated-doc", "shellingham", "prompt-toolkit", "wcwidth"),  # the last two with CEL's own shell
}
A_GRAPH: Final = """
from gatechart import EventType, Runtime, StateTransitionGraph, draw
from gatechart.checks import check
g = StateTransitionGraph("g", states=["A"], entry_points=["A"])
"""
TYPED: Final = """
StateTransitionGraph("typed", states=["A"], entry_points=["A"], events=[EventType("E", takes={"type": "object"})])
"""
CHART: Final = """
from gatechart import load
load("id: x\\nentry_points: [A]\\nstates: {A: }")
"""
HOSTED: Final = """
import asyncio, sys
async def main():
    async with Runtime.open(sys.argv[1], graphs=g) as runtime:
        await runtime.start(g, at="A")
asyncio.run(main())
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory, processes) -> Path:
    """The interpreter of an environment into which nothing was installed but gatechart."""
    folder = tmp_path_factory.mktemp("fresh")
    python = folder / "venv" / "bin" / "python"
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    run([sys.executable, "-m", "venv", folder / "venv"])
    try:
        run([*pip, "install", "setuptools>=80"])
        run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", folder, copied(folder / "source")])
        run([*pip, "install", "-c", ROOT / "constraints.txt", *folder.glob("*.whl")])
    except subprocess.CalledProcessError as error:
        pytest.skip(f"{LOUD}a fresh environment: {error.stderr.strip().splitlines()[-1:]}")
    return python


def copied(source: Path) -> Path:
    """What a wheel is built from, in a folder of its own: builds in one folder at the same time break each other."""
    for name in ("src", "persistence", "statecharts"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    return source


def run(command: list[object]) -> None:
    subprocess.run([*map(str, command)], check=True, capture_output=True, text=True, timeout=PATIENCE_S)


def done(python: Path, program: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [python, "-c", program, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=PATIENCE_S)


@pytest.mark.slow
def test_these_packages_are_brought_and_no_others(python):
    told = subprocess.run([python, "-m", "pip", "list", "--format=json"], capture_output=True, check=True).stdout
    names = {each["name"].lower().replace("_", "-").replace(".", "-") for each in json.loads(told)}
    # Depending on their versions and the system.
    assert names - {"gatechart", "pip", "setuptools", "click", "colorama", "importlib-metadata", "zipp"} == BROUGHT


@pytest.mark.slow
def test_all_names_can_be_imported_at_once(python, tmp_path):
    ended = done(python, "from gatechart import *; print(Runtime.__name__)", folder=tmp_path)
    assert ended.stdout == "Runtime\n", ended.stderr


@pytest.mark.slow
def test_the_example_of_the_readme_runs(python, tmp_path):
    (program,) = Document.parse(str(ROOT / "README.md"), PythonCodeBlockParser()).examples()
    first, second = (done(python, program.parsed, folder=tmp_path) for _ in range(2))
    assert first.stdout == "started: ('SEARCHING',)\n", first.stderr
    assert second.stdout.endswith("done\n"), second.stderr


@pytest.mark.slow
def test_a_project_is_begun_checked_and_drawn_on_the_command_line(python, tmp_path):
    for command in (["new", "shop"], ["check"], ["draw", "-o", "shop.dot"], ["list"]):
        program = [python.with_name("gatechart"), *command]
        folder = tmp_path if command[0] == "new" else tmp_path / "shop"
        ended = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        assert "Traceback" not in ended.stderr
        assert command[0] == "list" or ended.returncode == 0, (command, ended.stdout + ended.stderr)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "extra"),
    [
        ("from gatechart.clients import HttpClient", "client"),
        ("from gatechart.clients import Changes", "client"),
        ("import gatechart.serving", "serve"),
        ("from gatechart.restate import RestateRuntime", "restate"),
        ("from gatechart.restate.runtime import RestateRuntime", "restate"),
        (A_GRAPH + HOSTED.replace("sys.argv[1]", "'postgresql+asyncpg://x@127.0.0.1/x'"), "postgres"),
        (A_GRAPH + TYPED, "schemas"),
    ],
)
def test_what_is_missing_names_the_extra_that_brings_it(python, tmp_path, program, extra):
    error = done(python, program, folder=tmp_path).stderr.splitlines()[-1]
    assert f"`pip install 'gatechart[{extra}]'`" in error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "arguments", "late"),
    [
        ("import gatechart", [], {"pydantic", "sqlalchemy", "graphviz", "cel", "rich"}),
        (A_GRAPH, [], {"sqlalchemy", "cel", "alembic", "transitions", "cronsim", "rapidfuzz"}),
        (
            A_GRAPH + "draw(g, 'g.dot'); check(g)",
            [],
            {"sqlalchemy", "cel", "alembic", "transitions", "cronsim", "rapidfuzz"},
        ),
        (A_GRAPH + HOSTED, ["memory:"], {"sqlalchemy", "aiosqlite", "filelock", "cel", "ruamel"}),
        (A_GRAPH + HOSTED, ["sqlite+aiosqlite:///a.db"], {"alembic", "mako", "cel", "ruamel", "rich"}),
        (CHART, [], {"cel", "prompt_toolkit", "sqlalchemy"}),
    ],
)
def test_what_serves_one_feature_is_imported_when_that_is_used(python, tmp_path, program, arguments, late):
    ended = done(python, program + "\nimport sys\nprint(*sys.modules)", *arguments, folder=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert late & set(ended.stdout.split()) == set()
