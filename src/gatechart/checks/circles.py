"""Circles of a chart: how an agent comes back to where it was, and the fewest moves in which it can."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from gatechart.checks.analysis import Analysis, Way
from gatechart.graph import ROOT, SIGNAL, AnyGraph, Edge, Handoff, Kind, Node, Step
from gatechart.graph.descriptors import EVERY, prefixes_of, words_of
from gatechart.values import EventName, StateName, may_be_reserved

_FAILED: Final = "error.execution"
_ENDED: Final = "done.state."


@dataclass(frozen=True, slots=True)
class Circle:
    """A way from a leaf back to it."""

    states: tuple[StateName, ...]  # the leaf, then those from which the way goes on
    moves: int  # that it takes at least


@dataclass(frozen=True, slots=True)
class _Step:
    """What taking a transition does."""

    enters: frozenset[StateName]  # and perhaps others in place of some of these
    moves: int  # that it adds at least: 0 if it may be taken within the turn of another transition, else 1
    is_seen: bool  # by detectors, which see no answer to a signal


@dataclass(frozen=True)
class Circles:
    """The circles of a graph in moves, as trails count them: a turn that leads elsewhere is one.

    No agent comes round in fewer moves: guards are assumed to agree, events to come, parallel regions to be anywhere,
    and history states to remember anything. What may follow within a turn counts as no move.

    avoiding: states whose entry is progress, with which detectors forget what they saw.
    """

    analysis: Analysis
    avoiding: Set[StateName] = frozenset()

    def shortest(self, leaves: Iterable[StateName]) -> Circle | None:
        """Return the shortest circle through one of some leaves; None if no way leads back to any."""
        found: Circle | None = None
        for leaf in leaves:
            if found is None or found.moves > 1:
                found = self.back_to(leaf, None if found is None else found.moves - 1) or found
        return found

    def back_to(self, leaf: StateName, most: int | None = None) -> Circle | None:
        """Return the shortest circle through a leaf; None if there is none of so many moves."""
        beside = tuple(self._together(leaf))
        came_from = dict.fromkeys(beside, leaf)
        ahead, moves = [*beside], 0
        while ahead and (most is None or moves <= most):
            last, later = self._within_moves(leaf, came_from, ahead)
            if last is not None:
                state, more = last
                total = max(moves + more, 1)
                if most is not None and total > most:
                    return None
                return Circle((leaf, *_passed(state, came_from, beside)), total)
            came_from.update(later)
            ahead, moves = [*later], moves + 1
        return None

    def _within_moves(
        self, leaf: StateName, came_from: dict[StateName, StateName], ahead: list[StateName]
    ) -> tuple[tuple[StateName, int] | None, dict[StateName, StateName]]:
        """Follow what no further move is needed for. Return whence the leaf is entered, and what a move leads to.

        The first is the state with the moves that are still needed, or None; what is found is added to came_from.
        """
        last: tuple[StateName, int] | None = None
        later: dict[StateName, StateName] = {}
        while ahead:
            state = ahead.pop()
            for step in self._steps[state]:
                if leaf in step.enters and step.is_seen and (last is None or step.moves < last[1]):
                    last = state, step.moves
                new = {each: state for each in step.enters if each not in came_from}
                if step.moves:
                    later |= new
                else:
                    came_from |= new
                    ahead += new
        return last, {each: state for each, state in later.items() if each not in came_from}

    @cached_property
    def _steps(self) -> Mapping[StateName, Sequence[_Step]]:
        """What may be done from each state, save for what makes progress or leads an agent to where it is."""
        steps: dict[StateName, list[_Step]] = {name: [] for name in self.analysis.graph.nodes}
        within = _Within.of(self.analysis.graph)
        for way in (way for ways in self.analysis.ways.values() for way in ways):
            is_within = within.may_take(way.edge)
            # nobody sees the progress that an answer to a signal makes, nor that of what follows from it
            is_unseen = is_within and within.answers
            is_open = is_unseen or self.analysis.may_avoid(self.avoiding, way.enters)
            if is_open and not within.is_harmless(way):
                step = _Step(self._recalled(way.enters), 0 if is_within else 1, not _is_answer(way.edge))
                for state in within.before(way.edge):
                    steps[state].append(step)
        return steps

    def _recalled(self, enters: frozenset[StateName]) -> frozenset[StateName]:
        """Return what is entered, with all that its history states may remember."""
        nodes = self.analysis.graph.nodes
        parents = {nodes[each].parent for each in enters if nodes[each].kind is Kind.HISTORY}
        return enters.union(*(self._inside[parent] for parent in parents))

    def _together(self, leaf: StateName) -> Iterator[StateName]:
        """Yield the states that may be active together with a leaf, the leaf first."""
        nodes, within = self.analysis.graph.nodes, leaf
        yield leaf
        for outer in nodes[leaf].ancestors:
            yield outer
            for region in nodes[outer].children if nodes[outer].kind is Kind.PARALLEL else ():
                if region != within:
                    yield region
                    yield from self._inside[region]
            within = outer

    @cached_property
    def _inside(self) -> Mapping[StateName, frozenset[StateName]]:
        """The states inside each state, at any depth."""
        nodes = self.analysis.graph.nodes
        inside: dict[StateName, set[StateName]] = {name: set() for name in nodes}
        for name, node in nodes.items():
            for outer in node.ancestors:
                inside[outer].add(name)
        return {name: frozenset(states) for name, states in inside.items()}


@dataclass(frozen=True, slots=True)
class _Within:
    """Which events a graph's turns may raise, and which it is sent by itself."""

    raised: frozenset[EventName]  # descriptors of events that a turn may raise, save for those of a single state's end
    ended: Mapping[EventName, tuple[StateName, ...]]  # the final states in a compound one, by the event for its end
    is_any: bool  # whether an action may raise any event, or have one sent
    answers: bool  # whether a transition answers a signal

    @classmethod
    def of(cls, graph: AnyGraph) -> _Within:
        nodes = graph.nodes.values()
        edges = [edge for node in nodes for edge in node.edges]
        steps = [
            *(step for node in nodes for step in _steps_of(node)),
            *(step for edge in edges for step in edge.steps),
        ]
        ends = [f"{_ENDED}{node.name}" for node in nodes if not node.kind.is_leaf and node.name != ROOT]
        raised = [*(prefixes_of(_ENDED.removesuffix(".")) if ends else ())]
        raised += prefixes_of(_FAILED) if steps or any(edge.ask for edge in edges) else ()
        is_any = any(step.takes_turn and not isinstance(step.function, Handoff) for step in steps)
        return cls(frozenset(raised), {} if is_any else _ended(graph, ends), is_any, any(map(_may_answer, edges)))

    def before(self, edge: Edge) -> tuple[StateName, ...]:
        """Return the states of which one is active when the transition is taken: its source, or what ends a state."""
        return self.ended.get(edge.event or "", (edge.source,))

    def may_take(self, edge: Edge) -> bool:
        """Whether the transition may be taken within the turn of another one."""
        if edge.event is None or self.is_any or _may_answer(edge):
            return True
        return any(word in self.raised or word.startswith(_ENDED) for word in words_of(edge.event))

    def is_harmless(self, way: Way) -> bool:
        """Whether it leads a leaf to itself alone, by nothing that the agent does: such turns are no moves."""
        edge = way.edge
        if way.enters != {edge.source}:  # a region that is a leaf is entered again with all regions beside it
            return False
        is_own = edge.event is None or self.is_any or edge.is_exact
        return not is_own and not any(word == EVERY or may_be_reserved(word) for word in words_of(edge.event or ""))


