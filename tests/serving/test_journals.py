"""Journals of agents over HTTP, in the client and on the command line."""

import asyncio
import json

import pytest
from pydantic import SecretStr

from gatechart import AgentContext, Invoke, ModelLoop, State, StateTransitionGraph, Transition, tool
from gatechart.api.codec import SNAPSHOT
from gatechart.cli import main
from gatechart.clients import HttpClient
from gatechart.errors import UnknownAgentError
from gatechart.testing.scripted_model import Calls, Says, scripted_model
from gatechart.tools import ToolPolicies
from gatechart.values.commits import JournalEntry
from tests.models.support import Services, chat
from tests.serving.conftest import serving

pytestmark = [pytest.mark.needs("watches_changes"), pytest.mark.sqlite_is_enough]


@tool(repeat="safe", policies=ToolPolicies(retry="off"))
async def log_in(user: str, pin: SecretStr) -> str:
    """Log a user in."""
    return f"{user} is in"


async def onboard(context, work):
    mine = await work.for_agent("onboarding")
    await mine.step("welcome", lambda: "said hello")
    await mine.step("token", issue)


def issue() -> SecretStr:
    return SecretStr("token-0815")


onboarding = StateTransitionGraph(
    "onboarding",
    context=AgentContext,
    states=[State("NEW", invoke=Invoke(onboard))],
    transitions=[Transition("NEW", "done.invoke.onboard", "KNOWN")],
    entry_points=["NEW"],
)


async def talked(client):
    """An agent that has talked, and one that was welcomed."""
    agent = await client.start("chat", at="LISTENING", agent_id="a")
    await agent.send("ASKED", {"text": "Let Ada in"})
    await agent.until("LISTENING")
    welcomed = await client.start("onboarding", at="NEW", agent_id="b")
    await welcomed.until("KNOWN")


@pytest.fixture
async def server_url(place):
    script = [Calls(("log_in", {"user": "ada", "pin": "pin-0815"}, "p")), Says("She is in.")]
    graphs = (chat(ModelLoop(tools=[log_in])), onboarding)
    async with (
        scripted_model(script) as model,
        serving(place, graphs=graphs, services=Services(model, log_in)) as served,
        HttpClient(served.url, graphs=graphs) as client,
    ):
        await talked(client)
        yield served.url


async def test_a_journal_is_read_a_page_at_a_time_with_its_secrets_masked(server_url):
    async with HttpClient(server_url) as client:
        first = await client.journal("a", limit=2)
        rest = await client.journal("a", after=first[-1].name)
        assert [each.name for each in (*first, *rest)] == ["heard.1.0", "turn.1", "result.1.0", "turn.2"]
        assert "pin-0815" not in str(first)
        assert await client.journal("b", "onboarding") == (
            JournalEntry("welcome", "said hello"),
            JournalEntry("token", "**********"),
        )
        with pytest.raises(UnknownAgentError):
            await client.journal("nobody")


async def test_the_command_line_shows_a_transcript_of_a_server(server_url, capfd):
    assert await told("transcript", "a", "--server", server_url) == 0
    shown = capfd.readouterr().out
    assert "Let Ada in" in shown
    assert "She is in." in shown
    assert "pin-0815" not in shown
    assert await told("transcript", "a", "--server", server_url, "--json") == 0
    document = json.loads(capfd.readouterr().out)
    assert document["usage"]["requests"] == 2
    [call] = document["messages"][1]["tool_calls"]
    assert (call["arguments"], call["output"]) == ({"user": "ada", "pin": "**********"}, "ada is in")
    assert await told("transcript", "b", "--journal", "onboarding", "--server", server_url, "--json") == 0
    assert json.loads(capfd.readouterr().out)["steps"] == {"welcome": "said hello", "token": "**********"}


async def test_a_client_cuts_the_newest_turns_and_learns_which_entries_go(server_url):
    async with HttpClient(server_url) as client:
        cut = await client.cut("a", 2, reason="it went wrong", idempotency_key="k")
        assert list(cut.left_out) == ["turn.1", "result.1.0", "turn.2"]
        assert (await client.cut("a", 2, reason="it went wrong", idempotency_key="k")).left_out == ()
        with pytest.raises(UnknownAgentError):
            await client.cut("nobody", reason="none")


async def test_the_command_line_cuts_the_newest_turn_of_an_agent_of_a_server(server_url, capfd):
    ask = ("cut", "a", "--turns", "1", "--reason", "it went wrong", "--server", server_url)
    assert await told(*ask, "--json") == 0
    assert json.loads(capfd.readouterr().out)["left_out"] == ["turn.2"]
    assert await told("cut", "nobody", "--reason", "none", "--server", server_url) != 0


async def test_the_command_line_changes_the_breakers_of_a_server(server_url, capfd):
    assert await told("breakers", "isolate", "crm", "--reason", "it moves", "--server", server_url) == 0
    capfd.readouterr()
    assert await told("breakers", "--server", server_url, "--json") == 0
    assert json.loads(capfd.readouterr().out)["breakers"][0]["state"] == "ISOLATED"
    assert await told("breakers", "close", "crm", "--server", server_url) == 0
    assert await told("breakers", "--server", server_url, "--engine", "http://127.0.0.1:1") == 2
    assert "give one of them" in capfd.readouterr().err


async def told(*arguments):
    """Run a command beside the server. Returns its exit code."""
    return int(await asyncio.to_thread(main, list(arguments)))


async def test_a_view_of_an_agent_has_no_marks(server_url):
    async with HttpClient(server_url) as client:
        assert "$secret" not in str([SNAPSHOT.plain(await client.read("a")), await client.history("a")])
