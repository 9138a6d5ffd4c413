"""`gatechart prune`."""

import os
import pty
from pathlib import Path

import pytest

from tests.cli.homes import on_both
from tests.cli.terminal import chunks
from tests.forked import COMMAND, PIPE, fork

pytestmark = pytest.mark.sqlite_is_enough

ALL = ("prune", "--older-than", "0s", "--ids-for", "0s")


@pytest.fixture(autouse=True)
def agents(shop, prepare):
    prepare(
        ("start", "shop", "--at", "FOUND", "--id", "active"),
        *[("send", "active", "NOTED")] * 3,
        ("start", "shop", "--at", "FOUND", "--id", "ended"),
        ("send", "ended", "LEFT", "--id", "bye"),
        ("post", "active", "UNHEARD_OF"),
        ("run", "--once"),
    )


def left(gatechart):
    agents = {agent["agent_id"] for agent in gatechart("list", "--json").document["agents"]}
    turns = len(gatechart("history", "active", "--json").document["history"])
    return agents, turns, len(gatechart("mail", "--json").document["mail"])


@on_both
def test_all_that_is_old_is_forgotten(gatechart):
    done = gatechart(*ALL, "--yes")
    assert (done.code, done.out, done.err) == (0, "deleted: 1 agent, 3 turns, 1 mail\n", "")
    assert left(gatechart) == ({"active"}, 1, 0)
    assert gatechart(*ALL, "--yes").out == "deleted: 0 agents, 0 turns, 0 mail\n"


def test_machines_get_the_counts(gatechart):
    counts = {"agents": 1, "turns": 3, "mail": 1}
    assert gatechart(*ALL, "--dry-run", "--json").document == {"dry_run": True} | counts
    assert gatechart(*ALL, "--yes", "--json").document == {"dry_run": False} | counts


@on_both
def test_a_dry_run_tells_what_would_go_and_asks_nobody(gatechart, unchanged):
    with unchanged():
        told = gatechart(*ALL, "--dry-run")
    assert (told.code, told.out) == (0, "would delete: 1 agent, 3 turns, 1 mail\n")
    assert "nothing was changed: this was a dry run" in told.err
    assert left(gatechart) == ({"active", "ended"}, 4, 1)


@pytest.mark.parametrize(
    ("bounds", "rest"),
    [
        (("--ended-before", "0s", "--ids-for", "0s"), ({"active"}, 4, 1)),
        (("--ended-before", "0s"), ({"active", "ended"}, 4, 1)),  # its event's id is still to be recognised
        (("--ended-before", "0s", "--status", "done", "--ids-for", "0s"), ({"active"}, 4, 1)),
        (("--ended-before", "0s", "--status", "stopped", "--ids-for", "0s"), ({"active", "ended"}, 4, 1)),
        (("--turns-before", "0s"), ({"active", "ended"}, 1, 1)),
        (("--keep-turns", "2"), ({"active", "ended"}, 2, 1)),
        (("--mail-before", "0s", "--ids-for", "0s"), ({"active", "ended"}, 4, 0)),
        (("--older-than", "1h"), ({"active", "ended"}, 4, 1)),
        (("--older-than", "2020-01-01"), ({"active", "ended"}, 4, 1)),
        (("--older-than", "0s", "--turns-before", "1d", "--ids-for", "0s"), ({"active"}, 4, 0)),
    ],
)
def test_each_bound_lets_go_what_it_says(bounds, rest, gatechart):
    assert gatechart("prune", *bounds, "--yes").code == 0
    assert left(gatechart) == rest


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "nothing to delete; add an option, such as --older-than 90d"),
        (("--ids-for", "1d"), "nothing to delete"),
        (("--older-than", "soon"), "--older-than: 'soon' is neither a duration"),
        (("--ended-before", "1y"), "--ended-before: '1y' is neither a duration"),
        (("--older-than", "1d", "--ids-for", "2026-07-01"), "--ids-for: '2026-07-01' is not a duration"),
        (("--keep-turns", "0"), "--keep-turns"),
        (("--keep-turns", "1", "--status", "done"), "--status needs --ended-before or --older-than"),
        (
            ("--older-than", "1d", "--status", "active"),
            "Invalid value for '--status': 'active' is not one of 'done', 'failed', 'stopped'",
        ),
        (("--older-than", "1d"), "the command needs a confirmation and cannot ask for it here; add --yes"),
    ],
)
def test_what_cannot_be_meant_is_told_and_nothing_is_forgotten(arguments, problem, gatechart, unchanged, monkeypatch):
    with unchanged(), Path(os.devnull).open() as nobody:
        monkeypatch.setattr("sys.stdin", nobody)
        failed = gatechart("prune", *arguments)
    assert (failed.code, failed.out) == (2, "")
    assert problem in failed.err


@pytest.mark.processes
@pytest.mark.parametrize(("answer", "rest"), [("n\n", {"active", "ended"}), ("y\n", {"active"})])
def test_whoever_sits_at_the_terminal_is_asked(answer, rest, shop, gatechart):
    ours, theirs = pty.openpty()
    with fork(COMMAND, *ALL, stdin=theirs, stderr=theirs, stdout=PIPE) as process:
        os.close(theirs)
        shown = b""
        for chunk in chunks(ours):  # to the end: a terminal that nobody reads stops whoever writes to it
            shown += chunk
            if chunk.endswith(b"[y/N]: "):
                os.write(ours, answer.encode())
        told = process.stdout.read()
    os.close(ours)
    assert process.returncode == 0
    assert "agents that ended before 0s; turns before 0s; refused and dead mail before 0s" in shown.decode()
    assert told == ("deleted: 1 agent, 3 turns, 1 mail\n" if answer == "y\n" else "")
    assert left(gatechart)[0] == rest
