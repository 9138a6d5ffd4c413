"""The command as a shell runs it: processes that come and go, pipes, a database that another process owns."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from gatechart import Runtime
from tests.cli.terminal import chunks
from tests.forked import COMMAND, PIPE, fork

GATECHART = str(Path(sys.executable).with_name("gatechart"))

pytestmark = pytest.mark.usefixtures("unmeasured")


def test_what_one_process_starts_the_next_ones_go_on_with(project, child):
    started = child("start", "desk", "--at", "LISTENING", "--id", "a")
    sent = child("send", "a", "ASKED", "--payload", "-", stdin='{"text": "my printer"}')
    refused = child("send", "a", "ASKED")
    shown = child("show", "a", "--json")
    assert [started.code, sent.code, refused.code, shown.code] == [0, 0, 1, 0]
    assert shown.document["context"]["notes"] == ["my printer"]
    assert (shown.document["configuration"], shown.document["version"]) == (["ANSWERING"], 2)


def test_the_command_is_there_as_a_program_and_as_a_module(project, processes):
    def done(*command):
        return subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=60, check=False)

    module = (sys.executable, "-m", "gatechart")
    assert done(GATECHART, "start", "desk", "--at", "LISTENING", "--id", "a").returncode == 0
    assert json.loads(done(*module, "show", "a", "--json").stdout)["agent_id"] == "a"
    assert [done(GATECHART, "nothing").returncode, done(*module, "nothing").returncode] == [2, 2]


async def test_an_owned_database_names_its_owner_and_can_be_read(project, child, unchanged, monkeypatch):
    monkeypatch.syspath_prepend(project)
    from desk import both

    async with Runtime.open(graphs=both) as runtime:
        await runtime.start("desk", at="LISTENING", agent_id="a")
        with unchanged():
            moved, back = child("migrate"), child("migrate", "--json")
        listed, told = child("list"), child("history", "a")
    assert (moved.code, moved.out) == (5, "")
    assert f"{project / 'agents.db'} is owned by process {os.getpid()} on " in moved.err
    assert back.error["facts"]["pid"] == os.getpid()
    assert [[row[0], row[3]] for row in listed.rows[1:]] == [["a", "LISTENING"]]
    assert told.code == 0


@pytest.mark.parametrize("arguments", [["list"], ["list", "--json"], ["show", "a"], ["draw", "desk"]])
def test_a_reader_that_goes_away_is_no_noise(arguments, project, gatechart):
    gatechart("start", "desk", "--at", "LISTENING", "--id", "a")
    with fork(COMMAND, *arguments, stdout=PIPE, stderr=PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141


def test_colours_are_for_terminals_only(project, gatechart, monkeypatch):
    gatechart("start", "desk", "--at", "LISTENING", "--id", "a")
    assert "\x1b" not in gatechart("show", "a").out
    assert "\x1b[32mactive" in on_a_terminal(["show", "a"])
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in on_a_terminal(["show", "a"])


def test_json_has_no_colours_even_on_a_terminal(project, gatechart):
    gatechart("start", "desk", "--at", "LISTENING", "--id", "a")
    assert json.loads(on_a_terminal(["show", "a", "--json"]))["agent_id"] == "a"


def on_a_terminal(arguments):
    """What the command prints to a terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80"}
    with fork(COMMAND, *arguments, stdout=theirs, stdin=theirs, env=environment) as process:
        os.close(theirs)
        printed = b"".join(chunks(ours))
    os.close(ours)
    assert process.returncode == 0
    return printed.decode().replace("\r\n", "\n")


@pytest.fixture
def full():
    """A disk that is full."""
    with Path("/dev/full").open("w", encoding="utf-8") as disk:
        yield disk


@pytest.mark.parametrize("arguments", [("list",), ("list", "--json"), ("--help",), ("draw", "desk"), ("history", "a")])
def test_output_that_no_disk_takes_is_told_with_an_exit_code_of_its_own(arguments, project, gatechart, processes, full):
    gatechart("start", "desk", "--at", "LISTENING", "--id", "a")
    with fork(COMMAND, *arguments, stdout=full, stderr=PIPE) as process:
        _, told = process.communicate(timeout=60)
    assert process.returncode == 5
    assert "the output cannot be written (No space left on device); free some space or send it elsewhere" in told
    assert told.count("\n") == 1


def test_an_exit_code_tells_even_if_no_error_can_be_written(project, processes, full):
    done = subprocess.run([GATECHART, "show", "a"], cwd=project, stdout=full, stderr=full, timeout=60, check=False)
    assert done.returncode == 5


def test_output_that_is_closed_is_left_out(project, gatechart, processes):
    gatechart("start", "desk", "--at", "LISTENING", "--id", "a")
    for closed in (">&-", "2>&-", ">&- 2>&-"):
        command = f"{GATECHART} show a {closed}"
        assert subprocess.run(command, shell=True, cwd=project, timeout=60, check=False).returncode == 0, closed
