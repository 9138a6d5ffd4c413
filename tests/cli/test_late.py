"""What a command needs to run is not imported to print help or to complete a command line."""

import os
import subprocess
import sys

import pytest

HEAVY = ("sqlalchemy", "pydantic", "pydantic_core", "graphviz", "ruamel.yaml", "opentelemetry")
PROGRAM = f"""
import sys
from gatechart.cli import main
try:
    main()
finally:
    heavy = [name for name in {HEAVY!r} if name in sys.modules]
    print("heavy:", *heavy, file=sys.stderr)
"""


def ran(*arguments, where, **environment):
    command = [sys.executable, "-c", PROGRAM, *arguments]
    done = subprocess.run(
        command, cwd=where, env={**os.environ, **environment}, capture_output=True, text=True, timeout=60, check=False
    )
    return done.stdout, done.stderr.splitlines()[-1]


@pytest.mark.parametrize("arguments", [("--help",), ("send", "-h"), ("desk", "take", "--help"), ("--version",)])
def test_help_needs_neither_a_database_nor_pydantic_nor_graphviz(arguments, folder):
    told, heavy = ran(*arguments, where=folder)
    assert "gatechart" in told
    assert heavy == "heavy:"


@pytest.mark.parametrize(
    ("line", "offered"),
    [("gatechart s", "serve"), ("gatechart list --", "--status"), ("gatechart mail --status ", "dead")],
)
def test_completion_of_commands_options_and_choices_needs_them_neither(line, offered, folder):
    count = str(len(line.split(" ")) - 1)
    told, heavy = ran(where=folder, _GATECHART_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=count)
    assert offered in told.splitlines()
    assert heavy == "heavy:"


def test_what_runs_a_command_imports_them(project):
    _, heavy = ran("list", where=project)
    assert {"pydantic", "sqlalchemy"} <= set(heavy.split())
