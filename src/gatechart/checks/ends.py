"""Where an agent would be stuck: states that cannot be left, entry points that lead to no end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gatechart.checks.finding import NO_END, NO_WAY_OUT, Finding
from gatechart.checks.handoffs import handed_over
from gatechart.checks.ways import Way, Ways
from gatechart.graph import Kind, StateTransitionGraph
from gatechart.values import StateName


def stuck_findings(graph: StateTransitionGraph, ways: Ways) -> Iterator[Finding]:
    """GC102. A state is left by its own transitions, those of states around it, and those of other regions.

    A transition that comes straight back is no way out.
    """
    leaving = _leaving(graph, ways)
    leaves = (name for name, node in graph.nodes.items() if node.kind.is_leaf and not _is_in_an_end(graph, name))
    stuck = (name for name in leaves if not _has_way_out(graph, leaving, name))
    for place, problem in dict.fromkeys(told for name in stuck for told in _told(graph, name)):
        yield NO_WAY_OUT.at(place, problem, "let a transition leave it, or make it final")


def _is_in_an_end(graph: StateTransitionGraph, leaf: StateName) -> bool:
    """Whether it is a final state that ends the agent, or has a part in that."""
    node = graph.nodes[leaf]
    return node.kind is Kind.FINAL and any(graph.nodes[name].is_end for name in (leaf, *node.ancestors))


def _told(graph: StateTransitionGraph, leaf: StateName) -> Iterator[tuple[str, str]]:
    node = graph.nodes[leaf]
    if node.kind is Kind.ATOMIC:
        yield f"state {leaf!r}", "no transition leaves it"
    else:
        yield f"state {node.parent!r}", f"no transition leaves it once {leaf!r} has ended it"


def _leaving(graph: StateTransitionGraph, ways: Ways) -> dict[StateName, list[Way]]:
    """For each state the ways that leave whatever is active inside it."""
    leaving: dict[StateName, list[Way]] = {name: [] for name in graph.nodes}
    for source, several in ways.items():
        for way in several:
            if way.domain is not None:
                for state in _wholly_left(graph, source, way.domain):
                    leaving[state].append(way)
    return leaving


def _wholly_left(graph: StateTransitionGraph, source: StateName, domain: StateName) -> tuple[StateName, ...]:
    """The source, and the parallel states between it and the domain, all regions of which are left with it."""
    ancestors = graph.nodes[source].ancestors
    between = () if source == domain else ancestors[: ancestors.index(domain)]
    return source, *(outer for outer in between if graph.nodes[outer].kind is Kind.PARALLEL)


def _has_way_out(graph: StateTransitionGraph, leaving: Mapping[StateName, list[Way]], leaf: StateName) -> bool:
    return any(
        leaf not in way.enters and way.domain != leaf
        for state in (leaf, *graph.nodes[leaf].ancestors)
        for way in leaving[state]
    )


def endless_findings(graph: StateTransitionGraph, found: Mapping[str, frozenset[StateName]]) -> Iterator[Finding]:
    """GC103, where the graph has final states at all. found: what each entry point leads to.

    A state from which the work is given away is an end, too.
    """
    finals = {name for name in graph.nodes if _is_in_an_end(graph, name)}
    for door, states in found.items():
        if finals and finals.isdisjoint(states) and handed_over(graph).isdisjoint(states):
            ends = ", ".join(name for name in graph.nodes if name in finals)
            problem = f"no way leads from here to a final state ({ends})"
            yield NO_END.at(f"entry point {door!r}", problem, "let a transition lead there, or allow it")
