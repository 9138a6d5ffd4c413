"""Agents that move to the engine notice there what they would have noticed where they were."""

import asyncio

import pytest

from gatechart import ANY, Runtime, State, StateTransitionGraph, ToolBox, Transition, tool
from gatechart.escape import Nudge, Restart
from gatechart.graph.definition import Invoke
from gatechart.graph.signals import Signal
from gatechart.hosting.lessons import keeper_of, lessons_kept
from gatechart.hosting.limits import Limits
from gatechart.restate.migration.move import move_to_engine
from gatechart.signals import NoProgress, Repeats, ToolFailures
from gatechart.testing import VirtualClock
from gatechart.tools import ToolPolicies
from gatechart.values.escapes import CameTo
from gatechart.values.trail import Called, entries_in
from tests.noticing import go_round
from tests.restate.moving import home, quiet
from tests.runtime.busy_agents import Task, note
from tests.runtime.handovers import rest
from tests.runtime.test_escapes import go_round as go_on
from tests.runtime.test_escapes import ring, tried
from tests.runtime.test_undoing import HALF_WAY, Desk, book_two, check_half_way, half_way, trip

SLOW_S = 2.0


@pytest.fixture(autouse=True)
def _ends():
    """A move has many calls, and waits are really waited for."""


@pytest.fixture(params=["sqlite_url", "postgres_url"])
def source(request):
    """The URL of a database of either kind."""
    return request.getfixturevalue(request.param)


async def test_an_agent_that_moves_in_the_midst_of_a_circle_notices_it_when_it_is_complete(engine, tmp_path, source):
    graph = go_round(Transition(ANY, "signal.circle", "REST"), signals=Signal(Repeats(), "circle"))
    async with Runtime.open(source, graphs=[graph]) as runtime:
        agent = await runtime.start("round", at="HERE", agent_id="a")
        for _ in range(3):
            await agent.send("GO")
        before = agent.snapshot.trail
    async with home(engine, tmp_path, served=[graph]) as (namespace, _, opened):
        await move_to_engine(source, engine.ingress, namespace=namespace, tell=quiet)
        async with opened() as runtime:
            agent = await runtime.resume("a")
            assert agent.snapshot.trail == before
            assert (await agent.send("GO")).configuration == ("HERE",)
            assert (await agent.send("GO")).configuration == ("REST",)


async def wait(context, work):
    await work.sleep("waiting", "1d")


slow = StateTransitionGraph(
    "slow",
    states=[State("WORKING", invoke=Invoke(wait)), "HELPED"],
    transitions=[Transition(ANY, "signal.no_progress", "HELPED")],
    entry_points=["WORKING"],
    signals=NoProgress(seconds=SLOW_S),
)


async def test_time_without_progress_goes_on_through_a_move(engine, tmp_path, sqlite_url):
    async with Runtime.open(sqlite_url, graphs=[slow]) as runtime:
        agent = await runtime.start("slow", at="WORKING", agent_id="a")
        started = (await agent.history())[0].event.time
        assert agent.configuration == ("WORKING",)
    async with home(engine, tmp_path, served=[slow]) as (namespace, _, opened):
        await move_to_engine(sqlite_url, engine.ingress, namespace=namespace, tell=quiet)
        async with opened() as runtime:
            agent = await runtime.resume("a")
            await agent.until("HELPED", timeout=20)
            await runtime.caught_up("a")
            (fired,) = [each for each in await agent.history() if each.fired]
    assert (fired.event.time - started).total_seconds() >= SLOW_S
    assert fired.fired.evidence[0]["seconds"] >= SLOW_S


class Shop:
    """Services with a tool that fails, and an answer to the signal that takes as long as the test wants."""

    def __init__(self, *, answers):
        self.orders, self.answering, self.answers = [], asyncio.Event(), answers

        @tool(policies=ToolPolicies(retry="off", breaker="off"))
        async def lookup(order: int) -> str:
            self.orders.append(order)
            raise LookupError(f"no order {order}")

        self.tools = ToolBox([lookup])


