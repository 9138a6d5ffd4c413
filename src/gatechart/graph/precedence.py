"""The order of a state's transitions for an event, and the part of it that a graph's fingerprint covers. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final, TypeAlias

from gatechart.graph.compile import Edge, Kind, Node
from gatechart.graph.definition import Precedence
from gatechart.graph.descriptors import EVERY, prefixes_of, words_of
from gatechart.graph.signals import SIGNAL
from gatechart.values.escapes import ESCAPE
from gatechart.values.names import EventName, StateName

NOT_ANY: Final = (SIGNAL, ESCAPE)
"""Prefixes of the events that `*` does not take."""

Breadth: TypeAlias = tuple[bool, bool, int, bool]


def breadth(edge: Edge, event: EventName) -> Breadth:
    """Return the sort key of a transition that takes the event: the most specific transition is first, `*` last.

    The event's own name comes before a pattern such as `GO.*`, which takes `GO` as well, and a longer prefix before a
    shorter one.
    """
    if edge.is_exact or edge.event is None:
        return (False, edge.is_fallback, -len(event), False)
    longest = max((len(word) for word in words_of(edge.event) if f"{event}.".startswith(f"{word}.")), default=0)
    return (longest == 0, edge.is_fallback, -longest, event not in edge.event.split())


def order_structure(precedence: Precedence, nodes: Mapping[StateName, Node]) -> Iterator[str]:
    """Yield a mark for every rule of the precedence that changes which transitions of the graph are taken.

    Graphs in document order have no marks, and neither have graphs that the rules do not affect.
    """
    if precedence is not Precedence.DOCUMENT and any(_is_reordered(node, precedence) for node in nodes.values()):
        yield "specific first"
    if precedence is Precedence.XSTATE and _has_rivals_around_regions(nodes):
        yield "regions first"


def event_words(edge: Edge) -> tuple[EventName, ...]:
    """Return the words of a transition's descriptor; none for an eventless one."""
    if edge.event is None:
        return ()
    return (edge.event,) if edge.is_exact else words_of(edge.event)


def broader(word: EventName) -> Iterator[EventName]:
    """Yield the words that take every event that this word takes, itself included, longest first.

    >>> list(broader("error.tool")), list(broader("signal.repeats"))
    (['error.tool', 'error', '*'], ['signal.repeats', 'signal'])
    """
    is_any = not f"{word}.".startswith(NOT_ANY)
    return (prefix for prefix in prefixes_of(word) if is_any or prefix != EVERY)


def _is_reordered(node: Node, precedence: Precedence) -> bool:
    """Return whether a transition is tried before one that is written earlier.

    With XSTATE, a name without a wildcard takes no longer names, so their order does not matter.
    """
    earlier: set[EventName] = set()  # words; and patterns as they are spelled
    for edge in node.edges:
        words = event_words(edge)
        if any(other in earlier for word in words for other in (*broader(word), f"{word}.*") if other != word):
            return True
        spelled = edge.event.split() if edge.event and not edge.is_exact else ()
        plain = {*spelled}.intersection(words) - {EVERY} if precedence is Precedence.XSTATE else ()
        earlier.update({*spelled, *words}.difference(plain))
    return False


def _has_rivals_around_regions(nodes: Mapping[StateName, Node]) -> bool:
    """Return whether a state in a region and its parallel state, or an ancestor of that, wait for the same event."""
    around: dict[StateName, tuple[set[EventName], set[EventName]]] = {}
    for node in nodes.values():
        parallel = next((state for state in node.ancestors if nodes[state].kind is Kind.PARALLEL), None)
        if parallel is None:
            continue
        if parallel not in around:
            around[parallel] = _words_around(nodes, parallel)
        if any(_meets(word, *around[parallel]) for edge in node.edges for word in event_words(edge)):
            return True
    return False


def _words_around(nodes: Mapping[StateName, Node], parallel: StateName) -> tuple[set[EventName], set[EventName]]:
    """Return the words awaited by a parallel state and its ancestors, and all broader words."""
    states = (parallel, *nodes[parallel].ancestors)
    words = {word for state in states for edge in nodes[state].edges for word in event_words(edge)}
    return words, {other for word in words for other in broader(word)}


def _meets(word: EventName, words: Collection[EventName], broad: Collection[EventName]) -> bool:
    return word in broad or any(other in words for other in broader(word))
