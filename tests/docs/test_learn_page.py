"""The page about learning, followed to the letter: its file, its project, then its commands."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

PAGE = (Path(__file__).parents[2] / "docs/how-to/learn.md").read_text(encoding="utf-8")


def run(folder, command):
    given = {"cwd": folder, "env": {**os.environ, "COLUMNS": "200"}, "capture_output": True, "text": True}
    _, *words = shlex.split(command, comments=True)
    done = subprocess.run([sys.executable, "-m", "gatechart", *words], **given, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_commands_of_the_page_record_choices_and_learn_from_them(tmp_path):
    pieces = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "helpline.py").write_text("\n".join(each for each in pieces if "async def" not in each))
    (project,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "pyproject.toml").write_text(project)
    recording, switching = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    *commands, _ = recording.splitlines()
    for command in commands:
        run(tmp_path, command)
    (handoff,) = re.findall(r"^\w{32}", run(tmp_path, "gatechart handoffs"), re.MULTILINE)
    assert "probability" in run(tmp_path, f"gatechart handoffs show {handoff}")
    (worker,) = re.findall(r"^\w{32}", run(tmp_path, "gatechart list --state WORKING"), re.MULTILINE)
    run(tmp_path, f"gatechart send {worker} SOLUTION_FOUND")
    run(tmp_path, "gatechart run --once")
    assert re.search(r"choices +1", run(tmp_path, "gatechart directory evaluate"))
    assert run(tmp_path, f"{switching.strip()} --once") == "nothing to do\n"
