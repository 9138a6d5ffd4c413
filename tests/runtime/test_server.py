"""A runtime whose database server ends and comes back, or loses connections: nothing is lost, nothing is doubled."""

import asyncio
import logging
import signal

import pytest
from pydantic import Field

from gatechart import AgentContext, Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import AgentExistsError
from gatechart.values.homes import Role
from tests.crash.havoc import until_done

AGENTS = 20


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


async def count(runtime, agent_id, over):
    """Sends and posts events to an agent, one after the other, until it is over; the last are sent after that.

    Returns how many there were of each kind.
    """
    agent = await begun(runtime, agent_id)
    sent, is_last = 0, False
    while not is_last:
        is_last = over.is_set()
        await until_done(lambda n=sent: agent.send("COUNTED", {"n": n}, event_id=f"send {n}"))
        await until_done(lambda n=sent: runtime.post(agent_id, "POSTED", {"n": n}, event_id=f"post {n}"))
        sent += 1
    return sent


async def disturbed(runtime, disturb, times):
    """Lets work go on while it is disturbed, in a thread. Returns how many events each agent got."""
    over = asyncio.Event()
    working = asyncio.gather(*(count(runtime, f"a{number}", over) for number in range(AGENTS)))
    for _ in range(times):
        await asyncio.wait([working], timeout=0.1)
        await asyncio.to_thread(disturb)
    over.set()
    return await working


async def assert_all_there(url, sent):
    async with Runtime.open(url, graphs=[tally], role=Role.READER) as runtime:
        for number, events in enumerate(sent):
            agent = await runtime.resume(f"a{number}")
            context = agent.context
            assert context.seen == list(range(events))
            assert sorted(context.posted) == context.posted
            assert len(set(context.posted)) == len(context.posted)
            history = await runtime.history(f"a{number}")
            assert [entry.version for entry in history] == list(range(1, len(history) + 1))
            waiting = await runtime.mail(f"a{number}")
            posted = context.posted + [mail.payload["n"] for mail in waiting]
            assert posted == list(range(events))


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["stopped", "crashed"])
async def test_a_server_that_is_started_again_in_the_middle_of_commits_loses_and_doubles_nothing(safe_server, how):
    logging.getLogger("gatechart").setLevel(logging.CRITICAL)
    url = safe_server.url(safe_server.new())

    def restart():
        safe_server.stop(how)
        safe_server.start()

    async with Runtime.open(url, graphs=[tally]) as runtime:
        sent = await disturbed(runtime, restart, times=2)
    await assert_all_there(url, sent)


async def test_connections_that_are_cut_in_the_middle_of_commits_lose_and_double_nothing(safe_server):
    logging.getLogger("gatechart").setLevel(logging.CRITICAL)
    database = safe_server.new()

    def cut():
        safe_server.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", database)

    async with Runtime.open(safe_server.url(database), graphs=[tally]) as runtime:
        sent = await disturbed(runtime, cut, times=3)
    await assert_all_there(safe_server.url(database), sent)


@pytest.fixture(autouse=True)
def _loud_again():
    yield
    logging.getLogger("gatechart").setLevel(logging.NOTSET)
