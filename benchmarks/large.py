"""What the size of a chart costs: to build it, and at each event."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import cache, partial
from itertools import count as numbers
from statistics import median
from time import perf_counter
from typing import TypeAlias

from transitions import Machine

from benchmarks.events import in_kernel, in_memory
from benchmarks.measure import Better, Contestant, Effort, Measure, Role, Round, per_second
from benchmarks.ring import EVENT, RingContext, following, members, moves
from gatechart import State, StateTransitionGraph

SMALL, LARGE = 10, 1000  # states
SLICES = 5  # of a round: the two charts take turns
SMALL_GROUPS, LARGE_GROUPS = (2, 4), (10, 9, 10)  # 2 + 2 * 4 and 10 + 10 * 9 + 10 * 9 * 10 states

Build: TypeAlias = Callable[[], StateTransitionGraph]
Run: TypeAlias = Callable[..., Awaitable[float]]


def flat(size: int) -> StateTransitionGraph:
    """One ring."""
    states = [f"S{number}" for number in range(size)]
    return _graph(members(states), states)


def nested(*widths: int) -> StateTransitionGraph:
    """Groups of groups of leaves, as wide as told, outer ones first; a ring leads through all leaves."""
    numbered = numbers()
    leaves: list[str] = []

    def level(width: int, *inner: int) -> list[State]:
        names = [f"S{next(numbered)}" for _ in range(width)]
        if inner:
            return [State(name, states=level(*inner)) for name in names]
        leaves.extend(names)
        return members(names)

    return _graph(level(*widths), leaves)


def _graph(states: list[State], leaves: list[str]) -> StateTransitionGraph:
    return StateTransitionGraph(
        "large", context=RingContext, states=states, transitions=moves(leaves), entry_points=leaves[:1]
    )


def timed(build: Callable[[], object]) -> Round:
    """Rounds that give the milliseconds it takes."""

    async def one_round(_effort: Effort) -> float:
        began = perf_counter()
        build()
        return (perf_counter() - began) * 1000

    return one_round


def machine() -> Machine:
    """States, events and targets alone, without guards and actions."""
    states = [f"S{number}" for number in range(LARGE)]
    rows = [[EVENT, source, target] for source, target in following(states).items()]
    return Machine(states=states, transitions=rows, initial=states[0], auto_transitions=False)


def against(run: Run, small: Build, large: Build) -> Round:
    """Rounds that give how many times as long an event takes in the large chart, all its plans remembered."""
    in_small, in_large = (per_second(partial(_after_a_lap, run, cache(build))) for build in (small, large))

    async def one_round(effort: Effort) -> float:
        part = replace(effort, seconds=effort.seconds / SLICES)
        return median([await in_small(part) / await in_large(part) for _ in range(SLICES)])

    return one_round


async def _after_a_lap(run: Run, build: Build, count: int) -> float:
    graph = build()
    return await run(graph, count, before=len(graph.transitions))


building = Measure(
    "building",
    f"Building a graph of {LARGE:,} states, from its definition",
    "ms",
    Better.LOWER,
    (
        Contestant("gatechart, one ring", timed(partial(flat, LARGE)), target=1000),
        Contestant("gatechart, a ring through three levels", timed(partial(nested, *LARGE_GROUPS)), target=1000),
        Contestant("transitions, Machine, one ring", timed(machine), Role.PEER),
    ),
)

events = Measure(
    "large",
    f"An event in a chart of {LARGE:,} states, against one in a chart of {SMALL}",
    "times as long",
    Better.LOWER,
    (
        Contestant("kernel, one ring", against(in_kernel, partial(flat, SMALL), partial(flat, LARGE)), target=1.5),
        Contestant(
            "kernel, a ring through two levels, and three",
            against(in_kernel, partial(nested, *SMALL_GROUPS), partial(nested, *LARGE_GROUPS)),
            target=1.5,
        ),
        Contestant(
            "agent in the memory runtime, one ring",
            against(in_memory, partial(flat, SMALL), partial(flat, LARGE)),
            target=1.5,
        ),
        Contestant(
            "agent in the memory runtime, two levels, and three",
            against(in_memory, partial(nested, *SMALL_GROUPS), partial(nested, *LARGE_GROUPS)),
            target=1.5,
        ),
    ),
)
