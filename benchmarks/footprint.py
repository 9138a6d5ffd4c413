"""How many bytes an agent takes while it rests."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

from benchmarks import peers
from benchmarks.measure import Better, Contestant, Effort, Measure, Role, Round
from benchmarks.ring import EVENT, STATES, ring
from gatechart import Runtime


def bytes_each(agents: int, populate: Callable[[int], Awaitable[Any]]) -> Round:
    """Rounds that give the bytes in use once so many agents stand, divided by their number.

    populate: makes so many; what it returns is held until the bytes are counted.
    """

    async def one_round(_effort: Effort) -> float:
        await populate(10)  # what is worked out once and shared is there already
        gc.collect()
        tracemalloc.start()
        try:
            held = await populate(agents)
            gc.collect()
            used, _peak = tracemalloc.get_traced_memory()
            del held
            return used / agents
        finally:
            tracemalloc.stop()

    return one_round


async def bare(count: int) -> object:
    """The least: an id, a state and a context as JSON."""
    return {uuid4().hex: (STATES[0], f'{{"moves":0,"arrivals":{number}}}') for number in range(count)}


async def handle_dropped(count: int) -> object:
    """The store alone, with snapshot, context and a history of one turn."""
    async with Runtime.open("memory:", graphs=[ring]) as runtime:
        for _ in range(count):
            await runtime.start("ring", at=STATES[0])
        return runtime


async def handle_kept(count: int) -> object:
    async with Runtime.open("memory:", graphs=[ring]) as runtime:
        return runtime, [await runtime.start("ring", at=STATES[0]) for _ in range(count)]


async def ten_turns_later(count: int) -> object:
    async with Runtime.open("memory:", graphs=[ring]) as runtime:
        agents = [await runtime.start("ring", at=STATES[0]) for _ in range(count)]
        for agent in agents * 10:
            await agent.send(EVENT)
        return runtime, agents


async def models(count: int) -> object:
    shared = peers.async_machine()
    held = [peers.Model() for _ in range(count)]
    for model in held:
        shared.add_model(model)
    return shared, held


async def charts(count: int) -> object:
    held = [peers.AsyncChart() for _ in range(count)]
    for chart in held:
        await chart.activate_initial_state()
    return held


measure = Measure(
    "footprint",
    "Memory of an agent at rest, with a context of two numbers",
    "bytes",
    Better.LOWER,
    (
        Contestant("id, state and context as JSON in a dict", bytes_each(5000, bare), Role.RAW),
        Contestant("gatechart, handle dropped", bytes_each(5000, handle_dropped), target=1500),
        Contestant("gatechart, handle kept", bytes_each(5000, handle_kept), target=1500),
        Contestant("gatechart, handle kept, history of 11 turns", bytes_each(500, ten_turns_later)),
        Contestant("transitions, model of an AsyncMachine", bytes_each(500, models), Role.PEER),
        Contestant("python-statemachine, async engine", bytes_each(100, charts), Role.PEER),
    ),
    most_rounds=1,
)
