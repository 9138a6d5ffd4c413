"""How many events a second two rings take that turn side by side, in the regions of a parallel state."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from time import perf_counter

from benchmarks import peers
from benchmarks.events import checked, in_kernel, in_memory
from benchmarks.measure import Better, Contestant, Measure, Role, per_second
from benchmarks.ring import EVENT, STATES, RingContext, count_arrival, count_move, following, is_allowed, members, moves
from gatechart import Event, State, StateTransitionGraph

REGIONS = {region: tuple(f"{region}_{state}" for state in STATES) for region in ("LEFT", "RIGHT")}

rings = StateTransitionGraph(
    "rings",
    context=RingContext,
    states=State(
        "BOTH", parallel=True, states=[State(region, states=members(states)) for region, states in REGIONS.items()]
    ),
    transitions=[move for states in REGIONS.values() for move in moves(states)],
    entry_points="BOTH",
)


async def bare_loop(count: int) -> float:
    """For each region a look-up and three calls."""
    table = {
        (source, EVENT): (is_allowed, count_move, target, count_arrival)
        for states in REGIONS.values()
        for source, target in following(states).items()
    }
    event = Event(EVENT, {}, datetime.now(UTC))
    context, active = RingContext(), [states[0] for states in REGIONS.values()]
    began = perf_counter()
    for _ in range(count):
        for region, state in enumerate(active):
            guard, action, target, entry = table[state, event.name]
            if guard(context, event):
                action(context, event)
                active[region] = target
                entry(context, event)
    return checked(perf_counter() - began, context, count, len(REGIONS))


async def transitions_sync(count: int) -> float:
    model = peers.Model()
    peers.parallel_machine(model)
    began = perf_counter()
    for _ in range(count):
        model.changed()
    return checked(perf_counter() - began, model.context, count, len(REGIONS))


async def statemachine_sync(count: int) -> float:
    chart = peers.ParallelChart()
    began = perf_counter()
    for _ in range(count):
        chart.changed()
    return checked(perf_counter() - began, chart.context, count, len(REGIONS))


measure = Measure(
    "regions",
    "Events on two parallel regions of three states, both of which move at each event",
    "events/s",
    Better.HIGHER,
    (
        Contestant("bare dispatch loop", per_second(bare_loop), Role.RAW),
        Contestant(
            "gatechart, kernel with its actions",
            per_second(partial(in_kernel, rings, rings=len(REGIONS))),
            target=100_000,
        ),
        Contestant("gatechart, agent in the memory runtime", per_second(partial(in_memory, rings, rings=len(REGIONS)))),
        Contestant("transitions, HierarchicalMachine (not async)", per_second(transitions_sync), Role.PEER),
        Contestant("python-statemachine, sync engine", per_second(statemachine_sync), Role.PEER),
    ),
)
