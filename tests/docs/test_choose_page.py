"""The page about having the right one chosen, followed to the letter: its file, then its commands."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

PAGE = Path(__file__).parents[2] / "docs/how-to/choose.md"


def run(folder, *command, **variables):
    given = {"cwd": folder, "env": {**os.environ, **variables}, "capture_output": True, "text": True}
    return subprocess.run([sys.executable, *command], **given, check=True).stdout


def test_the_commands_of_the_page_work_on_what_its_file_made(tmp_path):
    page = PAGE.read_text(encoding="utf-8")
    *pieces, last = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "teams.py").write_text("\n".join(pieces))
    (program,) = re.findall(r'`python -c "(.*?)"`', page)
    assert program.endswith(last.strip())
    (printed,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    assert run(tmp_path, "-c", program) == printed
    (export, *commands) = re.search(r"```sh\n(.*?)```", page, re.DOTALL).group(1).splitlines()
    variables = dict(each.split("=", 1) for each in export.removeprefix("export ").split())
    told = [run(tmp_path, "-m", *command.split("#")[0].split(), COLUMNS="200", **variables) for command in commands]
    assert "refunds.WORKING" in told[0]
    assert re.search(r"chosen +(refunds|experts)\.WORKING", told[1])
    assert re.search(r"from +LISTENING on ASKED\nselection +best\nchosen +refunds\.WORKING", told[2])
    assert "completed" in told[3]
    nobody = run(tmp_path, "-m", "gatechart", "directory", "choose", "--problem", "I want my money back", **variables)
    assert re.search(r"chosen +nobody", nobody)
