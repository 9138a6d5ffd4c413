"""Search the chart for routes that lead away from a failure. Pure.

The search takes microsteps as turns do, without a context: any guard may hold or fail, and any event may arrive,
including timers and ends of invokes. Events that presume another failure do not count: `signal.<name>` and
`escape.<strategy>`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import copy
from itertools import product
from typing import Final

from gatechart.errors.event import UnknownStateError
from gatechart.graph.callables import callable_name
from gatechart.graph.compile import ROOT, Edge, Kind
from gatechart.graph.definition import Recall
from gatechart.graph.graph import AnyGraph
from gatechart.kernel.plan import Done, Plan, plan_entry, plan_microstep
from gatechart.kernel.select import Candidates, Configuration, candidates, without_unasked
from gatechart.kernel.tree import Tree
from gatechart.values.frozen import replaced, value
from gatechart.values.names import EventName, Memory, StateName

MOST_MICROSTEPS: Final = 4_000
"""Microsteps that a search tries, beyond the number for a chart without regions; then it gives up."""

_ANYTHING: Final[EventName] = "anything"  # an event that only `*` matches
_NOT_SENDABLE: Final = ("signal.", "escape.", "done.state.")  # only the machine raises the last


def routes(
    graph: AnyGraph, leaves: Collection[StateName], failed: Collection[StateName], tools: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the names of the entry points that lead away from a failure, with the shortest routes first.

    A route leads to a successful end of the agent, or to a state marked as progress. It enters no failed state. Entry
    points with equally long routes keep their order. Their guards and payloads are not checked.

    leaves: the agent's active leaves; an entry point that leads to exactly these is left out.
    failed: states of the repeated block.
    tools: ids or function names of failed invokes; an entry point into a state with one of these is left out.
    """
    search = _Search(graph, failed)
    lengths: dict[str, int] = {}
    for name, door in graph.entry_points.items():
        plan = plan_entry(search.graph, (door.state,))
        if set(plan.configuration) == set(leaves) or not search.allows(plan.entries) or _calls(graph, plan, tools):
            continue
        length = search.length(search.moment(plan))
        if length is not None:
            lengths[name] = length
    return tuple(sorted(lengths, key=lengths.__getitem__))


def leads_away(graph: AnyGraph, target: StateName, failed: Collection[StateName]) -> bool:
    """Return whether a transition to the target leads away from a failure, with the criteria of `routes`.

    Ancestors of the target may be failed, because the transition may stay inside them. Parallel regions are assumed to
    restart, and history states around a failed state to remember that state.
    Raises UnknownStateError.
    """
    if target == ROOT or target not in graph.nodes:
        raise UnknownStateError(graph.name, target, graph.states)
    search = _Search(graph, failed)
    memory = dict(_remembered(graph, failed))
    plan = plan_entry(search.graph, (target,))
    if target in memory or not search.allows(_entered_by(graph, target, plan)):
        return False
    return search.length(replaced(search.moment(plan), memory=tuple(memory.items()))) is not None


@value
class _Moment:
    """The state of an agent between two microsteps."""

    configuration: Configuration
    memory: Memory
    raised: tuple[EventName, ...]  # pending done events, oldest first
    is_progress: bool  # whether the route has made progress
    is_over: bool
    has_failed: bool


