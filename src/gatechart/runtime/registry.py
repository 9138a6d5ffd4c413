"""The graphs of a runtime, by the names, triggers and states that people ask for."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from gatechart.errors import (
    AmbiguousTriggerError,
    DuplicateGraphError,
    IncompatibleGraphError,
    NoGraphError,
    PayloadError,
    TimersNotKeptError,
    UnknownGraphError,
    UnknownStateError,
    UnknownTriggerError,
)
from gatechart.graph import EntryPoint, StateTransitionGraph
from gatechart.runtime.arguments import check_limit, known_id
from gatechart.turn import committed_context
from gatechart.values import ActiveIn, AgentId, Name, Query, Snapshot, StateName, Status, name_of

logger = logging.getLogger(__name__)


class Registry:
    """The graphs by name and version. Raises DuplicateGraphError, NoGraphError, TimersNotKeptError as `register`."""

    def __init__(
        self, graphs: Iterable[StateTransitionGraph] | StateTransitionGraph, *, is_durable: bool = False
    ) -> None:
        self._is_durable = is_durable  # whether the store outlives the process, and so has to keep timers
        self._versions: dict[tuple[str, str], StateTransitionGraph] = {}
        self._newest: dict[str, StateTransitionGraph] = {}
        for graph in (graphs,) if isinstance(graphs, StateTransitionGraph) else graphs:
            self.register(graph)

    def register(self, graph: StateTransitionGraph) -> None:
        """Adds a graph, or another version of one; agents that start from now on have the version added last.

        Raises NoGraphError, DuplicateGraphError where there is one of this name and version, TimersNotKeptError where
        it has timers or invokes, which a durable store would lose.
        """
        if not isinstance(graph, StateTransitionGraph):
            raise NoGraphError(repr(graph))
        if (graph.name, graph.version) in self._versions:
            raise DuplicateGraphError(graph.name)
        attended = tuple(node.name for node in graph.nodes.values() if node.is_attended)
        if attended and self._is_durable:
            raise TimersNotKeptError(graph.name, attended)
        self._versions[graph.name, graph.version] = self._newest[graph.name] = graph

    @property
    def graphs(self) -> tuple[StateTransitionGraph, ...]:
        """The newest version of each, in the order of their names' first registration."""
        return tuple(self._newest.values())

    def graph(self, graph: Name | StateTransitionGraph) -> StateTransitionGraph:
        """The newest graph of this name, or of the name of this graph. Raises UnknownGraphError."""
        name = graph.name if isinstance(graph, StateTransitionGraph) else name_of(graph)
        try:
            return self._newest[name]
        except (KeyError, TypeError):
            raise UnknownGraphError(str(name), tuple(self._newest)) from None

    def graph_for(self, snapshot: Snapshot) -> StateTransitionGraph:
        """The graph with which a stored agent can go on. Raises UnknownGraphError, IncompatibleGraphError."""
        newest = self.graph(snapshot.graph)
        graph = self._versions.get((snapshot.graph, snapshot.graph_version), newest)
        if graph.version != snapshot.graph_version:
            problem = f"the agent is of version {snapshot.graph_version!r}, the graph of {graph.version!r}"
            raise IncompatibleGraphError(snapshot.agent_id, graph.name, problem)
        if graph.fingerprint != snapshot.fingerprint:
            _check_leaves(graph, snapshot)
            logger.warning(
                "a graph was changed without a new version",
                extra={"graph": graph.name, "agent_id": snapshot.agent_id, "version": graph.version},
            )
        committed_context(graph, snapshot)
        return graph

    def opened_by(self, trigger: Name) -> tuple[StateTransitionGraph, EntryPoint]:
        """The graph and entry point that open on a business trigger. Raises as `Runtime.start_on` says."""
        wanted = name_of(trigger)
        doors = [(graph, entry) for graph in self.graphs for entry in graph.entry_points.values()]
        opened = [(graph, entry) for graph, entry in doors if wanted in entry.opens_on]
        if not opened:
            known = dict.fromkeys(trigger for _, entry in doors for trigger in entry.opens_on)
            raise UnknownTriggerError(wanted, tuple(known))
        if len(opened) > 1:
            raise AmbiguousTriggerError(wanted, tuple(graph.name for graph, _ in opened))
        return opened[0]

    def query(
        self, graph: Name | None, state: Name | None, status: Status | str | None, after: AgentId | None, limit: int
    ) -> Query:
        """The query in the store's terms. Raises as `Runtime.find` says."""
        check_limit("find", limit)
        if after is not None:
            known_id(after)
        if status is not None and status not in list(Status):
            raise PayloadError("find", (f"status is {status!r}",), " or ".join(map(repr, map(str, Status))))
        name = None if graph is None else self.graph(graph).name
        active = None if state is None else self._leaves(name, name_of(state))
        return Query(name, active, None if status is None else Status(status), after, limit)

    def _leaves(self, graph: str | None, state: StateName) -> tuple[ActiveIn, ...]:
        searched = self.graphs if graph is None else (self.graph(graph),)
        holding = [each for each in searched if state in each.states]
        if not holding:
            states = tuple(dict.fromkeys(name for each in searched for name in each.states))
            raise UnknownStateError(graph or "every graph", state, states)
        return tuple(ActiveIn(each.name, each.leaves(state)) for each in holding)


def _check_leaves(graph: StateTransitionGraph, snapshot: Snapshot) -> None:
    for state in snapshot.configuration:
        if state not in graph.nodes or graph.leaves(state) != (state,):
            problem = f"it is in {state!r}, which is no leaf of the graph any more"
            raise IncompatibleGraphError(snapshot.agent_id, graph.name, problem)
