"""The states to enter for some targets. Pure.

Source: W3C SCXML, Appendix D, https://www.w3.org/TR/scxml/: `computeEntrySet`, `addDescendantStatesToEnter`,
`addAncestorStatesToEnter`.
"""

from __future__ import annotations

from collections.abc import Iterable

from gatechart.graph.compile import Kind
from gatechart.kernel.tree import Tree
from gatechart.values.frozen import value
from gatechart.values.names import StateName


@value
class Entry:
    """The states to enter, and which of them are entered by default."""

    states: tuple[StateName, ...]  # in document order: outer states first
    by_default: frozenset[StateName]  # compound states entered through their initial states
    unremembered: tuple[StateName, ...]  # history states without memory, entered through their defaults


def entry_of(tree: Tree, aims: Iterable[tuple[tuple[StateName, ...], StateName]], stays: frozenset[StateName]) -> Entry:
    """Return the states to enter. aims: groups of targets, each with its domain, which stays active.

    stays: the active states that are not exited, including the root. None of these is entered: a history state may
    represent states far inside its parent, and may be the target of transitions that stay inside the parent.
    """
    entering = _Entering(tree, stays)
    aims = tuple(aims)
    for targets, _ in aims:
        for target in targets:
            entering.add_with_descendants(target)
    for targets, domain in aims:
        for target in targets:
            for state in tree.stands_for(target):
                entering.add_ancestors(state, domain)
    for _, domain in aims:
        entering.complete_regions(domain)
    return Entry(
        states=tuple(sorted(entering.states, key=tree.order_of)),
        by_default=frozenset(entering.by_default),
        unremembered=tuple(entering.unremembered),
    )


class _Entering:
    """Collects the states to enter."""

    def __init__(self, tree: Tree, stays: frozenset[StateName]) -> None:
        self.tree = tree
        self.stays = stays
        self.states: set[StateName] = set()
        self.by_default: set[StateName] = set()
        self.unremembered: dict[StateName, None] = {}  # in the order reached

    def add_with_descendants(self, state: StateName) -> None:
        """Add the state and its initial descendants."""
        node = self.tree.nodes[state]
        if node.kind is Kind.HISTORY:
            self._recall(state)
            return
        if state not in self.stays:  # an internal transition to its own source stays active and re-enters the inside
            self.states.add(state)
        if node.kind is Kind.COMPOUND and node.default:
            self.by_default.add(state)
            self._enter(node.default.targets, below=state)
        self.complete_regions(state)

    def add_ancestors(self, state: StateName, below: StateName) -> None:
        """Add the ancestors of the state up to the domain or an active state; none if it is the domain itself."""
        for ancestor in self.tree.nodes[state].ancestors:
            if below in (state, ancestor) or ancestor in self.stays:
                return
            self.states.add(ancestor)
            self.complete_regions(ancestor)

    def complete_regions(self, state: StateName) -> None:
        """Add the regions of a parallel state that have no state active or to be entered yet."""
        node = self.tree.nodes[state]
        if node.kind is Kind.PARALLEL:
            for child in node.children:
                active = self.states | self.stays
                if not any(other == child or self.tree.is_inside(other, child) for other in active):
                    self.add_with_descendants(child)

    def _recall(self, history: StateName) -> None:
        node = self.tree.nodes[history]
        remembered = self.tree.remembered(history)
        if not remembered:
            self.unremembered[history] = None
        self._enter(remembered or (node.default.targets if node.default else ()), below=node.parent)

    def _enter(self, targets: tuple[StateName, ...], below: StateName) -> None:
        for target in targets:
            self.add_with_descendants(target)
        for target in targets:
            for state in self.tree.stands_for(target):
                self.add_ancestors(state, below)
