"""Find the states of a graph where a model speaks."""

from __future__ import annotations

from gatechart.graph.callables import unwrapped
from gatechart.graph.graph import AnyGraph
from gatechart.values.names import StateName


def states_with_talk(graph: AnyGraph) -> frozenset[StateName]:
    """Return the states whose invokes keep a conversation with a model in a journal of the agent."""
    invokes = ((node.name, invoke) for node in graph.nodes.values() for invoke in node.invokes)
    return frozenset(state for state, invoke in invokes if getattr(unwrapped(invoke.function), "journal", ""))
