"""An agent in memory whose time goes on only when told."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import BaseModel, Field

from gatechart import AgentContext, EntryPoint, Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import EntryRefusedError
from gatechart.graph.definition import ANY, Initial, Then
from gatechart.testing.clock import VirtualClock
from gatechart.testing.rehearsal import rehearse

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


class Tally(AgentContext):
    trail: list[str] = Field(default_factory=list)
    n: int = 0


class Brought(BaseModel):
    n: int


def note(text):
    def noting(context, event):
        context.trail.append(text)

    return noting


kettle = StateTransitionGraph(
    "kettle",
    context=Tally,
    states=[
        State("COLD"),
        State("HEATING", after={"60s": "HOT", "10s": Then(actions=note("ten")), "30s": Then(actions=note("thirty"))}),
        State("HOT", on_entry=note("hot"), after={"30s": "COLD"}),
    ],
    transitions=[Transition("COLD", "SWITCHED", "HEATING"), Transition(ANY, "DROPPED", "BROKEN")],
    initial=Initial("COLD", actions=note("begun")),
    entry_points=["HOT", EntryPoint("HEATING", "warm", takes=Brought)],
)


async def test_a_rehearsal_begins_at_the_initial_state_though_it_is_no_entry_point():
    async with rehearse(kettle) as agent:
        assert (agent.leaves, agent.context.trail) == (("COLD",), ["begun"])


async def test_a_rehearsal_begins_at_an_entry_point_with_what_it_takes():
    async with rehearse(kettle, "warm", {"n": 3}) as agent:
        assert (agent.leaves, agent.context.n) == (("HEATING",), 3)


async def test_a_payload_at_the_initial_state_fills_the_context():
    async with rehearse(kettle, payload={"n": 5}) as agent:
        assert agent.context.n == 5


async def test_what_is_no_entry_point_is_refused():
    with pytest.raises(EntryRefusedError, match="COLD"):
        async with rehearse(kettle, "COLD"):
            pass


async def test_timers_fire_when_they_are_due_one_after_the_other():
    async with rehearse(kettle, clock=VirtualClock(NOON)) as agent:
        await agent.send("SWITCHED")
        await agent.advance(59.9)
        assert (agent.leaves, agent.context.trail) == (("HEATING",), ["begun", "ten", "thirty"])
        await agent.advance(100)
        assert (agent.leaves, agent.context.trail[3:]) == (("COLD",), ["hot"])
        times = [entry.event.time - NOON for entry in await agent.agent.history()]
        assert [time.total_seconds() for time in times] == [0, 0, 10, 30, 60, 90]
        assert agent.clock.now() - NOON == timedelta(seconds=159.9)


async def test_timers_of_a_state_that_was_left_do_not_fire():
    async with rehearse(kettle, "HOT") as agent:
        assert (await agent.send("DROPPED")).applied
        await agent.advance(3600)
        assert (agent.leaves, agent.snapshot.version) == (("BROKEN",), 2)


async def test_invokes_that_sleep_on_the_clock_end_in_time_and_those_that_do_not_end_at_once():
    async def slow(context, work):
        await work.sleep(5)
        return "slow"

    async def quick(context, work):
        for _ in range(20):
            await asyncio.sleep(0)
        return work.services

    graph = StateTransitionGraph(
        "work",
        context=Tally,
        states=[State("BUSY", invoke=[slow, quick])],
        transitions=[
            Transition("BUSY", "done.invoke.quick", actions=lambda c, e: c.trail.append(e.payload["result"])),
            Transition("BUSY", "done.invoke.slow", "DONE"),
        ],
        entry_points=["BUSY"],
    )
    async with rehearse(graph, "BUSY", services="quick") as agent:
        assert (agent.leaves, agent.context.trail) == (("BUSY",), ["quick"])
        await agent.advance(5)
        assert agent.leaves == ("DONE",)


async def test_an_invoke_that_waits_for_the_world_does_not_hold_the_rehearsal():
    told = asyncio.Event()
    graph = StateTransitionGraph(
        "waiting",
        states=[State("WAITING", invoke=lambda context, work: told.wait())],
        transitions=[Transition("WAITING", "done.invoke", "DONE")],
        entry_points=["WAITING"],
    )
    async with rehearse(graph) as agent:
        await agent.advance(1)
        assert agent.leaves == ("WAITING",)
        told.set()
        await agent.settle()
        assert agent.leaves == ("DONE",)


def send_three(context, event, turn):
    turn.after(10, "LATE", {"n": 1}, key="first")
    turn.send(turn.agent_id, "SOON")
    turn.after("20s", "LATE", {"n": 2}, key="late")


senders = StateTransitionGraph(
    "senders",
    context=Tally,
    states=[State("SENDING", on_entry=send_three)],
    transitions=[
        Transition("SENDING", "SOON", actions=note("soon")),
        Transition("SENDING", "LATE", actions=lambda c, e: c.trail.append(f"late {e.payload['n']}")),
        Transition("SENDING", "CANCELLED", actions=lambda c, e, turn: turn.cancel("late")),
        Transition("SENDING", "AGAIN", actions=lambda c, e, turn: turn.after(1, "LATE", {"n": 3}, key="late")),
        Transition("SENDING", "ENDED", "END", actions=lambda c, e, turn: turn.after(0, "SOON")),
        Transition("SENDING", "CANCELLED_UNKNOWN", actions=lambda c, e, turn: turn.cancel("unknown")),
    ],
    entry_points=["SENDING"],
)


async def test_what_an_agent_sends_itself_arrives_when_it_is_due():
    async with rehearse(senders) as agent:
        assert agent.context.trail == ["soon"]
        await agent.advance(10)
        assert agent.context.trail == ["soon", "late 1"]
        await agent.advance(10)
        assert agent.context.trail == ["soon", "late 1", "late 2"]
        await agent.send("AGAIN")
        await agent.advance(1)
        assert agent.context.trail[3:] == ["late 3"]


async def test_what_was_cancelled_does_not_arrive():
    async with rehearse(senders) as agent:
        await agent.send("CANCELLED_UNKNOWN")
        await agent.advance(10)
        await agent.send("CANCELLED")
        await agent.advance(100)
        assert agent.context.trail == ["soon", "late 1"]
        await agent.send("AGAIN")
        await agent.advance(1)
        assert agent.context.trail[2:] == ["late 3"]


async def test_what_waits_ends_with_the_agent():
    async with Runtime.open("memory:", graphs=[senders], clock=(clock := VirtualClock())) as runtime:
        agent = await runtime.start("senders", at="SENDING")
        await asyncio.sleep(0)
        await runtime.stop(agent.id)
        for _ in range(5):
            await asyncio.sleep(0)
        assert clock.sleeping == runtime.pending_work == 0


async def test_a_timer_of_the_same_key_takes_the_place_of_the_former():
    async with rehearse(senders) as agent:
        await agent.send("AGAIN")
        await agent.advance(100)
        assert agent.context.trail == ["soon", "late 3", "late 1"]


async def test_who_sleeps_on_a_virtual_clock_wakes_when_it_shows_the_moment():
    clock, woken = VirtualClock(NOON), []

    async def sleep(name, seconds):
        await clock.sleep_until(NOON + timedelta(seconds=seconds))
        woken.append(name)

    tasks = [
        asyncio.create_task(sleep(*each)) for each in [("late", 9), ("now", 0), ("soon", 5), ("too", 5), ("never", 7)]
    ]
    await asyncio.sleep(0)
    assert (woken, clock.sleeping, clock.next_due) == (["now"], 4, NOON + timedelta(seconds=5))
    tasks[4].cancel()
    clock.advance(9)
    await asyncio.sleep(0)
    assert (woken, clock.sleeping, clock.next_due) == (["now", "soon", "too", "late"], 0, None)


def test_a_virtual_clock_refuses_a_moment_without_a_time_zone():
    with pytest.raises(ValueError, match="has no time zone"):
        VirtualClock(datetime(2030, 1, 1))  # noqa: DTZ001
