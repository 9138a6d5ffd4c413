"""States in which models speak, whose conversations outlive the entries of these states."""

from __future__ import annotations

from gatechart.graph.callables import unwrapped
from gatechart.graph.graph import AnyGraph
from gatechart.values.names import StateName


def states_with_talk(graph: AnyGraph) -> frozenset[StateName]:
    """Return the states in which a model speaks whose conversation the agent keeps in a journal."""
    invokes = ((node.name, each) for node in graph.nodes.values() for each in node.invokes)
    return frozenset(name for name, each in invokes if getattr(unwrapped(each.function), "journal", ""))
