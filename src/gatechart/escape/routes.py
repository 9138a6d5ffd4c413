"""Which ways lead away from what failed, found by search in the chart. Pure.

The search takes microsteps as turns do, without a context: any guard may agree or refuse, and any event may come, be it
of a timer or of the end of an invoke. Events that presume another failure do not count as ways: `signal.<name>` and
`escape.<strategy>`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import copy
from itertools import product
from typing import Final

from gatechart.errors import UnknownStateError
from gatechart.graph import ROOT, AnyGraph, Edge, Kind, Recall, callable_name
from gatechart.kernel import (
    Candidates,
    Configuration,
    Done,
    Plan,
    candidates,
    plan_entry,
    plan_microstep,
    without_unasked,
)
from gatechart.kernel.tree import Tree
from gatechart.values import EventName, Memory, StateName
from gatechart.values.frozen import replaced, value

MOST_MICROSTEPS: Final = 4_000
"""Microsteps that a search tries beyond those that a chart without regions needs; a way not found by then is none."""

_ANYTHING: Final[EventName] = "anything"  # stands for an event that only `*` takes
_NO_WAYS: Final = ("signal.", "escape.", "done.state.")  # the last come from the machine alone


def routes(
    graph: AnyGraph, leaves: Collection[StateName], failed: Collection[StateName], tools: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the entry points that lead away from what failed, by name: those with the shortest ways first.

    A way leads to an end of the agent that is no failure, or to a state marked as progress. It enters no failed state.
    Entry points with equally long ways keep their order. Whether their guards and payloads agree is not asked.

    leaves: where the agent is; an entry point that leads just there is left out.
    failed: states of the repeated block.
    tools: ids or function names of invokes that failed; an entry point into a state with one of these is left out.
    """
    search = _Search(graph, failed)
    found: dict[str, int] = {}
    for name, door in graph.entry_points.items():
        plan = plan_entry(search.graph, (door.state,))
        if set(plan.configuration) == set(leaves) or not search.allows(plan.entries) or _calls(graph, plan, tools):
            continue
        length = search.length(search.place(plan))
        if length is not None:
            found[name] = length
    return tuple(sorted(found, key=found.__getitem__))


def leads_away(graph: AnyGraph, target: StateName, failed: Collection[StateName]) -> bool:
    """Tell whether a transition to the target leads away from what failed, by a way as that of `routes`.

    States around the target may be failed, because the transition may stay inside them. Regions beside it are taken to
    begin anew, and history states around a failed state to remember that one.
    Raises UnknownStateError.
    """
    if target == ROOT or target not in graph.nodes:
        raise UnknownStateError(graph.name, target, graph.states)
    search = _Search(graph, failed)
    memory = dict(_remembered(graph, failed))
    plan = plan_entry(search.graph, (target,))
    if target in memory or not search.allows(_entered_by(graph, target, plan)):
        return False
    return search.length(replaced(search.place(plan), memory=tuple(memory.items()))) is not None


@value
class _Place:
    """Where an agent is between two microsteps."""

    configuration: Configuration
    memory: Memory
    raised: tuple[EventName, ...]  # done events that are still to be taken, oldest first
    is_progress: bool  # whether progress was made on the way
    is_over: bool
    has_failed: bool


