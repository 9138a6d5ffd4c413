"""Queries on the tree of states and the memory of its history states. Pure.

Source: W3C SCXML, Appendix D, https://www.w3.org/TR/scxml/: `getTransitionDomain`, `findLCCA`, `isInFinalState`,
`getEffectiveTargetStates`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gatechart.graph.compile import ROOT, Edge, Kind, Node
from gatechart.values.frozen import value
from gatechart.values.names import Memory, StateName


@value
class Tree:
    """The nodes of a graph together with the memory of its history states."""

    nodes: Mapping[StateName, Node]
    memory: Memory

    def order_of(self, state: StateName) -> int:
        """Return the position of the state in the document."""
        return self.nodes[state].order

    def is_inside(self, state: StateName, outer: StateName) -> bool:
        """Whether the state is a proper descendant of the outer one."""
        return outer in self.nodes[state].ancestors

    def with_ancestors(self, states: Iterable[StateName]) -> frozenset[StateName]:
        """Return the states and all their ancestors."""
        return frozenset(related for state in states for related in (state, *self.nodes[state].ancestors))

    def remembered(self, history: StateName) -> tuple[StateName, ...]:
        """Return the states that a history state remembers; none if its parent was never left."""
        return dict(self.memory).get(history, ())

    def stands_for(self, target: StateName) -> tuple[StateName, ...]:
        """Return the effective targets: the target itself, or a history state's remembered states or defaults."""
        node = self.nodes[target]
        if node.kind is not Kind.HISTORY:
            return (target,)
        defaults = node.default.targets if node.default else ()
        return self.remembered(target) or tuple(default for state in defaults for default in self.stands_for(state))

    def domain(self, edge: Edge) -> StateName:
        """Return the innermost state that stays active when the transition is taken; all states inside it are exited.

        edge: a transition with targets.
        """
        source = edge.source
        if edge.internal and all(target == source or self._lies_inside(target, source) for target in edge.targets):
            return source
        targets = [state for target in edge.targets for state in self.stands_for(target)]
        return next(
            outer
            for outer in (*self.nodes[source].ancestors, source)  # the root, which has no ancestors, is its own domain
            if self.nodes[outer].kind is Kind.COMPOUND and all(self.is_inside(state, outer) for state in targets)
        )

    def _lies_inside(self, target: StateName, outer: StateName) -> bool:
        return all(self.is_inside(state, outer) for state in self.stands_for(target))

    def is_done(self, state: StateName, active: frozenset[StateName]) -> bool:
        """Whether the state has ended: a final child is active, or all its regions have ended if it is parallel."""
        node = self.nodes[state]
        if node.kind is Kind.PARALLEL:
            return all(self.is_done(child, active) for child in node.children)
        return any(child in active and self.nodes[child].kind is Kind.FINAL for child in node.children)

    def end_among(self, active: frozenset[StateName]) -> StateName | None:
        """Return the active top-level state whose end ends the agent; None if there is none."""
        ends = (child for child in self.nodes[ROOT].children if child in active and self.nodes[child].is_end)
        return next((end for end in ends if self.nodes[end].kind.is_leaf or self.is_done(end, active)), None)

    def leaves_inside(self, state: StateName, active: Iterable[StateName]) -> set[StateName]:
        """Return the active leaves below the state."""
        return {
            candidate for candidate in active if self.nodes[candidate].kind.is_leaf and self.is_inside(candidate, state)
        }

    def children_active(self, state: StateName, active: Iterable[StateName]) -> set[StateName]:
        """Return the active children of the state."""
        return {candidate for candidate in active if candidate in self.nodes[state].children}
