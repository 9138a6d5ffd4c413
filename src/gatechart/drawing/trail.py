"""What a snapshot and a history say about a graph: which states are active, which way was taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gatechart.errors import DrawingError, UnknownGraphError, UnknownStateError
from gatechart.graph import ROOT, StateTransitionGraph
from gatechart.values import HistoryEntry, Snapshot, StateName


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
        """The places at which the agent came in here."""
        return tuple(passage.place for passage in self.passages if passage.entry_point == entry_point)

    def along(self, transition: str) -> tuple[int, ...]:
        """The places at which a transition with this label was taken."""
        return tuple(passage.place for passage in self.passages if passage.transition == transition)


def active_states(graph: StateTransitionGraph, snapshot: Snapshot | None) -> frozenset[StateName]:
    """The active leaves and their ancestors; none without a snapshot.

    Raises DrawingError for what is no snapshot, UnknownGraphError for another graph's snapshot, UnknownStateError for a
    state that is not in the graph.
    """
    if snapshot is None:
        return frozenset()
    if not isinstance(snapshot, Snapshot):
        raise DrawingError(f"highlight is {snapshot!r}, which is no Snapshot; pass an agent's `snapshot`")
    if snapshot.graph != graph.name:
        raise UnknownGraphError(snapshot.graph, (graph.name,))
    return _with_ancestors(graph, snapshot.configuration)


def read_trail(graph: StateTransitionGraph, history: Sequence[HistoryEntry]) -> Trail:
    """The way that the turns of a history took, oldest first.

    Raises UnknownStateError and DrawingError where it tells of a state, an entry point or a transition that is not
    there.
    """
    labels = {edge.label for node in graph.nodes.values() for edge in node.edges}
    passages: list[Passage] = []
    visited: frozenset[StateName] = frozenset()
    place = 0
    for entry in history:
        visited |= _with_ancestors(graph, (*entry.source, *entry.target))
        if entry.entry_point:
            if entry.entry_point not in graph.entry_points:
                raise DrawingError(_unknown(graph, entry, f"came in at {entry.entry_point!r}"))
            place += 1
            passages.append(Passage(place, entry.entry_point, ""))
        for label in entry.taken:
            if label not in labels:
                raise DrawingError(_unknown(graph, entry, f"took {label!r}"))
            place += 1
            passages.append(Passage(place, "", label))
    return Trail(tuple(passages), visited)


def _with_ancestors(graph: StateTransitionGraph, leaves: Sequence[StateName]) -> frozenset[StateName]:
    for leaf in leaves:
        if leaf == ROOT or leaf not in graph.nodes:
            raise UnknownStateError(graph.name, leaf, graph.states)
    return frozenset(state for leaf in leaves for state in (leaf, *graph.nodes[leaf].ancestors))


def _unknown(graph: StateTransitionGraph, entry: HistoryEntry, way: str) -> str:
    return (
        f"agent {entry.agent_id!r} {way}, which {graph.name!r} version {graph.version!r} does not have; "
        "draw its history with the graph that it ran with"
    )
