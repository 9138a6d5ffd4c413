"""Transitions that can never be taken, since an earlier one on the same events has no guard."""

from __future__ import annotations

from collections.abc import Iterator

from gatechart.checks.descriptors import prefixes_of, words_of
from gatechart.checks.finding import SHADOWED, Finding
from gatechart.graph import Edge, Node, StateTransitionGraph
from gatechart.values import EventName


def shadowed(node: Node) -> Iterator[tuple[Edge, Edge]]:
    """Each transition of the state that is never taken, with one that always forestalls it.

    A transition of an outer state for the same event is not shadowed: it serves the other states inside. Cost: linear.
    """
    always: dict[EventName, Edge] = {}  # "" for the lack of an event
    for edge in node.edges:
        words = ("",) if edge.event is None else words_of(edge.event)
        before = [_first(always, word) for word in words]
        if before[0] is not None and all(before):
            yield edge, before[0]
        elif edge.ask is None:
            always.update((word, edge) for word in words)


def _first(always: dict[EventName, Edge], word: EventName) -> Edge | None:
    names = prefixes_of(word) if word else ("",)
    return next((always[name] for name in names if name in always), None)


def shadow_findings(graph: StateTransitionGraph) -> Iterator[Finding]:
    """GC201."""
    for node in graph.nodes.values():
        for edge, before in shadowed(node):
            problem = f"it is never taken, since {before.label!r} is asked first and has no guard"
            yield SHADOWED.at(
                f"transition {edge.label!r}", problem, "guard the earlier one, reorder them, or drop this"
            )
