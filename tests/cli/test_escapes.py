"""What the command line tells of ways out: what was tried, what it came to, and that an agent gave up in a loop."""

import asyncio

import pytest

from gatechart import Runtime
from gatechart.cli.errors import ExitCode, code_of
from gatechart.errors import AgentEndedError
from gatechart.escape import GiveUp, Nudge, Reroute, Restart
from gatechart.hosting.limits import Limits
from tests.runtime.rings import CIRCLE, WAY_OUT, go_round, ring
from tests.runtime.trip_agents import PIN, Desk, book_two, taking_back, trip

LOST = ring(Nudge(), Reroute(), last=GiveUp(), cooldown="1h")
SAVED = ring(Reroute(), transitions=[*CIRCLE, *WAY_OUT], doors=("A", "E"))


async def lived(folder, graph):
    async with Runtime.open(f"sqlite+aiosqlite:///{folder / 'agents.db'}", graphs=[graph]) as runtime:
        await go_round(await runtime.start("ring", at="A", agent_id="a"))


@pytest.fixture
def lost(project):
    """An agent that gave up."""
    asyncio.run(lived(project, LOST))


@pytest.fixture
def saved(project):
    """An agent that got out."""
    asyncio.run(lived(project, SAVED))


def test_a_script_notices_an_agent_that_gave_up_in_a_loop(lost, gatechart):
    shown = gatechart("show", "a")
    assert shown.code == ExitCode.LOOPED == 8
    assert "could not escape a loop" in shown.err
    assert "give_up" in shown.out
    told = gatechart("show", "a", "--json")
    assert told.code == 8
    assert [each["strategy"] for each in told.document["escapes"]["tried"]] == ["nudge", "give_up"]
    assert {each["reason"] for each in told.document["escapes"]["tried"]} == {"loop detected"}


def test_an_agent_that_got_out_is_no_failure(saved, gatechart):
    shown = gatechart("show", "a")
    assert shown.code == 0
    assert "reroute" in shown.out
    tried = gatechart("show", "a", "--json").document["escapes"]["tried"]
    assert [(each["strategy"], each["came_to"]) for each in tried] == [("reroute", "progress")]


def test_the_trail_tells_what_was_tried_and_what_it_came_to(lost, gatechart):
    told = gatechart("trail", "a")
    assert told.code == 0
    assert "ATTEMPT" in told.out
    assert "nudge" in told.out
    document = gatechart("trail", "a", "--json").document
    assert document["escapes"]["attempts"] == 2
    assert [each["came_to"] for each in document["escapes"]["tried"]] == ["nothing", "nothing"]


def test_the_history_tells_the_way_and_why_others_were_passed_over(lost, gatechart):
    told = gatechart("history", "a").out
    assert "escape from repeats (finding 1): the model is told" in told
    assert "the agent tries to escape" in told
    assert "reroute was passed over: no transition and no entry point leads away" in " ".join(told.split())
    attempts = [
        turn["event"]["payload"] if "event" in turn and isinstance(turn["event"], dict) else turn["payload"]
        for turn in gatechart("history", "a", "--json").document["history"]
        if "escape.give_up" in str(turn.get("event"))
    ]
    assert [each["strategy"] for each in attempts[0]["passed"]] == ["nudge", "reroute"]


async def test_who_waits_for_an_agent_that_gave_up_in_a_loop_is_told_so():
    async with Runtime.open("memory:", graphs=[LOST]) as runtime:
        agent = await runtime.start("ring", at="A")
        await go_round(agent)
        with pytest.raises(AgentEndedError, match=r"could not escape \(loop detected\)") as raised:
            await agent.until("DONE")
    assert code_of(raised.value) is ExitCode.LOOPED
    assert raised.value.reason == "loop detected"


async def undoing(folder):
    url, desk = f"sqlite+aiosqlite:///{folder / 'agents.db'}", Desk(opened=asyncio.Event())
    limits = Limits(close_s=0.1)
    async with Runtime.open(url, graphs=trip(book_two, Restart()), services=desk, limits=limits) as runtime:
        await taking_back(runtime)


@pytest.mark.parametrize("verb", ["show", "trail", "history", "mail"])
def test_no_secret_of_calls_that_are_being_taken_back_is_printed(project, gatechart, verb):
    asyncio.run(undoing(project))
    agent = ["--agent", "a"] if verb == "mail" else ["a"]
    for more in ([], ["--json"]):
        told = gatechart(verb, *agent, *more)
        assert told.code == 0
        assert PIN not in told.out + told.err
    assert verb != "show" or "UNDOING" in told.out
