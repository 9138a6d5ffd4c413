"""Eventless transitions that lead round in a circle, so that a turn may never come to rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import TypeAlias

from gatechart.checks.finding import CYCLE, ENDLESS, Finding
from gatechart.checks.ways import Way, Ways
from gatechart.graph import Kind, StateTransitionGraph
from gatechart.values import StateName

Arcs: TypeAlias = dict[StateName, frozenset[StateName]]  # from a state with eventless transitions to others such


def cycle_findings(graph: StateTransitionGraph, ways: Ways) -> Iterator[Finding]:
    """GC202 and GC203. Of cycles that share a state, one is told."""
    eventless = {
        source: tuple(way for way in several if way.edge.event is None)
        for source, several in ways.items()
        if any(way.edge.event is None for way in several)
    }
    endless = {source: several[:1] for source, several in eventless.items() if several[0].edge.ask is None}
    told: set[StateName] = set()
    for cycle in _cycles(graph, _arcs(graph, endless)):
        told.update(cycle)
        yield ENDLESS.at(
            f"state {cycle[0]!r}",
            f"eventless transitions lead round {_ring(cycle)}, and no guard ends it",
            "guard one of them, or let it wait for an event",
        )
    rest = {source: several for source, several in eventless.items() if source not in told}
    for cycle in _cycles(graph, _arcs(graph, rest)):
        yield CYCLE.at(
            f"state {cycle[0]!r}",
            f"eventless transitions lead round {_ring(cycle)} for as long as their guards agree",
            "let one of them wait for an event, or allow it where the guards are sure to end it",
        )


def _ring(cycle: tuple[StateName, ...]) -> str:
    return " → ".join((*cycle, cycle[0]))


def _arcs(graph: StateTransitionGraph, eventless: Mapping[StateName, tuple[Way, ...]]) -> Arcs:
    return {
        source: frozenset(name for way in several for name in _active_after(graph, source, way) if name in eventless)
        for source, several in eventless.items()
    }


def _active_after(graph: StateTransitionGraph, source: StateName, way: Way) -> Iterator[StateName]:
    """What the transition can make active, and its source where that stays so.

    Other states that stay need no arc: one whose transition is taken over and over is either entered each time by
    another of the cycle, or never left by its own.
    """
    if way.stays_in(source):
        yield source
    yield from way.enters
    for name in way.enters:
        if graph.nodes[name].kind is Kind.HISTORY:
            parent = graph.nodes[name].parent
            yield from (each.name for each in graph.nodes.values() if parent in each.ancestors)


def _cycles(graph: StateTransitionGraph, arcs: Arcs) -> Iterator[tuple[StateName, ...]]:
    """Cycles that have no state in common, each from its first state in the document on. Cost: linear in each."""
    while cycle := _a_cycle(arcs):
        first = cycle.index(min(cycle, key=lambda name: graph.nodes[name].order))
        yield (*cycle[first:], *cycle[:first])
        gone = frozenset(cycle)
        arcs = {state: others - gone for state, others in arcs.items() if state not in gone}


def _a_cycle(arcs: Arcs) -> tuple[StateName, ...]:
    """The states of one cycle in the order they follow each other; none where there is none."""
    try:
        TopologicalSorter(arcs).prepare()
    except CycleError as error:
        backwards: list[StateName] = error.args[1]
        return tuple(reversed(backwards[1:]))
    return ()
