"""Restarts by the watchdog: made where the graph lets the agent in, and otherwise told of once."""

import asyncio

import pytest
from pydantic import BaseModel

from gatechart import EntryPoint, EscapePlan, Invoke, Runtime, State, StateTransitionGraph, ToolBox, Transition, tool
from gatechart.alerts import Alerts
from gatechart.errors import EntryRefusedError, UnknownGraphError
from gatechart.escape import Restart
from gatechart.graph.signals import Signal
from gatechart.signals import ToolFailures
from gatechart.tools import ToolPolicies
from gatechart.watchdog import Act, Watchdog, WatchdogTerms
from tests.watchdog.test_findings import UNLEARNED, Case, clock, kept, until
from tests.watchdog.test_findings import Sink as Counting

__all__ = ["clock"]

ONCE = ToolPolicies(retry="off", breaker="off")


class Desk:
    """Services: a seat is booked, and the booking is cancelled."""

    def __init__(self, undo):
        self.deeds = []

        @tool(policies=ONCE)
        async def cancel() -> None:
            self.deeds.append("cancel")

        @tool(policies=ONCE, **({"undo": "cancel"} if undo else {}))
        async def book() -> None:
            self.deeds.append("book")

        self.tools = ToolBox([cancel, book])


async def buy(context, work):
    (await work.call("book")).unwrap()
    await work.sleep("for long", "30d")


class Brought(BaseModel):
    number: int


still = StateTransitionGraph(
    "still",
    context=Case,
    states=[State("HERE", expects="10m"), State("BUYING", invoke=Invoke(buy), expects="10m"), "THERE", "FULL"],
    transitions=[Transition("HERE", "GO", "HERE"), Transition("BUYING", "GO", "BUYING")],
    entry_points=[
        "HERE",
        "BUYING",
        EntryPoint("THERE", guard=lambda context, event: False),
        EntryPoint("FULL", takes=Brought, maps={"number": "heard"}),
    ],
    signals=Signal(ToolFailures(3), "failing"),
    escape=EscapePlan({"failing": Restart()}, cooldown=0),
)


def watching(place, clock, sink=None, services=None, **more):
    watchdog = Watchdog("1m", alerts="ops", acts={"stuck": Act.RESTART}, terms=UNLEARNED, **more)
    alerts = Alerts({"ops": sink or Counting()})
    return Runtime.open(place, graphs=[still], clock=clock, services=services, watchdog=watchdog, alerts=alerts)


async def pass_time(clock, agent, times=1):
    """Let time pass, a look of the watchdog after each part of it."""
    for _ in range(times):
        await asyncio.sleep(0.1)
        clock.advance("11m")
    await asyncio.sleep(0.1)


async def in_vain(agent):
    """Why a restart was closed, each time that it was."""
    turns = [turn for turn in await agent.history() if turn.event.name == "escape.none"]
    return [turn.event.payload["passed"][0]["why"] for turn in turns]


def stuck(sink):
    """What the sink was told of agents that stand still; mail that waits as time leaps is something else."""
    return [each for each in sink.got if each.kind == "stuck"]


@pytest.mark.parametrize(
    ("at", "door", "why"),
    [
        ("HERE", "THERE", "its guard"),
        ("HERE", "FULL", "number"),
        ("BUYING", "", "book was called, and must not be called again"),
    ],
)
async def test_a_restart_that_is_closed_is_told_of_once_until_the_agent_has_another_turn(
    sqlite_url, clock, at, door, why
):
    sink, desk = Counting(), Desk(undo=False)
    doors = {"restart_at": {"still": door}} if door else {}
    async with watching(sqlite_url, clock, sink, desk, **doors) as runtime:
        agent = await runtime.start("still", at=at, agent_id="s-1")
        await kept(runtime, lambda _: True)
        await pass_time(clock, agent, 4)
        await until(lambda: stuck(sink))
        [told] = await in_vain(agent)
        assert why in told
        assert len(stuck(sink)) == 1
    async with watching(sqlite_url, clock, sink, desk, **doors) as runtime:
        agent = await runtime.resume("s-1")
        await pass_time(clock, agent, 2)
        assert (len(await in_vain(agent)), len(stuck(sink))) == (1, 1)
        await agent.send("GO")
        await pass_time(clock, agent, 3)
        await until(lambda: len(stuck(sink)) == 2)
        assert len(await in_vain(agent)) == 2
    assert agent.snapshot.configuration == (at,)


@pytest.mark.parametrize(
    ("doors", "again", "name"), [({}, ["book"], "restart"), ({"still": "HERE"}, [], "restart_at_HERE")]
)
async def test_a_restart_over_a_call_that_can_be_taken_back_takes_it_back(sqlite_url, clock, doors, again, name):
    desk = Desk(undo=True)
    async with watching(sqlite_url, clock, services=desk, restart_at=doors) as runtime:
        agent = await runtime.start("still", at="BUYING", agent_id="s-1")
        await kept(runtime, lambda _: True)
        await pass_time(clock, agent)
        await agent.until("BUYING" if again else "HERE", timeout=30)
        await until(lambda: desk.deeds == ["book", "cancel", *again])
        assert [each.strategy for each in agent.snapshot.trail.escapes.tried] == [name]


@pytest.mark.parametrize(
    ("doors", "error", "told"),
    [
        ({"stil": "HERE"}, UnknownGraphError, "did you mean 'still'"),
        ({"still": "NOWHERE"}, EntryRefusedError, "its entry points are HERE, BUYING, THERE, FULL"),
    ],
)
async def test_a_place_to_begin_anew_that_there_is_not_is_refused_at_the_start(place, clock, doors, error, told):
    with pytest.raises(error, match=told):
        async with watching(place, clock, restart_at=doors):
            pass


async def test_an_agent_that_nobody_hosts_is_not_asked_to_begin_anew(sqlite_url, clock):
    talk = StateTransitionGraph(
        "talk",
        states=["ASKING", "TOLD"],
        transitions=[Transition("ASKING", "SAID", "TOLD"), Transition("TOLD", "ASKED", "ASKING")],
        entry_points=["ASKING"],
    )
    async with Runtime.open(sqlite_url, graphs=[talk], clock=clock) as runtime:
        await runtime.start("talk", at="ASKING", agent_id="t-1")
        for _ in range(20):
            clock.advance("30s")
            await runtime.send("t-1", "SAID")
            await runtime.send("t-1", "ASKED")
    watchdog = Watchdog("1m", acts={"stuck": Act.RESTART}, terms=WatchdogTerms(least=20))
    async with Runtime.open(sqlite_url, graphs=[still], clock=clock, watchdog=watchdog) as runtime:
        agent = await runtime.start("still", at="HERE", agent_id="z-1")
        await kept(runtime, lambda _: True)
        await pass_time(clock, agent, 2)
        found = {each.subject for each in await runtime.findings() if each.kind == "stuck"}
        await until(lambda: agent.snapshot.trail.escapes.count)
        assert "t-1" in found
        assert await runtime.mail("t-1") == []
