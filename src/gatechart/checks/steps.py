"""The actions of a graph, wherever they stand."""

from __future__ import annotations

from collections.abc import Iterator

from gatechart.graph import Node, Step


def steps_of(node: Node) -> Iterator[Step]:
    """Every action that belongs to a state."""
    yield from (*node.on_entry, *node.on_exit)
    if node.default:
        yield from node.default.steps
    for edge in node.edges:
        yield from edge.steps
