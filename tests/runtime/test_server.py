"""A runtime whose database server ends and comes back, or loses connections: nothing is lost, nothing is doubled."""

import asyncio
import logging
import signal

import pytest
from pydantic import Field

from gatechart import AgentContext, Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import AgentExistsError
from gatechart.values import Role
from tests.crash.havoc import until_done

AGENTS, EVENTS = 20, 30  # so many that it takes longer than all that disturbs it


class Tally(AgentContext):
    seen: list[int] = Field(default_factory=list)
    posted: list[int] = Field(default_factory=list)


def note(context, event):
    context.seen.append(event.payload["n"])


def note_posted(context, event):
    context.posted.append(event.payload["n"])


tally = StateTransitionGraph(
    "tally",
    context=Tally,
    states=[State("COUNTING")],
    transitions=[
        Transition("COUNTING", "COUNTED", "COUNTING", actions=note),
        Transition("COUNTING", "POSTED", "COUNTING", actions=note_posted),
    ],
    entry_points=["COUNTING"],
)


async def begun(runtime, agent_id):
    async def begin():
        try:
            return await runtime.start("tally", at="COUNTING", agent_id=agent_id)
        except AgentExistsError:
            return await runtime.resume(agent_id)

    return await until_done(begin)


async def count(runtime, agent_id):
    """Sends and posts events to an agent, one after the other."""
    agent = await begun(runtime, agent_id)
    for n in range(EVENTS):
        await until_done(lambda n=n: agent.send("COUNTED", {"n": n}, event_id=f"send {n}"))
        await until_done(lambda n=n: runtime.post(agent_id, "POSTED", {"n": n}, event_id=f"post {n}"))


async def disturbed(work, disturb, times):
    """Lets work go on while it is disturbed, in a thread, until it is done."""
    working = asyncio.gather(*work)
    for _ in range(times):
        await asyncio.wait([working], timeout=0.1)
        assert not working.done()
        await asyncio.to_thread(disturb)
    await working


async def assert_all_there(url):
    async with Runtime.open(url, graphs=[tally], role=Role.READER) as runtime:
        for number in range(AGENTS):
            agent = await runtime.resume(f"a{number}")
            context = agent.context
            assert context.seen == list(range(EVENTS))
            assert sorted(context.posted) == context.posted
            assert len(set(context.posted)) == len(context.posted)
            history = await runtime.history(f"a{number}")
            assert [entry.version for entry in history] == list(range(1, len(history) + 1))
            waiting = await runtime.mail(f"a{number}")
            posted = context.posted + [mail.payload["n"] for mail in waiting]
            assert posted == list(range(EVENTS))


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["stopped", "crashed"])
async def test_a_server_that_is_started_again_in_the_middle_of_commits_loses_and_doubles_nothing(safe_server, how):
    logging.getLogger("gatechart").setLevel(logging.CRITICAL)
    url = safe_server.url(safe_server.new())

    def restart():
        safe_server.stop(how)
        safe_server.start()

    async with Runtime.open(url, graphs=[tally]) as runtime:
        await disturbed([count(runtime, f"a{number}") for number in range(AGENTS)], restart, times=2)
    await assert_all_there(url)


async def test_connections_that_are_cut_in_the_middle_of_commits_lose_and_double_nothing(safe_server):
    logging.getLogger("gatechart").setLevel(logging.CRITICAL)
    database = safe_server.new()

    def cut():
        safe_server.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", database)

    async with Runtime.open(safe_server.url(database), graphs=[tally]) as runtime:
        await disturbed([count(runtime, f"a{number}") for number in range(AGENTS)], cut, times=3)
    await assert_all_there(safe_server.url(database))


@pytest.fixture(autouse=True)
def _loud_again():
    yield
    logging.getLogger("gatechart").setLevel(logging.NOTSET)
