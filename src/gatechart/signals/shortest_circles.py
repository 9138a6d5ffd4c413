"""Circles of a chart: paths that lead an agent back to a state, and their minimum number of moves."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from gatechart.graph.callables import ActionCall
from gatechart.graph.compile import ROOT, Edge, Kind, Node
from gatechart.graph.descriptors import EVERY, prefixes_of, words_of
from gatechart.graph.graph import AnyGraph
from gatechart.graph.handoff import Handoff
from gatechart.graph.signals import SIGNAL
from gatechart.rules.analysis import Analysis, TransitionPath
from gatechart.values.names import EventName, StateName, may_be_reserved

_FAILED: Final = "error.execution"
_ENDED: Final = "done.state."


@dataclass(frozen=True, slots=True)
class Circle:
    """A path from a leaf back to it."""

    states: tuple[StateName, ...]  # the leaf, then the other states of the path, in order
    moves: int  # minimum number


@dataclass(frozen=True, slots=True)
class _Step:
    """A transition in a search for circles."""

    enters: frozenset[StateName]  # states that it may enter
    moves: int  # minimum that it adds: 0 if it may be taken within the turn of another transition, else 1
    is_seen: bool  # whether detectors see it; they do not see answers to signals


@dataclass(frozen=True)
class Circles:
    """The circles of a graph, measured in moves: a move is a turn that changes the state, as in trails.

    The result is a lower bound: guards are assumed to hold, events to arrive, parallel regions to be in any state, and
    history states to remember any state. Transitions that may follow within a turn count as no move.

    avoiding: states whose entry is progress, which resets the detectors.
    """

    analysis: Analysis
    avoiding: Set[StateName] = frozenset()

    def shortest(self, leaves: Iterable[StateName]) -> Circle | None:
        """Return the shortest circle through one of the leaves; None if there is no circle."""
        shortest: Circle | None = None
        for leaf in leaves:
            if shortest is None or shortest.moves > 1:
                shortest = self.back_to(leaf, None if shortest is None else shortest.moves - 1) or shortest
        return shortest

    def back_to(self, leaf: StateName, most: int | None = None) -> Circle | None:
        """Return the shortest circle through a leaf; None if there is none with at most `most` moves."""
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
        """Follow the steps without a move. Return the last state before the leaf, and the states after one more move.

        The last state comes with the moves still needed, or is None. Visited states are added to came_from.
        """
        last: tuple[StateName, int] | None = None
        later: dict[StateName, StateName] = {}
        while ahead:
            state = ahead.pop()
            for step in self._steps[state]:
                if leaf in step.enters and step.is_seen and (last is None or step.moves < last[1]):
                    last = state, step.moves
                new = {name: state for name in step.enters if name not in came_from}
                if step.moves:
                    later |= new
                else:
                    came_from |= new
                    ahead += new
        return last, {name: state for name, state in later.items() if name not in came_from}

    @cached_property
    def _steps(self) -> Mapping[StateName, Sequence[_Step]]:
        """The steps from each state, except steps that make progress or lead an agent back to the same state."""
        steps: dict[StateName, list[_Step]] = {name: [] for name in self.analysis.graph.nodes}
        within = _Within.of(self.analysis.graph)
        for way in (way for ways in self.analysis.ways.values() for way in ways):
            is_within = within.may_take(way.edge)
            # detectors do not see progress made by an answer to a signal, or by its consequences within the turn
            is_unseen = is_within and within.answers
            is_open = is_unseen or self.analysis.may_avoid(self.avoiding, way.enters)
            if is_open and not within.is_harmless(way):
                step = _Step(self._recalled(way.enters), 0 if is_within else 1, not _is_answer(way.edge))
                for state in within.before(way.edge):
                    steps[state].append(step)
        return steps

    def _recalled(self, enters: frozenset[StateName]) -> frozenset[StateName]:
        """Return the states entered, with all states that the history states among them may remember."""
        nodes = self.analysis.graph.nodes
        parents = {nodes[name].parent for name in enters if nodes[name].kind is Kind.HISTORY}
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
    """The events that a graph's turns may raise or send to their own agent."""

    raised: frozenset[EventName]  # descriptors of events that a turn may raise, except completions of single states
    ended: Mapping[EventName, tuple[StateName, ...]]  # the final states in a compound one, by its done event
    is_any: bool  # whether an action may raise or send any event
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
        """Return the states that the transition can start from: its source, or the final states for a done event."""
        return self.ended.get(edge.event or "", (edge.source,))

    def may_take(self, edge: Edge) -> bool:
        """Whether the transition may be taken within the turn of another one."""
        if edge.event is None or self.is_any or _may_answer(edge):
            return True
        return any(word in self.raised or word.startswith(_ENDED) for word in words_of(edge.event))

    def is_harmless(self, way: TransitionPath) -> bool:
        """Whether it only leads a leaf to itself, on an event from outside: such turns are not moves."""
        edge = way.edge
        if way.enters != {edge.source}:  # a region that is a leaf is re-entered with all its sibling regions
            return False
        is_own = edge.event is None or self.is_any or edge.is_exact
        return not is_own and not any(word == EVERY or may_be_reserved(word) for word in words_of(edge.event or ""))


def _ended(graph: AnyGraph, ends: Sequence[EventName]) -> Mapping[EventName, tuple[StateName, ...]]:
    """Return the final states in each compound one, by its done event, unless that also matches another done event."""
    compound = (node for node in graph.nodes.values() if node.kind is Kind.COMPOUND)
    finals = {
        f"{_ENDED}{node.name}": tuple(child for child in node.children if graph.nodes[child].kind is Kind.FINAL)
        for node in compound
    }
    return {event: states for event, states in finals.items() if not any(end.startswith(f"{event}.") for end in ends)}


def _steps_of(node: Node) -> Iterator[ActionCall]:
    yield from (*node.on_entry, *node.on_exit)
    if node.data is not None:
        yield node.data
    if node.default is not None:
        yield from node.default.steps


def _is_answer(edge: Edge) -> bool:
    """Return whether only signals take the transition."""
    return edge.event is not None and all(map(_is_signal, words_of(edge.event)))


def _may_answer(edge: Edge) -> bool:
    return edge.event is not None and any(map(_is_signal, words_of(edge.event)))


def _is_signal(word: str) -> bool:
    return f"{word}.".startswith(SIGNAL)


def _passed(
    last: StateName, came_from: Mapping[StateName, StateName], beside: Collection[StateName]
) -> tuple[StateName, ...]:
    """Return the states of the path up to `last`, oldest first, without the ones `beside` the leaf."""
    passed = []
    while last not in beside:
        passed.append(last)
        last = came_from[last]
    return tuple(reversed(passed))
