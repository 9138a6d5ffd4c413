"""The steps of the tutorial, done one after the other in an empty folder."""

from __future__ import annotations

import fnmatch
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

TUTORIAL: Final = Path(__file__).parents[2] / "docs" / "tutorial"
BLOCK: Final = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
STEPS: Final = BLOCK.findall((TUTORIAL / "index.md").read_text(encoding="utf-8"))


def commands(block: str) -> list[tuple[str, str]]:
    """Take what a console shows apart: each command, and what it is said to print."""
    return [
        (each.partition("\n")[0], each.partition("\n")[2]) for each in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    ]


@pytest.fixture(scope="module")
def done(tmp_path_factory, processes) -> tuple[Path, list[tuple[str, str, str]]]:
    """The folder after the last step; and each command, what it printed, and what the tutorial says that it prints."""
    folder = tmp_path_factory.mktemp("tutorial")
    own = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")
    }  # the tests' own options
    environment = {**own, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "TZ": "UTC"}
    found = []
    for kind, title, text in STEPS:
        if title:
            (folder / title).write_text(text, encoding="utf-8")
        for command, said in commands(text) if kind == "console" else ():
            run = subprocess.run(
                command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
            found.append((command, run.stdout + ("" if run.returncode in (0, 137) else run.stderr), said))
    return folder, found


def test_every_command_of_the_tutorial_prints_what_the_tutorial_says(done):
    _, found = done
    assert len(found) >= 6
    for command, printed, said in found:
        pattern = re.sub(r"([\[\]?*])", r"[\1]", said.strip()).replace("...", "*")
        assert fnmatch.fnmatchcase(printed.strip(), pattern), f"{command} printed\n{printed}"


def test_the_picture_of_the_tutorial_shows_the_chart_of_the_tutorial(done):
    folder, _ = done
    texts = [
        sorted(re.findall(r"<text[^>]*>(.*?)</text>", (each / "support.svg").read_text(encoding="utf-8")))
        for each in (folder, TUTORIAL)
    ]
    assert texts[0] == texts[1], "copy the drawing that the tutorial's command makes to docs/tutorial/support.svg"
