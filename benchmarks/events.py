"""How many events a second one ring takes."""

from __future__ import annotations

from datetime import UTC, datetime
from time import perf_counter
from typing import Any

from benchmarks import peers
from benchmarks.measure import Better, Contestant, Measure, Role, per_second
from benchmarks.ring import EVENT, FOLLOWING, STATES, RingContext, count_arrival, count_move, is_allowed, ring
from gatechart import Agent, Event, Runtime, StateTransitionGraph, Turn
from gatechart.kernel.plan import plan_entry
from gatechart.turn.macrostep import Macrostep


async def bare_loop(count: int) -> float:
    """A look-up and three calls."""
    table = {(source, EVENT): (is_allowed, count_move, target, count_arrival) for source, target in FOLLOWING.items()}
    event = Event(EVENT, {}, datetime.now(UTC))
    context, state = RingContext(), STATES[0]
    began = perf_counter()
    for _ in range(count):
        guard, action, target, entry = table[state, event.name]
        if guard(context, event):
            action(context, event)
            state = target
            entry(context, event)
    return checked(perf_counter() - began, context, count)


async def kernel(count: int) -> float:
    return await in_kernel(ring, count)


async def memory_agent(count: int) -> float:
    return await in_memory(ring, count)


async def in_kernel(graph: StateTransitionGraph, count: int, *, rings: int = 1, before: int = 0) -> float:
    """A macrostep of its own for each event, on one live context: what a turn does less its reading and writing.

    rings: how many move at each event. before: events that are not timed.
    """
    (door,) = graph.entry_points.values()
    context, configuration = RingContext(), plan_entry(graph, (door.state,)).configuration
    configuration = await _macrosteps(graph, configuration, context, before)
    began = perf_counter()
    await _macrosteps(graph, configuration, context, count)
    return checked(perf_counter() - began, context, before + count, rings)


async def _macrosteps(
    graph: StateTransitionGraph, configuration: tuple[str, ...], context: RingContext, count: int
) -> tuple[str, ...]:
    event = Event(EVENT, {}, datetime.now(UTC))
    for version in range(count):
        macrostep = Macrostep(graph, configuration, (), context, Turn("ring", version, event))
        await macrostep.react()
        configuration = macrostep.configuration
    return configuration


async def in_memory(graph: StateTransitionGraph, count: int, *, rings: int = 1, before: int = 0) -> float:
    """An agent as people use it: every turn can be undone, has an outcome and is kept in the history."""
    (door,) = graph.entry_points
    async with Runtime.open("memory:", graphs=[graph]) as runtime:
        agent = await runtime.start(graph, at=door)
        await _send(agent, before)
        began = perf_counter()
        await _send(agent, count)
        return checked(perf_counter() - began, agent.context, before + count, rings)


async def _send(agent: Agent[Any], count: int) -> None:
    for _ in range(count):
        await agent.send(EVENT)


async def transitions_sync(count: int) -> float:
    model = peers.Model()
    peers.machine(model)
    began = perf_counter()
    for _ in range(count):
        model.changed()
    return checked(perf_counter() - began, model.context, count)


async def transitions_async(count: int) -> float:
    model = peers.Model()
    peers.async_machine(model)
    began = perf_counter()
    for _ in range(count):
        await model.changed()
    return checked(perf_counter() - began, model.context, count)


async def statemachine_sync(count: int) -> float:
    chart = peers.Chart()
    began = perf_counter()
    for _ in range(count):
        chart.changed()
    return checked(perf_counter() - began, chart.context, count)


async def statemachine_async(count: int) -> float:
    chart = peers.AsyncChart()
    await chart.activate_initial_state()
    began = perf_counter()
    for _ in range(count):
        await chart.changed()
    return checked(perf_counter() - began, chart.context, count)


def checked(seconds: float, context: Any, count: int, rings: int = 1) -> float:
    """The seconds, where all the work was done. Some enter their initial state by its entry action, some do not."""
    if context.moves != count * rings or context.arrivals - context.moves not in {0, rings}:
        raise RuntimeError(f"{context!r} after {count} events")
    return seconds


measure = Measure(
    "events",
    "Events on a ring of three states, one after the other",
    "events/s",
    Better.HIGHER,
    (
        Contestant("bare dispatch loop", per_second(bare_loop), Role.RAW),
        Contestant("gatechart, kernel with its actions", per_second(kernel), target=250_000),
        Contestant("gatechart, agent in the memory runtime", per_second(memory_agent), target=80_000),
        Contestant("transitions, AsyncMachine", per_second(transitions_async), Role.PEER),
        Contestant("transitions, Machine (not async)", per_second(transitions_sync), Role.PEER),
        Contestant("python-statemachine, async engine", per_second(statemachine_async), Role.PEER),
        Contestant("python-statemachine, sync engine", per_second(statemachine_sync), Role.PEER),
    ),
)
