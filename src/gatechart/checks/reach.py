"""Which states each entry point leads to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from gatechart.checks.finding import UNREACHABLE, Finding
from gatechart.checks.ways import Ways, entered, find_ways
from gatechart.graph import ROOT, Kind, Recall, StateTransitionGraph
from gatechart.values import StateName


def reach(graph: StateTransitionGraph) -> Mapping[str, tuple[StateName, ...]]:
    """The states that may be active after beginning at each entry point, by its name, in document order.

    History states count where they are asked. Guards are taken to agree and events to come, and states are followed one
    by one rather than as configurations. So a state that is missing is never active; one that is there may still not
    be, where it takes two regions that never come together. Cost: linear in the transitions for each entry point.
    """
    found = reached(graph, find_ways(graph))
    names = {door: tuple(name for name in graph.nodes if name in states) for door, states in found.items()}
    return MappingProxyType(names)


def reached(graph: StateTransitionGraph, ways: Ways) -> dict[str, frozenset[StateName]]:
    """What `reach` tells, as sets. Entry points into one state are followed once."""
    by_state = {entry.state: frozenset[StateName]() for entry in graph.entry_points.values()}
    for state in by_state:
        by_state[state] = _follow(graph, ways, entered(graph, (state,), ROOT))
    return {name: by_state[entry.state] for name, entry in graph.entry_points.items()}


def _follow(graph: StateTransitionGraph, ways: Ways, first: frozenset[StateName]) -> frozenset[StateName]:
    seen = {ROOT, *first}
    waiting = list(seen)
    while waiting:
        state = waiting.pop()
        for step in (*(way.enters for way in ways[state]), *_recalled(graph, state, seen)):
            new = step - seen
            seen |= new
            waiting += new
    return frozenset(seen - {ROOT})


def _recalled(graph: StateTransitionGraph, state: StateName, seen: set[StateName]) -> Iterator[frozenset[StateName]]:
    """What follows from a shallow history state and a state that it may remember, once both are seen.

    A deep one remembers leaves that were active together with all around them, so it adds nothing.
    """
    node = graph.nodes[state]
    if node.kind is Kind.HISTORY:
        if node.recall is Recall.SHALLOW:
            for child in graph.nodes[node.parent].children:
                if child in seen:
                    yield entered(graph, (child,), node.parent)
    elif node.ancestors:
        histories = graph.nodes[node.parent].histories
        if any(name in seen and graph.nodes[name].recall is Recall.SHALLOW for name in histories):
            yield entered(graph, (state,), node.parent)


def unreachable_findings(graph: StateTransitionGraph, found: Mapping[str, frozenset[StateName]]) -> Iterator[Finding]:
    """GC101. found: what each entry point leads to."""
    everywhere = frozenset[StateName]().union(*found.values())
    doors = ", ".join(map(repr, found))
    for name in graph.nodes:
        if name != ROOT and name not in everywhere:
            problem = f"no way leads there from the entry points {doors}"
            yield UNREACHABLE.at(f"state {name!r}", problem, "let a transition lead there, or drop it")
