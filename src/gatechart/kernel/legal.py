"""Whether an agent can be where it is said to be. Pure.

Source: W3C SCXML, https://www.w3.org/TR/scxml/, section 3.11: legal state configurations.
"""

from __future__ import annotations

from collections.abc import Iterable

from gatechart.graph import ROOT, Kind, Node, StateTransitionGraph
from gatechart.values import Memory, StateName


def misfit(graph: StateTransitionGraph, leaves: Iterable[StateName], memory: Memory = ()) -> str | None:
    """What keeps these states from being the active leaves of the graph; None where nothing does.

    memory: what history states remember, which must be there, too.
    """
    leaves = tuple(leaves)
    for leaf in leaves:
        if leaf not in graph.nodes or not graph.nodes[leaf].kind.is_leaf:
            return f"{leaf!r} is no leaf of version {graph.version!r}"
    active = {state for leaf in leaves for state in (leaf, *graph.nodes[leaf].ancestors)} | {ROOT}
    for state in active:
        problem = _misfit_below(graph, graph.nodes[state], active)
        if problem:
            return problem
    return next(filter(None, (_misfit_in_memory(graph, history, states) for history, states in memory)), None)


def path_of(graph: StateTransitionGraph, state: StateName) -> str:
    """The state with all that it lies in, outermost first.

    >>> from gatechart.graph import State
    >>> lamp = StateTransitionGraph("lamp", states=[State("ON", states=["DIM", "BRIGHT"])], entry_points=["ON"])
    >>> path_of(lamp, "DIM")
    'ON.DIM'
    """
    outer = [name for name in reversed(graph.nodes[state].ancestors) if name != ROOT]
    return ".".join((*outer, state))


def _misfit_below(graph: StateTransitionGraph, node: Node, active: set[StateName]) -> str | None:
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


def _misfit_in_memory(graph: StateTransitionGraph, history: StateName, states: Iterable[StateName]) -> str | None:
    if history not in graph.nodes or graph.nodes[history].kind is not Kind.HISTORY:
        return f"{history!r}, which remembers, is no history state of version {graph.version!r}"
    missing = [state for state in states if state not in graph.nodes]
    return f"{missing[0]!r}, which {history!r} remembers, is no state of version {graph.version!r}" if missing else None
