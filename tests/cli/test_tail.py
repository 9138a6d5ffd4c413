"""`gatechart tail`: the turns of agents, as they are committed by other processes."""

import json
import signal
from contextlib import contextmanager

import pytest

from tests.cli.homes import on_both
from tests.forked import COMMAND, PIPE, fork

pytestmark = pytest.mark.processes


@pytest.fixture
def following(project):
    @contextmanager
    def follow(*arguments):
        with fork(COMMAND, "tail", *arguments, stdout=PIPE, stderr=PIPE) as process:
            try:
                assert process.stderr.readline().startswith("following ")
                yield process
            finally:
                process.kill()

    return follow


@on_both
def test_turns_of_all_agents_are_told_as_they_are_committed_until_ctrl_c(following, gatechart):
    gatechart("start", "desk", "--at", "LISTENING", "--id", "a")
    with following() as process:
        gatechart("start", "strict", "--at", "OPEN", "--id", "s")
        assert process.stdout.readline().split("  ", 1)[1] == "s 1  agent.started.OPEN → OPEN\n"
        gatechart("send", "a", "LEFT")
        assert process.stdout.readline().split("  ", 1)[1] == "a 2  LEFT → CLOSED\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0
        assert (process.stdout.read(), process.stderr.read()) == ("", "")


@pytest.mark.parametrize(
    ("options", "followed"),
    [
        ((), ["a"]),
        (("--framework",), ["schedule:nightly", "a"]),
        (("schedule:nightly",), ["schedule:nightly"]),
    ],
)
def test_agents_of_the_framework_are_followed_on_request(options, followed, following, gatechart):
    gatechart("schedule", "set", "nightly", "desk", "--at", "LISTENING", "--every", "1d")
    with following(*options, "--json") as process:
        gatechart("schedule", "set", "nightly", "desk", "--at", "LISTENING", "--every", "2d")
        gatechart("start", "desk", "--at", "LISTENING", "--id", "a")
        assert [json.loads(process.stdout.readline())["agent_id"] for _ in followed] == followed


def test_turns_of_one_agent_are_told_to_machines_line_by_line(following, gatechart):
    for name in ("a", "b"):
        gatechart("start", "desk", "--at", "LISTENING", "--id", name)
    with following("b", "--json") as process:
        gatechart("send", "a", "LEFT")
        gatechart("send", "b", "LEFT")
        turn = json.loads(process.stdout.readline())
        assert (turn["agent_id"], turn["version"], turn["target"]) == ("b", 2, ["CLOSED"])


def test_a_follower_ends_when_its_reader_has_gone(following, gatechart):
    gatechart("start", "desk", "--at", "LISTENING", "--id", "a")
    with following() as process:
        process.stdout.close()
        gatechart("send", "a", "LEFT")
        assert process.wait(timeout=20) == 141


def test_an_unknown_agent_is_not_followed(project, gatechart):
    gatechart("start", "desk", "--at", "LISTENING", "--id", "a")
    assert gatechart("tail", "nobody").code == 4
