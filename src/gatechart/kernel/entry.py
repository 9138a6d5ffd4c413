"""What is entered on the way to some targets. Pure.

Source: W3C SCXML, Appendix D, https://www.w3.org/TR/scxml/: `computeEntrySet`, `addDescendantStatesToEnter`,
`addAncestorStatesToEnter`.
"""

from __future__ import annotations

from collections.abc import Iterable

from gatechart.graph import Kind
from gatechart.kernel.tree import Tree
from gatechart.values import StateName
from gatechart.values.frozen import value


@value
class Entry:
    """The states to enter, and how they came to be entered."""

    states: tuple[StateName, ...]  # in document order: outer states first
    by_default: frozenset[StateName]  # compound states that begin in their initial states
    unremembered: tuple[StateName, ...]  # history states that were entered by their defaults


def entry_of(tree: Tree, aims: Iterable[tuple[tuple[StateName, ...], StateName]], stays: frozenset[StateName]) -> Entry:
    """Return what is entered for the targets of each aim, within the domain that stays active.

    stays: the states that are active and not exited, the root among them. None of these is entered: a history state
    stands for states far inside its parent, and may be a target of transitions that stay inside the parent themselves.
    """
    entering = _Entering(tree, stays)
    aims = tuple(aims)
    for targets, _ in aims:
        for target in targets:
            entering.go_down(target)
    for targets, domain in aims:
        for target in targets:
            for state in tree.stands_for(target):
                entering.go_up(state, domain)
    for _, domain in aims:
        entering.complete(domain)
    return Entry(
        states=tuple(sorted(entering.states, key=tree.order_of)),
        by_default=frozenset(entering.by_default),
        unremembered=tuple(entering.unremembered),
    )


class _Entering:
    """The states to enter, while they are collected."""

    def __init__(self, tree: Tree, stays: frozenset[StateName]) -> None:
        self.tree = tree
        self.stays = stays
        self.states: set[StateName] = set()
        self.by_default: set[StateName] = set()
        self.unremembered: dict[StateName, None] = {}  # in the order in which they are met

    def go_down(self, state: StateName) -> None:
        """Add the state and the descendants that it begins with."""
        node = self.tree.nodes[state]
        if node.kind is Kind.HISTORY:
            self._recall(state)
            return
        if state not in self.stays:  # an internal transition to its own source stays there, and begins anew inside
            self.states.add(state)
        if node.kind is Kind.COMPOUND and node.default:
            self.by_default.add(state)
            self._enter(node.default.targets, below=state)
        self.complete(state)

    def go_up(self, state: StateName, below: StateName) -> None:
        """Add the ancestors of the state, up to one that stays or is added otherwise; none if it is that itself."""
        for ancestor in self.tree.nodes[state].ancestors:
            if below in (state, ancestor) or ancestor in self.stays:
                return
            self.states.add(ancestor)
            self.complete(ancestor)

    def complete(self, state: StateName) -> None:
        """Add those regions of a parallel state in which nothing is active or to be entered yet."""
        node = self.tree.nodes[state]
        if node.kind is Kind.PARALLEL:
            for child in node.children:
                taken = self.states | self.stays
                if not any(each == child or self.tree.is_inside(each, child) for each in taken):
                    self.go_down(child)

    def _recall(self, history: StateName) -> None:
        node = self.tree.nodes[history]
        remembered = self.tree.remembered(history)
        if not remembered:
            self.unremembered[history] = None
        self._enter(remembered or (node.default.targets if node.default else ()), below=node.parent)

    def _enter(self, targets: tuple[StateName, ...], below: StateName) -> None:
        for target in targets:
            self.go_down(target)
        for target in targets:
            for state in self.tree.stands_for(target):
                self.go_up(state, below)