async def insist(context, work):
    return [(await work.call("lookup", order=order, call_id=f"c-{order}")).ok for order in range(1, 6)]


async def answer(context, event, turn):
    turn.services.answering.set()
    if not turn.services.answers:
        await asyncio.Event().wait()
    context.notes.append([event.name, {}])


insisting = StateTransitionGraph(
    "insisting",
    context=Task,
    states=[State("BUSY", invoke=Invoke(insist, id="f")), "DONE"],
    transitions=[
        Transition("BUSY", "signal.failing", actions=answer),
        Transition("BUSY", "done.invoke.f", "DONE", actions=note),
    ],
    entry_points=["BUSY"],
    signals=Signal(ToolFailures(3), "failing"),
)


async def test_an_invoke_that_moves_while_it_waits_for_the_answer_to_a_signal_calls_on_after_it(
    engine, tmp_path, source
):
    old, new = Shop(answers=False), Shop(answers=True)
    async with Runtime.open(source, graphs=[insisting], services=old, limits=Limits(close_s=0.1)) as runtime:
        await runtime.start("insisting", at="BUSY", agent_id="a")
        await old.answering.wait()
    assert old.orders == [1, 2, 3]
    async with home(engine, tmp_path, served=[insisting], services=new) as (namespace, _, opened):
        await move_to_engine(source, engine.ingress, namespace=namespace, tell=quiet)
        async with opened() as runtime:
            agent = await runtime.resume("a")
            await agent.until("DONE", timeout=20)
            agent = await runtime.resume("a")
    assert [name for name, _ in agent.context.notes] == ["signal.failing", "done.invoke.f"]
    assert len([each for each in entries_in(agent.snapshot.trail.text) if isinstance(each, Called)]) == 5
    assert new.orders == [4, 5]


@pytest.mark.sqlite_is_enough
async def test_what_an_agent_tried_moves_with_it_and_so_does_what_its_graph_learned(engine, tmp_path, sqlite_url):
    graph = ring(Nudge(), cooldown="1h")
    async with Runtime.open(sqlite_url, graphs=[graph], clock=VirtualClock()) as runtime:
        agent = await runtime.start("ring", at="A", agent_id="a")
        while not agent.snapshot.trail.escapes.count:
            await agent.send("GO")
        await rest(runtime)
        before, known = agent.snapshot.trail.escapes, lessons_kept(await runtime.read(keeper_of("ring")))
    async with home(engine, tmp_path, served=[graph]) as (namespace, _, opened):
        await move_to_engine(sqlite_url, engine.ingress, namespace=namespace, tell=quiet)
        async with opened() as runtime:
            agent = await runtime.resume("a")
            assert agent.snapshot.trail.escapes == before
            assert lessons_kept(await runtime.read(keeper_of("ring"))) == known
            await go_on(agent)
            assert tried(agent) == [("nudge", CameTo.NOTHING), ("give_up", CameTo.NOTHING)]


@pytest.mark.sqlite_is_enough
@pytest.mark.parametrize("cancels", HALF_WAY)
async def test_an_agent_that_moves_while_it_takes_calls_back_goes_on_with_that(engine, tmp_path, sqlite_url, cancels):
    graph = trip(book_two, Restart())
    old, new = (Desk(opened=asyncio.Event(), shut_after=1, cancels=cancels), Desk(fails=0, cancels=cancels))
    async with Runtime.open(sqlite_url, graphs=graph, services=old, limits=Limits(close_s=0.1)) as runtime:
        await half_way(runtime, old)
    async with home(engine, tmp_path, served=[graph], services=new) as (namespace, _, opened):
        await move_to_engine(sqlite_url, engine.ingress, namespace=namespace, tell=quiet)
        async with opened() as runtime:
            await check_half_way(await runtime.resume("a"), old, new, cancels)
