"""`gatechart erase`: an agent and its history are gone for good, once somebody has said so."""

import io

import pytest

from tests.cli.homes import on_both

pytestmark = pytest.mark.sqlite_is_enough


class Terminal(io.StringIO):
    """Somebody who sits at a terminal and types this."""

    def isatty(self):
        return True


@pytest.fixture
def agent(project, gatechart):
    """An agent with a history."""
    gatechart("start", "desk", "--at", "LISTENING", "--id", "a")
    gatechart("start", "desk", "--at", "LISTENING", "--id", "b")


@on_both
def test_an_erased_agent_is_gone_with_its_history_and_the_others_stay(agent, gatechart):
    done = gatechart("erase", "a", "--yes")
    assert (done.code, done.out, done.err) == (0, "erased a and its history\n", "")
    assert "there is no agent 'a'" in gatechart("history", "a").err
    assert [each["agent_id"] for each in gatechart("list", "--json").document["agents"]] == ["b"]
    assert gatechart("erase", "b", "--yes", "--json").document == {"agent_id": "b", "erased": True}


@pytest.mark.parametrize(("answer", "remaining"), [("y\n", 1), ("n\n", 2), ("", 2)])
def test_whoever_sits_at_the_terminal_is_asked(answer, remaining, agent, gatechart, monkeypatch):
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    asked = gatechart("erase", "a")
    assert "Erase agent 'a' and its history for good" in asked.err
    assert ("nothing was erased" in asked.err) == (remaining == 2)
    assert len(gatechart("list", "--json").document["agents"]) == remaining


def test_without_a_terminal_it_needs_yes(agent, gatechart, unchanged):
    with unchanged():
        refused = gatechart("erase", "a")
    assert (refused.code, "add --yes" in refused.err) == (2, True)


def test_an_unknown_agent_is_an_error_and_creates_no_database(project, gatechart):
    refused = gatechart("erase", "nobody", "--yes")
    assert refused.code == 5
    assert not (project / "agents.db").exists()
    gatechart("start", "desk", "--at", "LISTENING")
    assert gatechart("erase", "nobody", "--yes").code == 4