def _ended(graph: AnyGraph, ends: Sequence[EventName]) -> Mapping[EventName, tuple[StateName, ...]]:
    """Return the final states in each compound one, by the event for its end, save where that takes others' events."""
    compound = (node for node in graph.nodes.values() if node.kind is Kind.COMPOUND)
    finals = {
        f"{_ENDED}{node.name}": tuple(child for child in node.children if graph.nodes[child].kind is Kind.FINAL)
        for node in compound
    }
    return {event: states for event, states in finals.items() if not any(each.startswith(f"{event}.") for each in ends)}


def _steps_of(node: Node) -> Iterator[Step]:
    yield from (*node.on_entry, *node.on_exit)
    if node.data is not None:
        yield node.data
    if node.default is not None:
        yield from node.default.steps


def _is_answer(edge: Edge) -> bool:
    """Whether nothing but a signal takes the transition."""
    return edge.event is not None and all(map(_is_signal, words_of(edge.event)))


def _may_answer(edge: Edge) -> bool:
    return edge.event is not None and any(map(_is_signal, words_of(edge.event)))


def _is_signal(word: str) -> bool:
    return f"{word}.".startswith(SIGNAL)


def _passed(
    last: StateName, came_from: Mapping[StateName, StateName], beside: Collection[StateName]
) -> tuple[StateName, ...]:
    """Return the states from which the way went on, oldest first, up to the last one; those at its beginning apart."""
    passed = []
    while last not in beside:
        passed.append(last)
        last = came_from[last]
    return tuple(reversed(passed))
