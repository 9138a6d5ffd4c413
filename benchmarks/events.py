"""How many events a second one ring takes."""

from __future__ import annotations

from datetime import UTC, datetime
from time import perf_counter

from benchmarks import peers
from benchmarks.measure import Better, Contestant, Measure, Role, per_second
from benchmarks.ring import EVENT, FOLLOWING, STATES, RingContext, count_arrival, count_move, is_allowed, ring
from gatechart import Event, Runtime, Turn
from gatechart.turn import Macrostep


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
    return _checked(perf_counter() - began, context, count)


async def kernel(count: int) -> float:
    """A macrostep of its own for each event, on one live context: what a turn does less its reading and writing."""
    event = Event(EVENT, {}, datetime.now(UTC))
    context, configuration = RingContext(), STATES[:1]
    began = perf_counter()
    for version in range(count):
        macrostep = Macrostep(ring, configuration, (), context, Turn("ring", version, event))
        await macrostep.react()
        configuration = macrostep.configuration
    return _checked(perf_counter() - began, context, count)


async def memory_agent(count: int) -> float:
    """An agent as people use it: every turn can be undone, has an outcome and is kept in the history."""
    async with Runtime.open("memory:", graphs=[ring]) as runtime:
        agent = await runtime.start("ring", at=STATES[0])
        began = perf_counter()
        for _ in range(count):
            await agent.send(EVENT)
        return _checked(perf_counter() - began, agent.context, count)


async def transitions_sync(count: int) -> float:
    model = peers.Model()
    peers.machine(model)
    began = perf_counter()
    for _ in range(count):
        model.changed()
    return _checked(perf_counter() - began, model.context, count)


async def transitions_async(count: int) -> float:
    model = peers.Model()
    peers.async_machine(model)
    began = perf_counter()
    for _ in range(count):
        await model.changed()
    return _checked(perf_counter() - began, model.context, count)


async def statemachine_sync(count: int) -> float:
    chart = peers.Chart()
    began = perf_counter()
    for _ in range(count):
        chart.changed()
    return _checked(perf_counter() - began, chart.context, count)


async def statemachine_async(count: int) -> float:
    chart = peers.AsyncChart()
    await chart.activate_initial_state()
    began = perf_counter()
    for _ in range(count):
        await chart.changed()
    return _checked(perf_counter() - began, chart.context, count)


def _checked(seconds: float, context: RingContext, count: int) -> float:
    """The seconds, where all the work was done. Some enter their initial state by its entry action, some do not."""
    if context.moves != count or context.arrivals - count not in {0, 1}:
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
