"""Events that are raised in vain, or waited for in vain, as far as the graph itself tells."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final, Protocol, runtime_checkable

from gatechart.checks.descriptors import is_taken, prefixes_of, words_of
from gatechart.checks.finding import NEVER_AWAITED, NEVER_RAISED, RESULT_UNUSED, Finding
from gatechart.checks.steps import steps_of
from gatechart.graph import ROOT, Kind, Node, StateTransitionGraph
from gatechart.values import OFFERED, EventName, StateName, is_reserved

_ANYWHERE: Final = (
    "error.execution",
    "error.communication",
    "error.platform",
    "error.mail",
    *(f"handoff.{word}" for word in ("accepted", "rejected", "completed", "failed", "expired", "cancelled")),
    "handoff.withdrawn",
)
"""The framework's events that may come in any state, for an operator can have any agent hand on its work."""


@runtime_checkable
class RaisesEvents(Protocol):
    """An action that tells which events it raises within the turn."""

    raises: tuple[EventName, ...]


def event_findings(graph: StateTransitionGraph) -> Iterator[Finding]:
    """GC204, GC205 and GC206."""
    yield from _never_raised(graph)
    awaited = {
        name
        for node in graph.nodes.values()
        for edge in node.edges
        if edge.event is not None
        for name in (edge.event, *words_of(edge.event))
    }
    for node in graph.nodes.values():
        yield from _never_awaited(node, awaited)


def _never_raised(graph: StateTransitionGraph) -> Iterator[Finding]:
    own = own_events(graph)
    raisers: dict[EventName, list[StateName]] = {}
    for event, owner in (*own, *_raised_anywhere(graph)):
        for name in dict.fromkeys((event, *prefixes_of(event))):
            raisers.setdefault(name, []).append(owner)
    known = tuple(dict.fromkeys(event for event, _ in own))
    for node in graph.nodes.values():
        for event in dict.fromkeys(edge.event for edge in node.edges if edge.event is not None):
            names = (event,) if event in raisers else words_of(event)
            for name in names:
                if is_reserved(name) and not any(
                    is_together(graph, node.name, owner) for owner in raisers.get(name, ())
                ):
                    yield _told(node, event, name, tuple(raisers.get(name, ())), known)


def _raised_anywhere(graph: StateTransitionGraph) -> Iterator[tuple[EventName, StateName]]:
    """Yield the reserved events that may come in any state, each with the root as its owner."""
    yield from ((event, ROOT) for event in _ANYWHERE)
    yield from ((f"{OFFERED}{door}", ROOT) for door in graph.entry_points)
    for node in graph.nodes.values():
        yield from ((event, ROOT) for event in _raised(node) if is_reserved(event))


def _told(
    node: Node, event: EventName, name: EventName, owners: tuple[StateName, ...], known: tuple[str, ...]
) -> Finding:
    place = f"state {node.name!r}, event {event!r}"
    if owners:
        problem = f"{name!r} comes while {owners[0]!r} is active, and then this state is not"
        return NEVER_RAISED.at(place, problem, f"wait for it in {owners[0]!r}, or in a state around it")
    near = get_close_matches(name, known, n=1)
    remedy = f"did you mean {near[0]!r}?" if near else _remedy(name)
    return NEVER_RAISED.at(place, f"nothing raises {name!r}", remedy)


def _remedy(name: EventName) -> str:
    if name.startswith(("done.", "error.invoke", "progress.", "after.")):
        return "name an invoke, a delay or a state with a final child, as it is"
    return "only the framework sends events of such names, and this is none of them; choose another name"


def own_events(graph: StateTransitionGraph) -> tuple[tuple[EventName, StateName], ...]:
    """The events that come from the graph itself, each with the state that must be active; the root for any state."""
    return tuple(event for node in graph.nodes.values() for event in _own_events(graph, node))


def _own_events(graph: StateTransitionGraph, node: Node) -> Iterator[tuple[EventName, StateName]]:
    for invoke in node.invokes:
        yield f"done.invoke.{invoke.id}", node.name
        yield f"error.invoke.{invoke.id}", node.name
        yield f"progress.invoke.{invoke.id}", node.name
    for event, _ in node.timers:
        yield event, node.name
    if node.name != ROOT and not node.is_end and _can_be_done(graph, node.name):
        yield f"done.state.{node.name}", ROOT


def _can_be_done(graph: StateTransitionGraph, name: StateName) -> bool:
    node = graph.nodes[name]
    if node.kind is Kind.PARALLEL:
        return all(_can_be_done(graph, child) for child in node.children)
    return any(graph.nodes[child].kind is Kind.FINAL for child in node.children)


def is_together(graph: StateTransitionGraph, state: StateName, other: StateName) -> bool:
    """Whether the two can be active at once: one lies in the other, or they lie in two regions."""
    line, other_line = ((name, *graph.nodes[name].ancestors) for name in (state, other))
    common = next(name for name in line if name in other_line)
    return common in (state, other) or graph.nodes[common].kind is Kind.PARALLEL


def _never_awaited(node: Node, awaited: set[EventName]) -> Iterator[Finding]:
    place = f"state {node.name!r}"
    for event in dict.fromkeys((*(event for event, _ in node.timers), *_raised(node))):
        if not is_taken(event, awaited):
            yield NEVER_AWAITED.at(
                place, f"it raises {event!r}, and no transition waits for that", "add one, or drop it"
            )
    for invoke in node.invokes:
        if not is_taken(f"done.invoke.{invoke.id}", awaited):
            problem = f"no transition waits for 'done.invoke.{invoke.id}'"
            yield RESULT_UNUSED.at(place, problem, "add one, or allow it where the result does not matter")


def _raised(node: Node) -> Iterator[EventName]:
    """What the actions of a state and of its transitions say that they raise."""
    for step in steps_of(node):
        if isinstance(step.function, RaisesEvents):
            yield from step.function.raises
