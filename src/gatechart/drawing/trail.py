"""What an agent did, in the terms of its graph: the states that are active, and the way that its turns took. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gatechart.errors import DrawingError, UnknownGraphError, UnknownStateError
from gatechart.graph import ROOT, AnyGraph, Edge, Kind
from gatechart.kernel import Plan, plan_entry, plan_microstep
from gatechart.kernel.select import Configuration
from gatechart.values import HistoryEntry, Memory, Snapshot, StateName


@dataclass(frozen=True, slots=True)
class Passage:
    """One stretch of a way: through an entry point, or along a transition. The other of the two is empty."""

    place: int  # in the trail, counted from 1
    entry_point: str
    transition: str  # its label


@dataclass(frozen=True, slots=True)
class Trail:
    """The way that an agent took."""

    passages: tuple[Passage, ...] = ()
    visited: frozenset[StateName] = frozenset()

    def through(self, entry_point: str) -> tuple[int, ...]:
        """Return the places at which the agent came in here."""
        return tuple(passage.place for passage in self.passages if passage.entry_point == entry_point)

    def along(self, transition: str) -> tuple[int, ...]:
        """Return the places at which a transition with this label was taken."""
        return tuple(passage.place for passage in self.passages if passage.transition == transition)


def active_states(graph: AnyGraph, snapshot: Snapshot | None) -> frozenset[StateName]:
    """Return the active leaves and their ancestors; none without a snapshot.

    Raises DrawingError for what is no snapshot, UnknownGraphError for another graph's snapshot, UnknownStateError for a
    state that is not in the graph.
    """
    if snapshot is None:
        return frozenset()
    if not isinstance(snapshot, Snapshot):
        raise DrawingError(f"highlight is {snapshot!r}, which is not a Snapshot; pass an agent's `snapshot`")
    if snapshot.graph != graph.name:
        raise UnknownGraphError(snapshot.graph, (graph.name,))
    return _with_ancestors(graph, snapshot.configuration)


def read_trail(graph: AnyGraph, history: Sequence[HistoryEntry]) -> Trail:
    """Return the way that the turns of a history took, oldest first.

    Raises UnknownStateError and DrawingError where it tells of a state, an entry point or a transition that is not
    there.
    """
    labelled = _labelled(graph)
    passages: list[Passage] = []
    visited: frozenset[StateName] = frozenset()
    walk = _Walk(graph)
    place = 0
    for entry in history:
        visited |= _with_ancestors(graph, (*entry.source, *entry.target))
        if entry.entry_point:
            if entry.entry_point not in graph.entry_points:
                raise DrawingError(_unknown(graph, entry, f"came in at {entry.entry_point!r}"))
            place += 1
            passages.append(Passage(place, entry.entry_point, ""))
        walk.begin(entry)
        for label in entry.taken:
            edge = labelled.get(label)
            if edge is None:
                raise DrawingError(_unknown(graph, entry, f"took {label!r}"))
            place += 1
            passages.append(Passage(place, "", edge.label))
            walk.take(edge)
    return Trail(tuple(passages), visited | walk.passed)


def _labelled(graph: AnyGraph) -> dict[str, Edge]:
    """Return the transitions by their labels; older histories write the arrow of one without an event as `---->`."""
    edges = [edge for node in graph.nodes.values() for edge in node.edges]
    eventless = [edge for edge in edges if edge.event is None and edge.targets]
    older = {f"{edge.source} --{edge.label.removeprefix(f'{edge.source} ')}": edge for edge in eventless}
    return older | {edge.label: edge for edge in edges}


class _Walk:
    """The turns of an agent, taken again in the graph, for the states that it entered and left within one."""

    def __init__(self, graph: AnyGraph) -> None:
        self.passed: frozenset[StateName] = frozenset()
        self._graph = graph
        self._leaves: Configuration = ()
        self._memory: Memory = ()

    def begin(self, entry: HistoryEntry) -> None:
        """Begin a turn where the history says that it began."""
        self._leaves = entry.source
        if entry.entry_point:
            self._go(plan_entry(self._graph, (self._graph.entry_points[entry.entry_point].state,)))
        elif not entry.taken and entry.source != entry.target:
            self._memory = ()  # a rollback, or a migration, after which history states remember something else

    def take(self, edge: Edge) -> None:
        """Go along a transition, unless the trail does not tell where a history state on the way leads."""
        self.passed |= frozenset({edge.source}) - {ROOT}
        nodes, known = self._graph.nodes, dict(self._memory)
        strange = any(nodes[target].kind is Kind.HISTORY and target not in known for target in edge.targets)
        if strange or edge.source not in {ROOT, *_with_ancestors(self._graph, self._leaves)}:
            self._leaves = ()
        else:
            self._go(plan_microstep(self._graph, self._leaves, self._memory, (edge,)))

    def _go(self, plan: Plan) -> None:
        self.passed |= frozenset(plan.entries) - {ROOT}
        self._leaves, self._memory = plan.configuration, plan.memory


def _with_ancestors(graph: AnyGraph, leaves: Sequence[StateName]) -> frozenset[StateName]:
    for leaf in leaves:
        if leaf == ROOT or leaf not in graph.nodes:
            raise UnknownStateError(graph.name, leaf, graph.states)
    return frozenset(state for leaf in leaves for state in (leaf, *graph.nodes[leaf].ancestors))


def _unknown(graph: AnyGraph, entry: HistoryEntry, way: str) -> str:
    return (
        f"agent {entry.agent_id!r} {way}, which {graph.name!r} version {graph.version!r} does not have; "
        "draw its history with the graph that it ran with"
    )
