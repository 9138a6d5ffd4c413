"""Selection of the transitions for an event, in the order of evaluation. Pure.

Source: W3C SCXML, Appendix D, https://www.w3.org/TR/scxml/: `selectTransitions`, `selectEventlessTransitions`; for
event descriptors, section 3.12.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from gatechart.graph.compile import Edge
from gatechart.graph.definition import Precedence
from gatechart.graph.descriptors import EVERY, words_of
from gatechart.graph.graph import AnyGraph
from gatechart.graph.precedence import NOT_ANY, breadth
from gatechart.values.names import EventName, StateName, is_reserved

Configuration: TypeAlias = tuple[StateName, ...]  # the active leaves, in document order
Candidates: TypeAlias = tuple[tuple[Edge, ...], ...]


def candidates(
    graph: AnyGraph, configuration: Configuration, event: EventName | None, *, is_raised: bool = False
) -> Candidates:
    """Return the candidate transitions in groups; `enabled` takes the first of each group whose guard agrees.

    A group has the transitions of an active leaf and its ancestors, innermost first. `Precedence` sets their order in
    one state. With XSTATE and several active leaves, a group has the transitions of one active state for the event.
    event: None for the eventless ones. A state that defers the event goes before the transitions of its ancestors,
    except for events raised within a turn, which no state defers. The result is cached for each configuration and each
    event that the graph names.
    """
    key = (configuration, event, is_raised) if is_raised and graph.has_deferring else (configuration, event)
    remembered: Candidates | None = graph.memo.get(key)
    if remembered is not None:
        return remembered
    deferring = () if is_raised else _deferring(graph, configuration, event)
    hidden = {ancestor for state in deferring for ancestor in graph.nodes[state].ancestors}
    groups = tuple(
        tuple(edge for state in states if state not in hidden for edge in _taking(graph, state, event))
        for states in _asked_together(graph, configuration, event)
    )
    groups = tuple(edges for edges in groups if edges)
    # Other names, which only a wildcard takes, are not cached: callers can send any number of them.
    if event is None or event in graph.named_events or (groups and is_reserved(event)):
        graph.memo[key] = groups
    return groups


def enabled(
    graph: AnyGraph, groups: Candidates, event: EventName | None, first: Callable[[Sequence[Edge]], Edge | None]
) -> tuple[Edge, ...]:
    """Return the enabled transitions among the candidates.

    first: returns the first transition of a group whose guard agrees. With XSTATE, it is not called for a state if a
    transition of a state inside it is enabled.
    """
    chosen: list[Edge] = []
    for edges in groups:
        if not _is_outside(graph, event, edges[0].source, chosen):
            edge = first(edges)
            if edge is not None:
                chosen.append(edge)
    return tuple(chosen)


def without_unasked(graph: AnyGraph, event: EventName | None, edges: Sequence[Edge]) -> tuple[Edge, ...]:
    """Drop the transitions that are not evaluated if the others are enabled. edges: one from each group."""
    return tuple(edge for edge in edges if not _is_outside(graph, event, edge.source, edges))


def defers(graph: AnyGraph, configuration: Configuration, event: EventName) -> bool:
    """Return whether an active state defers the event, unless a transition is enabled."""
    return bool(_deferring(graph, configuration, event))


def passes_over(graph: AnyGraph, configuration: Configuration, event: EventName) -> bool:
    """Return whether mail with the event is deferred regardless of guards: it has no candidate transition."""
    return defers(graph, configuration, event) and not candidates(graph, configuration, event)


def awaited_events(graph: AnyGraph, configuration: Configuration) -> tuple[EventName, ...]:
    """Return the events that have a transition from here, in the order of evaluation. Guards are not evaluated."""
    return tuple(
        dict.fromkeys(edge.event for leaf in configuration for edge in _edges(graph, leaf) if edge.event is not None)
    )


def accepted_events(graph: AnyGraph, configuration: Configuration) -> tuple[EventName, ...]:
    """Return the awaited events that a caller may send, without the framework's own.

    Events whose transitions are all hidden by a deferral are left out: no transition can take them here.
    """
    awaited = map(sendable, awaited_events(graph, configuration))
    return tuple(dict.fromkeys(filter(None, (without_hidden(graph, configuration, name) for name in awaited))))


def without_hidden(graph: AnyGraph, configuration: Configuration, descriptor: EventName) -> EventName:
    """Return an awaited descriptor without the words whose transitions are all hidden by a deferral."""
    if not graph.has_deferring:
        return descriptor
    words = descriptor.split()
    visible = [word for word in words if not passes_over(graph, configuration, word.removesuffix("."))]
    return descriptor if len(visible) == len(words) else " ".join(visible)


def deferred_events(graph: AnyGraph, configuration: Configuration) -> tuple[EventName, ...]:
    """Return the events and patterns that are deferred here unless a guard agrees: one word each, inner states first.

    First come the events that active states defer, then awaited events whose transitions a deferral hides. Events that
    a transition without a guard takes are left out.
    """
    if not graph.has_deferring:
        return ()
    named = (event for state in _active(graph, configuration) for event in graph.nodes[state].defers)
    descriptors = (*named, *map(sendable, awaited_events(graph, configuration)))
    names = dict.fromkeys(word.removesuffix(".") for descriptor in descriptors for word in descriptor.split())
    return tuple(name for name in names if may_defer(graph, configuration, name))


def may_defer(graph: AnyGraph, configuration: Configuration, event: EventName) -> bool:
    """Return whether an active state defers the event, and no transition without a guard takes it first."""
    if not defers(graph, configuration, event):
        return False
    return all(edge.ask is not None for edges in candidates(graph, configuration, event) for edge in edges)


def sendable(descriptor: EventName) -> EventName:
    """Return the descriptor without its reserved words, which callers may not send.

    >>> sendable("done.invoke.scan RETRIED error.*"), sendable("after.5d.WAITING")
    ('RETRIED error.*', '')
    """
    words = descriptor.split()
    return " ".join(word for word in words if not is_reserved(word)) if any(map(is_reserved, words)) else descriptor


def matches(descriptor: EventName | None, event: EventName | None) -> bool:
    """Return whether a descriptor matches an event. None, for no event, matches only None.

    descriptor: names separated by spaces. A name matches itself and every name that it is a prefix of in whole words.
    `*` matches every event, including timers and ends of invokes, except signals and escapes.

    >>> matches("error", "error.tool"), matches("error", "errors"), matches("a b.*", "b.c"), matches("*", "any")
    (True, False, True, True)
    >>> matches("*", "signal.repeats"), matches("signal", "signal.repeats")
    (False, True)
    """
    if descriptor is None or event is None or descriptor == event:
        return descriptor == event
    return any(
        prefix == event or event.startswith(f"{prefix}.") or (prefix == EVERY and not event.startswith(NOT_ANY))
        for prefix in words_of(descriptor)
    )


def _deferring(graph: AnyGraph, configuration: Configuration, event: EventName | None) -> list[StateName]:
    """Return the active states that defer the event. Only agents of the framework defer events that it sends."""
    if event is None or not graph.has_deferring or (is_reserved(event) and not graph.is_framework):
        return []
    active = _active(graph, configuration)
    return [state for state in active if any(matches(descriptor, event) for descriptor in graph.nodes[state].defers)]


def _active(graph: AnyGraph, configuration: Configuration) -> Iterable[StateName]:
    """Return the active states, each once: inner ones before the states around them."""
    return dict.fromkeys(state for leaf in configuration for state in (leaf, *graph.nodes[leaf].ancestors))


def _asked_together(
    graph: AnyGraph, configuration: Configuration, event: EventName | None
) -> Iterator[tuple[StateName, ...]]:
    """Yield the states of each group of candidates, inner ones first.

    XSTATE: source https://github.com/statelyai/xstate, `stateUtils.ts`, `transitionParallelNode`; it chooses eventless
    transitions as SCXML does, in `selectEventlessTransitions`.
    """
    lines = [(leaf, *graph.nodes[leaf].ancestors) for leaf in configuration]
    if event is None or len(lines) == 1 or graph.precedence is not Precedence.XSTATE:
        yield from lines
        return
    last = {state: index for index, line in enumerate(lines) for state in line}  # a state comes after its last region
    for index, line in enumerate(lines):
        yield from ((state,) for state in line if last[state] == index)


def _taking(graph: AnyGraph, state: StateName, event: EventName | None) -> Sequence[Edge]:
    """Return the transitions of a state that take the event, in the order of selection."""
    edges = [edge for edge in graph.nodes[state].edges if _takes(edge, event)]
    if event is None or len(edges) < 2 or graph.precedence is Precedence.DOCUMENT:
        return edges
    return sorted(edges, key=lambda edge: breadth(edge, event))


def _is_outside(graph: AnyGraph, event: EventName | None, state: StateName, edges: Sequence[Edge]) -> bool:
    """Return whether XSTATE skips the state, because one of the transitions leaves a state inside it."""
    if not edges or event is None or graph.precedence is not Precedence.XSTATE:
        return False
    return any(state in graph.nodes[edge.source].ancestors for edge in edges)


def _takes(edge: Edge, event: EventName | None) -> bool:
    return edge.event == event if edge.is_exact else matches(edge.event, event)


def _edges(graph: AnyGraph, leaf: StateName) -> Iterator[Edge]:
    for state in (leaf, *graph.nodes[leaf].ancestors):
        yield from graph.nodes[state].edges