class _Search:
    """Searches for routes through a graph that enter no failed state."""

    def __init__(self, graph: AnyGraph, failed: Collection[StateName]) -> None:
        self.graph = copy(graph)
        object.__setattr__(
            self.graph, "memo", {}
        )  # the graph itself does not cache plans of moves that may never happen
        self.failed = frozenset(failed)
        lines = ((name, *node.ancestors) for name, node in graph.nodes.items() if node.kind.is_leaf)
        self.most = MOST_MICROSTEPS + 2 * sum(len(graph.nodes[state].edges) for line in lines for state in line)

    def allows(self, entries: Iterable[StateName]) -> bool:
        return self.failed.isdisjoint(entries)

    def moment(self, plan: Plan, raised: tuple[EventName, ...] = (), *, was_progress: bool = False) -> _Moment:
        """Return the moment after a microstep."""
        tree = Tree(self.graph.nodes, plan.memory)
        end = tree.end_among(tree.with_ancestors(plan.configuration)) if plan.is_final else None
        return _Moment(
            configuration=plan.configuration,
            memory=plan.memory,
            raised=(*raised, *(deed.event for deed in plan.deeds if isinstance(deed, Done))),
            is_progress=was_progress or not self.graph.progress_states.isdisjoint(plan.entries),
            is_over=plan.is_final,
            has_failed=end is not None and self.graph.nodes[end].failed,
        )

    def length(self, start: _Moment) -> int | None:
        """Return the number of microsteps of the shortest route; None if there is none. Breadth-first search."""
        seen: set[_Moment] = set()
        waiting = deque([(start, 0)])
        tries = 0
        while waiting and tries <= self.most:
            moment, length = waiting.popleft()
            if moment in seen:
                continue
            if self._is_away(moment):
                return length
            seen.add(moment)
            for after, is_step in self._onward(moment):
                tries += 1
                (waiting.append if is_step else waiting.appendleft)((after, length + is_step))
        return None

    def _is_away(self, moment: _Moment) -> bool:
        """Return whether the agent has ended without failure, or made progress in a turn that can end here."""
        if moment.is_over:
            return not moment.has_failed
        return moment.is_progress and not moment.raised and _can_refuse(self._candidates(moment, None))

    def _onward(self, moment: _Moment) -> Iterator[tuple[_Moment, bool]]:
        """Yield the following moments, and whether a transition leads there: eventless first, then raised events."""
        if moment.is_over:
            return
        eventless = self._candidates(moment, None)
        yield from self._taking(moment, None, moment.raised)
        if _can_refuse(eventless) and moment.raised:
            yield from self._taking_raised(moment)
        elif _can_refuse(eventless):
            for event in _events(self.graph, moment.configuration):
                yield from self._taking(moment, event, ())

    def _taking_raised(self, moment: _Moment) -> Iterator[tuple[_Moment, bool]]:
        event, *rest = moment.raised
        yield from self._taking(moment, event, tuple(rest))
        if _can_refuse(self._candidates(moment, event)):
            yield replaced(moment, raised=tuple(rest)), False

    def _candidates(self, moment: _Moment, event: EventName | None) -> Candidates:
        return candidates(self.graph, moment.configuration, event)

    def _taking(
        self, moment: _Moment, event: EventName | None, raised: tuple[EventName, ...]
    ) -> Iterator[tuple[_Moment, bool]]:
        for chosen in _choices(self._candidates(moment, event)):
            enabled = without_unasked(self.graph, event, chosen)
            plan = plan_microstep(self.graph, moment.configuration, moment.memory, enabled)
            # A cycle could raise events without limit, but a turn with more events than its microsteps is rolled back.
            if self.allows(plan.entries) and len(raised) <= self.graph.max_microsteps:
                yield self.moment(plan, raised, was_progress=moment.is_progress), True


def _choices(groups: Candidates) -> Iterator[tuple[Edge, ...]]:
    """Yield the sets of transitions that can be enabled together: one for each leaf, up to the first unguarded one."""
    for chosen in product(*map(_options, groups)):
        enabled = tuple(edge for edge in chosen if edge is not None)
        if enabled:
            yield enabled


def _options(edges: Sequence[Edge]) -> tuple[Edge | None, ...]:
    certain = next((index for index, edge in enumerate(edges) if edge.ask is None), None)
    return (*edges, None) if certain is None else tuple(edges[: certain + 1])


def _can_refuse(groups: Candidates) -> bool:
    """Return whether guards can refuse all transitions."""
    return all(edge.ask is not None for edges in groups for edge in edges)


def _events(graph: AnyGraph, configuration: Configuration) -> tuple[EventName, ...]:
    """Return an event for each descriptor of the active states, except events that do not count."""
    active = dict.fromkeys(state for leaf in configuration for state in (leaf, *graph.nodes[leaf].ancestors))
    edges = (edge for state in active for edge in graph.nodes[state].edges)
    words = (word for edge in edges for word in _words(edge) if not f"{word}.".startswith(_NOT_SENDABLE))
    return tuple(dict.fromkeys(_ANYTHING if word == "*" else word for word in words))


def _words(edge: Edge) -> tuple[EventName, ...]:
    if edge.event is None or edge.is_exact:
        return () if edge.event is None else (edge.event,)
    return tuple(word.removesuffix(".*").removesuffix(".") for word in edge.event.split())


def _calls(graph: AnyGraph, plan: Plan, tools: Collection[str]) -> bool:
    """Return whether an entered state has one of the invokes."""
    invokes = (invoke for state in plan.entries for invoke in graph.nodes[state].invokes)
    return any(invoke.id in tools or callable_name(invoke.function) in tools for invoke in invokes)


def _entered_by(graph: AnyGraph, target: StateName, plan: Plan) -> Iterator[StateName]:
    """Yield the states that any transition to the target enters: the target and the initial states inside it."""
    node = graph.nodes[target]
    outer = node.parent if node.kind is Kind.HISTORY else target
    yield from (name for name in plan.entries if name == target or outer in graph.nodes[name].ancestors)


def _remembered(graph: AnyGraph, failed: Collection[StateName]) -> Iterator[tuple[StateName, tuple[StateName, ...]]]:
    """Yield the history states around a failed state, with their memory if that state was active last."""
    for name, node in graph.nodes.items():
        if node.kind is Kind.HISTORY and node.parent != ROOT:
            inside = (state for state in graph.nodes if state in failed and node.parent in graph.nodes[state].ancestors)
            for state in list(inside)[:1]:
                line = (state, *graph.nodes[state].ancestors)
                child = line[line.index(node.parent) - 1]
                yield name, graph.leaves(state)[:1] if node.recall is Recall.DEEP else (child,)
