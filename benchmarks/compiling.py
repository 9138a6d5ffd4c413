"""How long it takes to build a graph: its validation, its indices, its fingerprint."""

from __future__ import annotations

from time import perf_counter

from transitions import Machine

from benchmarks.measure import Better, Contestant, Effort, Measure, Role
from gatechart import ANY, StateTransitionGraph
from statecharts import customer_service as chart


async def build_graph(_effort: Effort) -> float:
    """The customer service again, from its definition."""
    began = perf_counter()
    StateTransitionGraph(
        chart.name,
        version=chart.version,
        context=chart.context,
        states=chart.tree,
        transitions=chart.transitions,
        entry_points=tuple(chart.entry_points.values()),
    )
    return (perf_counter() - began) * 1000


async def build_machine(_effort: Effort) -> float:
    """States, events and targets alone, without guards and actions."""
    rows = [
        [each.event, "*" if each.source == ANY else each.source, next(iter(each.targets), None)]
        for each in chart.transitions
    ]
    began = perf_counter()
    Machine(states=list(chart.states), transitions=rows, initial=chart.states[0], auto_transitions=False)
    return (perf_counter() - began) * 1000


measure = Measure(
    "compiling",
    f"Building the customer service's graph: {len(chart.states)} states, {len(chart.transitions)} transitions",
    "ms",
    Better.LOWER,
    (
        Contestant("gatechart, StateTransitionGraph", build_graph, target=10),
        Contestant("transitions, Machine", build_machine, Role.PEER),
    ),
)
