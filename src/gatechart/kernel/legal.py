"""Checks that a configuration is legal in a graph. Pure.

Source: W3C SCXML, https://www.w3.org/TR/scxml/, section 3.11: legal state configurations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from gatechart.graph.compile import ROOT, Kind, Node
from gatechart.graph.graph import AnyGraph
from gatechart.kernel.entry import entry_of
from gatechart.kernel.tree import Tree
from gatechart.values.names import Memory, StateName


def misfit(graph: AnyGraph, leaves: Iterable[StateName], memory: Memory = ()) -> str | None:
    """Return why these states cannot be the active leaves of the graph; None if they can.

    memory: the states remembered by history states. Entering them must lead to a legal configuration, too.
    """
    leaves = tuple(leaves)
    for leaf in leaves:
        if leaf not in graph.nodes or not graph.nodes[leaf].kind.is_leaf:
            return f"{leaf!r} is not a leaf of version {graph.version!r}"
    active = {state for leaf in leaves for state in (leaf, *graph.nodes[leaf].ancestors)} | {ROOT}
    problem = _misfit_among(graph, active)
    return problem or next(
        filter(None, (_misfit_in_memory(graph, history, states) for history, states in memory)), None
    )


def path_of(graph: AnyGraph, state: StateName) -> str:
    """Return the state with all its ancestors, outermost first.

    >>> from gatechart import State, StateTransitionGraph
    >>> lamp = StateTransitionGraph("lamp", states=[State("ON", states=["DIM", "BRIGHT"])], entry_points=["ON"])
    >>> path_of(lamp, "DIM")
    'ON.DIM'
    """
    outer = [name for name in reversed(graph.nodes[state].ancestors) if name != ROOT]
    return ".".join((*outer, state))


def _misfit_among(graph: AnyGraph, active: Collection[StateName]) -> str | None:
    return next(filter(None, (_misfit_below(graph, graph.nodes[state], active) for state in active)), None)


def _misfit_below(graph: AnyGraph, node: Node, active: Collection[StateName]) -> str | None:
    children = [child for child in node.children if graph.nodes[child].kind is not Kind.HISTORY]
    inside = [child for child in children if child in active]
    if node.kind is Kind.PARALLEL and len(inside) < len(children):
        missing = next(child for child in children if child not in active)
        return f"no state is active in {path_of(graph, missing)!r}, a region of version {graph.version!r}"
    if node.kind is Kind.COMPOUND and len(inside) != 1:
        where = "the graph" if node.name == ROOT else repr(path_of(graph, node.name))
        if not inside:
            return f"no state would be active in {where}; one of {', '.join(map(repr, children))} must be"
        return f"{' and '.join(map(repr, inside))} would be active in {where} at once"
    return None


def _misfit_in_memory(graph: AnyGraph, history: StateName, states: tuple[StateName, ...]) -> str | None:
    nodes, version = graph.nodes, f"version {graph.version!r}"
    if history not in nodes or nodes[history].kind is not Kind.HISTORY:
        return f"{history!r}, which remembers, is not a history state of {version}"
    outer = nodes[history].parent
    for state in states:
        remembered = f"{state!r}, which {history!r} remembers,"
        if state not in nodes:
            return f"{remembered} is not a state of {version}"
        if nodes[state].kind is Kind.HISTORY:
            return f"{remembered} is a history state of {version}"
        if outer not in nodes[state].ancestors:
            return f"{remembered} is not inside {path_of(graph, outer)!r}"
    entry = entry_of(Tree(nodes, ((history, states),)), [((history,), ROOT)], frozenset({ROOT}))
    problem = _misfit_among(graph, sorted((ROOT, *entry.states), key=lambda state: nodes[state].order))
    return problem and f"{problem}, as {history!r} remembers it"