class _Search:
    """The ways through a graph that enter no failed state."""

    def __init__(self, graph: AnyGraph, failed: Collection[StateName]) -> None:
        self.graph = copy(graph)
        object.__setattr__(self.graph, "memo", {})  # plans for what may never happen are not kept
        self.failed = frozenset(failed)
        lines = ((name, *node.ancestors) for name, node in graph.nodes.items() if node.kind.is_leaf)
        self.most = MOST_MICROSTEPS + 2 * sum(len(graph.nodes[state].edges) for line in lines for state in line)

    def allows(self, entries: Iterable[StateName]) -> bool:
        return self.failed.isdisjoint(entries)

    def place(self, plan: Plan, raised: tuple[EventName, ...] = (), *, was_progress: bool = False) -> _Place:
        """Return where a microstep leads."""
        tree = Tree(self.graph.nodes, plan.memory)
        end = tree.end_among(tree.with_ancestors(plan.configuration)) if plan.is_final else None
        return _Place(
            configuration=plan.configuration,
            memory=plan.memory,
            raised=(*raised, *(deed.event for deed in plan.deeds if isinstance(deed, Done))),
            is_progress=was_progress or not self.graph.progress_states.isdisjoint(plan.entries),
            is_over=plan.is_final,
            has_failed=end is not None and self.graph.nodes[end].failed,
        )

    def length(self, start: _Place) -> int | None:
        """Return how many microsteps the shortest way takes; None if there is none. Breadth first."""
        seen: set[_Place] = set()
        waiting = deque([(start, 0)])
        tries = 0
        while waiting and tries <= self.most:
            place, length = waiting.popleft()
            if place in seen:
                continue
            if self._is_away(place):
                return length
            seen.add(place)
            for after, is_step in self._onward(place):
                tries += 1
                (waiting.append if is_step else waiting.appendleft)((after, length + is_step))
        return None

    def _is_away(self, place: _Place) -> bool:
        """Whether the agent has come to a good end, or made progress in a turn that can end here."""
        if place.is_over:
            return not place.has_failed
        return place.is_progress and not place.raised and _can_refuse(self._asked(place, None))

    def _onward(self, place: _Place) -> Iterator[tuple[_Place, bool]]:
        """Yield what can follow, and whether a transition leads there: first eventless ones, then raised events."""
        if place.is_over:
            return
        eventless = self._asked(place, None)
        yield from self._taking(place, None, place.raised)
        if _can_refuse(eventless) and place.raised:
            yield from self._taking_raised(place)
        elif _can_refuse(eventless):
            for event in _events(self.graph, place.configuration):
                yield from self._taking(place, event, ())

    def _taking_raised(self, place: _Place) -> Iterator[tuple[_Place, bool]]:
        event, *rest = place.raised
        yield from self._taking(place, event, tuple(rest))
        if _can_refuse(self._asked(place, event)):
            yield replaced(place, raised=tuple(rest)), False

    def _asked(self, place: _Place, event: EventName | None) -> Candidates:
        return candidates(self.graph, place.configuration, event)

    def _taking(
        self, place: _Place, event: EventName | None, raised: tuple[EventName, ...]
    ) -> Iterator[tuple[_Place, bool]]:
        for chosen in _choices(self._asked(place, event)):
            enabled = without_unasked(self.graph, event, chosen)
            plan = plan_microstep(self.graph, place.configuration, place.memory, enabled)
            # Events raised in a cycle would grow without end; a turn with more than it has microsteps is undone.
            if self.allows(plan.entries) and len(raised) <= self.graph.max_microsteps:
                yield self.place(plan, raised, was_progress=place.is_progress), True


def _choices(asked: Candidates) -> Iterator[tuple[Edge, ...]]:
    """Yield the transitions that can be enabled together: for each leaf one, up to the first without a guard."""
    for chosen in product(*map(_options, asked)):
        enabled = tuple(edge for edge in chosen if edge is not None)
        if enabled:
            yield enabled


def _options(edges: Sequence[Edge]) -> tuple[Edge | None, ...]:
    certain = next((place for place, edge in enumerate(edges) if edge.ask is None), None)
    return (*edges, None) if certain is None else tuple(edges[: certain + 1])


def _can_refuse(asked: Candidates) -> bool:
    """Whether all guards together can make nothing happen."""
    return all(edge.ask is not None for edges in asked for edge in edges)


def _events(graph: AnyGraph, configuration: Configuration) -> tuple[EventName, ...]:
    """Return an event for each descriptor of the active states, those aside that are no ways."""
    active = dict.fromkeys(state for leaf in configuration for state in (leaf, *graph.nodes[leaf].ancestors))
    edges = (edge for state in active for edge in graph.nodes[state].edges)
    words = (word for edge in edges for word in _words(edge) if not f"{word}.".startswith(_NO_WAYS))
    return tuple(dict.fromkeys(_ANYTHING if word == "*" else word for word in words))


def _words(edge: Edge) -> tuple[EventName, ...]:
    if edge.event is None or edge.is_exact:
        return () if edge.event is None else (edge.event,)
    return tuple(word.removesuffix(".*").removesuffix(".") for word in edge.event.split())


def _calls(graph: AnyGraph, plan: Plan, tools: Collection[str]) -> bool:
    """Whether a state that is entered has one of the invokes."""
    invokes = (invoke for state in plan.entries for invoke in graph.nodes[state].invokes)
    return any(invoke.id in tools or callable_name(invoke.function) in tools for invoke in invokes)


def _entered_by(graph: AnyGraph, target: StateName, plan: Plan) -> Iterator[StateName]:
    """Yield what a transition to the target enters at least: the target and what begins inside it."""
    node = graph.nodes[target]
    outer = node.parent if node.kind is Kind.HISTORY else target
    yield from (each for each in plan.entries if each == target or outer in graph.nodes[each].ancestors)


def _remembered(graph: AnyGraph, failed: Collection[StateName]) -> Iterator[tuple[StateName, tuple[StateName, ...]]]:
    """Yield the history states around a failed state, and what they remember if that one was active last."""
    for name, node in graph.nodes.items():
        if node.kind is Kind.HISTORY and node.parent != ROOT:
            inside = (each for each in graph.nodes if each in failed and node.parent in graph.nodes[each].ancestors)
            for state in list(inside)[:1]:
                line = (state, *graph.nodes[state].ancestors)
                child = line[line.index(node.parent) - 1]
                yield name, graph.leaves(state)[:1] if node.recall is Recall.DEEP else (child,)
