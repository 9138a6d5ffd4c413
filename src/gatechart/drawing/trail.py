"""The active states of an agent, and the trail that its turns took through the graph. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gatechart.errors.event import UnknownGraphError, UnknownStateError
from gatechart.errors.outside import DrawingError
from gatechart.graph.compile import ROOT, Edge, Kind
from gatechart.graph.graph import AnyGraph
from gatechart.kernel.plan import Plan, plan_entry, plan_microstep
from gatechart.kernel.select import Configuration
from gatechart.values.agents import Snapshot
from gatechart.values.names import Memory, StateName
from gatechart.values.queries import HistoryEntry


@dataclass(frozen=True, slots=True)
class Passage:
    """One step of a trail: an entry point or a transition. The other of the two is empty."""

    place: int  # position in the trail, counted from 1
    entry_point: str
    transition: str  # its label


@dataclass(frozen=True, slots=True)
class DrawnTrail:
    """The entry points and transitions that an agent took, in order, and the states that it visited."""

    passages: tuple[Passage, ...] = ()
    visited: frozenset[StateName] = frozenset()

    def through(self, entry_point: str) -> tuple[int, ...]:
        """Return the positions in the trail where the agent entered here."""
        return tuple(passage.place for passage in self.passages if passage.entry_point == entry_point)

    def along(self, transition: str) -> tuple[int, ...]:
        """Return the positions in the trail where the agent took a transition with this label."""
        return tuple(passage.place for passage in self.passages if passage.transition == transition)


def active_states(graph: AnyGraph, snapshot: Snapshot | None) -> frozenset[StateName]:
    """Return the active leaves and their ancestors; none without a snapshot.

    Raises DrawingError if it is not a Snapshot, UnknownGraphError for another graph's snapshot, UnknownStateError for a
    state that is not in the graph.
    """
    if snapshot is None:
        return frozenset()
    if not isinstance(snapshot, Snapshot):
        raise DrawingError(f"highlight is {snapshot!r}, which is not a Snapshot; pass an agent's `snapshot`")
    if snapshot.graph != graph.name:
        raise UnknownGraphError(snapshot.graph, (graph.name,))
    return _with_ancestors(graph, snapshot.configuration)


def read_trail(graph: AnyGraph, history: Sequence[HistoryEntry]) -> DrawnTrail:
    """Return the trail of a history's turns, oldest first.

    Raises UnknownStateError if the graph lacks a state of the history, DrawingError if it lacks an entry point or a
    transition.
    """
    labelled = _labelled(graph)
    passages: list[Passage] = []
    visited: frozenset[StateName] = frozenset()
    walk = _TrailWalk(graph)
    position = 0
    for entry in history:
        visited |= _with_ancestors(graph, (*entry.source, *entry.target))
        if entry.entry_point:
            if entry.entry_point not in graph.entry_points:
                raise DrawingError(_unknown(graph, entry, f"came in at {entry.entry_point!r}"))
            position += 1
            passages.append(Passage(position, entry.entry_point, ""))
        walk.begin(entry)
        for label in entry.taken:
            edge = labelled.get(label)
            if edge is None:
                raise DrawingError(_unknown(graph, entry, f"took {label!r}"))
            position += 1
            passages.append(Passage(position, "", edge.label))
            walk.take(edge)
    return DrawnTrail(tuple(passages), visited | walk.passed)


def _labelled(graph: AnyGraph) -> dict[str, Edge]:
    """Return the transitions by label. Older histories write an eventless transition as `---->`."""
    edges = [edge for node in graph.nodes.values() for edge in node.edges]
    eventless = [edge for edge in edges if edge.event is None and edge.targets]
    older = {f"{edge.source} --{edge.label.removeprefix(f'{edge.source} ')}": edge for edge in eventless}
    return older | {edge.label: edge for edge in edges}


class _TrailWalk:
    """Replays an agent's turns in the graph, to find the states that it entered and left within one turn."""

    def __init__(self, graph: AnyGraph) -> None:
        self.passed: frozenset[StateName] = frozenset()
        self._graph = graph
        self._leaves: Configuration = ()
        self._memory: Memory = ()

    def begin(self, entry: HistoryEntry) -> None:
        """Start a turn in the state that the history records."""
        self._leaves = entry.source
        if entry.entry_point:
            self._apply(plan_entry(self._graph, (self._graph.entry_points[entry.entry_point].state,)))
        elif not entry.taken and entry.source != entry.target:
            self._memory = ()  # a rollback or a migration changes what history states remember

    def take(self, edge: Edge) -> None:
        """Take a transition, unless the trail does not show where one of its history states leads."""
        self.passed |= frozenset({edge.source}) - {ROOT}
        nodes, known = self._graph.nodes, dict(self._memory)
        unknown = any(nodes[target].kind is Kind.HISTORY and target not in known for target in edge.targets)
        if unknown or edge.source not in {ROOT, *_with_ancestors(self._graph, self._leaves)}:
            self._leaves = ()
        else:
            self._apply(plan_microstep(self._graph, self._leaves, self._memory, (edge,)))

    def _apply(self, plan: Plan) -> None:
        self.passed |= frozenset(plan.entries) - {ROOT}
        self._leaves, self._memory = plan.configuration, plan.memory


def _with_ancestors(graph: AnyGraph, leaves: Sequence[StateName]) -> frozenset[StateName]:
    for leaf in leaves:
        if leaf == ROOT or leaf not in graph.nodes:
            raise UnknownStateError(graph.name, leaf, graph.states)
    return frozenset(state for leaf in leaves for state in (leaf, *graph.nodes[leaf].ancestors))


def _unknown(graph: AnyGraph, entry: HistoryEntry, step: str) -> str:
    return (
        f"agent {entry.agent_id!r} {step}, which {graph.name!r} version {graph.version!r} does not have; "
        "draw its history with the graph that it ran with"
    )
