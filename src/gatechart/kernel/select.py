"""Which transitions an event could take, in the order in which they are asked. Pure.

Source: W3C SCXML, Appendix D, https://www.w3.org/TR/scxml/: `selectTransitions`, `selectEventlessTransitions`; for
event descriptors, section 3.12.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from gatechart.graph import SIGNAL, AnyGraph, Edge
from gatechart.values import ESCAPE, EventName, StateName, is_reserved

Configuration: TypeAlias = tuple[StateName, ...]  # the active leaves, in document order
Candidates: TypeAlias = tuple[tuple[Edge, ...], ...]

_NOT_ANY: Final = (SIGNAL, ESCAPE)  # prefixes of events that `*` does not take


def candidates(
    graph: AnyGraph, configuration: Configuration, event: EventName | None, *, is_raised: bool = False
) -> Candidates:
    """Return the transitions to ask: for each active leaf its own, then its ancestors', each in document order.

    The first of each leaf whose guard agrees is enabled. event: None for the eventless ones. A state that defers the
    event goes before the transitions of its ancestors, except for events raised within a turn, which nothing defers.
    Worked out once for a configuration and an event that the graph names, then remembered.
    """
    key = (configuration, event, is_raised) if is_raised and graph.has_deferring else (configuration, event)
    remembered: Candidates | None = graph.memo.get(key)
    if remembered is not None:
        return remembered
    deferring = () if is_raised else _deferring(graph, configuration, event)
    hidden = {ancestor for state in deferring for ancestor in graph.nodes[state].ancestors}
    found = tuple(
        tuple(edge for edge in _edges(graph, leaf) if _takes(edge, event) and edge.source not in hidden)
        for leaf in configuration
    )
    found = tuple(edges for edges in found if edges)
    if event is None or event in graph.named_events or (found and is_reserved(event)):
        graph.memo[key] = found  # other names, which only a wildcard takes, come from outside in any number
    return found


def defers(graph: AnyGraph, configuration: Configuration, event: EventName) -> bool:
    """Tell whether an active state defers the event, unless a transition is enabled."""
    return bool(_deferring(graph, configuration, event))


def passes_over(graph: AnyGraph, configuration: Configuration, event: EventName) -> bool:
    """Tell whether mail with the event is deferred whatever guards say: no transition for it is to be asked."""
    return defers(graph, configuration, event) and not candidates(graph, configuration, event)


def awaited_events(graph: AnyGraph, configuration: Configuration) -> tuple[EventName, ...]:
    """Return the events that have a transition from here, guards not asked, in the order they would be asked."""
    return tuple(
        dict.fromkeys(edge.event for leaf in configuration for edge in _edges(graph, leaf) if edge.event is not None)
    )


def accepted_events(graph: AnyGraph, configuration: Configuration) -> tuple[EventName, ...]:
    """Return those of the awaited events that a caller may send: without the framework's own."""
    names = map(sendable, awaited_events(graph, configuration))
    return tuple(dict.fromkeys(name for name in names if name))


def sendable(descriptor: EventName) -> EventName:
    """Return the descriptor without its reserved words: what a caller may send of it.

    >>> sendable("done.invoke.scan RETRIED error.*"), sendable("after.5d.WAITING")
    ('RETRIED error.*', '')
    """
    words = descriptor.split()
    return " ".join(word for word in words if not is_reserved(word)) if any(map(is_reserved, words)) else descriptor


def matches(descriptor: EventName | None, event: EventName | None) -> bool:
    """Whether a transition for these events takes this one. None stands for no event.

    descriptor: names with spaces between them; a name takes itself and all that it is a prefix of in whole words.
    `*` takes every event but signals and escapes: whoever handles everything has not thought of those.

    >>> matches("error", "error.tool"), matches("error", "errors"), matches("a b.*", "b.c"), matches("*", "any")
    (True, False, True, True)
    >>> matches("*", "signal.repeats"), matches("signal", "signal.repeats")
    (False, True)
    """
    if descriptor is None or event is None or descriptor == event:
        return descriptor == event
    return any(
        prefix == event or event.startswith(f"{prefix}.") or (prefix == "*" and not event.startswith(_NOT_ANY))
        for prefix in (word.removesuffix(".*").removesuffix(".") for word in descriptor.split())
    )


def _deferring(graph: AnyGraph, configuration: Configuration, event: EventName | None) -> list[StateName]:
    """Return the active states that defer the event. Only its own agents defer events that the framework sends."""
    if event is None or not graph.has_deferring or (is_reserved(event) and not graph.is_framework):
        return []
    nodes = graph.nodes
    active = dict.fromkeys(state for leaf in configuration for state in (leaf, *nodes[leaf].ancestors))
    return [state for state in active if any(matches(each, event) for each in nodes[state].defers)]


def _takes(edge: Edge, event: EventName | None) -> bool:
    return edge.event == event if edge.is_exact else matches(edge.event, event)


def _edges(graph: AnyGraph, leaf: StateName) -> Iterator[Edge]:
    for state in (leaf, *graph.nodes[leaf].ancestors):
        yield from graph.nodes[state].edges
