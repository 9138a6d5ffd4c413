"""Where each transition leads, whatever guards say and history states remember."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from gatechart.checks.shadows import shadowed
from gatechart.graph import Edge, Kind, Node, StateTransitionGraph
from gatechart.kernel.entry import entry_of
from gatechart.kernel.tree import Tree
from gatechart.values import StateName


@dataclass(frozen=True, slots=True)
class Way:
    """What taking a transition can lead to."""

    edge: Edge
    domain: StateName | None  # what stays active around all that is left; None where nothing is left
    enters: frozenset[StateName]  # by default; the history states asked on the way among them

    def stays_in(self, state: StateName) -> bool:
        """Whether the state, the transition's source, is active afterwards without having been left."""
        return self.domain is None or self.domain == state


Ways: TypeAlias = Mapping[StateName, tuple[Way, ...]]  # by source


def find_ways(graph: StateTransitionGraph) -> Ways:
    """The ways of all transitions that can be taken at all."""
    return {node.name: _ways(graph, node) for node in graph.nodes.values()}


def entered(graph: StateTransitionGraph, targets: tuple[StateName, ...], domain: StateName) -> frozenset[StateName]:
    """What is entered for the targets within the domain, where no history state remembers anything."""
    stays = frozenset((domain, *graph.nodes[domain].ancestors))
    entry = entry_of(Tree(graph.nodes, ()), [(targets, domain)], stays)
    return frozenset((*entry.states, *entry.unremembered))


def _ways(graph: StateTransitionGraph, node: Node) -> tuple[Way, ...]:
    never = {edge for edge, _ in shadowed(node)}
    return tuple(_way(graph, edge) for edge in node.edges if edge not in never)


def _way(graph: StateTransitionGraph, edge: Edge) -> Way:
    if not edge.targets:
        return Way(edge, None, frozenset())
    domain = outermost_domain(graph, edge)
    return Way(edge, domain, entered(graph, edge.targets, domain))


def outermost_domain(graph: StateTransitionGraph, edge: Edge) -> StateName:
    """The domain of the transition, or a state around it, whatever history states among its targets remember.

    A history state stands for states beside it or further in. So what contains it contains all of them.
    """
    themselves = tuple((name, (name,)) for name in edge.targets if graph.nodes[name].kind is Kind.HISTORY)
    return Tree(graph.nodes, themselves).domain(edge)
