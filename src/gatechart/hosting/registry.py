"""Registry of a runtime's graphs by name, business trigger and state."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence

from gatechart.api.handoffs import HandoffsCommand
from gatechart.errors.definition import AmbiguousEntryError, AmbiguousTriggerError, DuplicateGraphError, NoGraphError
from gatechart.errors.event import UnknownGraphError, UnknownTriggerError
from gatechart.errors.operation import IncompatibleGraphError, UndeclaredInvokeError
from gatechart.graph.definition import EntryPoint
from gatechart.graph.graph import AnyGraph, StateTransitionGraph, graph_name
from gatechart.graph.migration import Migration, way
from gatechart.hosting.own_agents import check_open
from gatechart.kernel.legal import misfit, path_of
from gatechart.ports import Store
from gatechart.turn.arguments import known_id, sought_id
from gatechart.turn.payloads import payload_data
from gatechart.turn.turns import committed_context
from gatechart.values.agents import Snapshot, Status
from gatechart.values.handoffs import HandoffQuery
from gatechart.values.migrations import KnownGraph
from gatechart.values.names import EventName, Name, Payload, name_of

logger = logging.getLogger(__name__)


class Registry:
    """The graphs by name and version. Creating it raises as `register` does."""

    def __init__(self, graphs: Iterable[AnyGraph] | AnyGraph) -> None:
        self._versions: dict[tuple[str, str], AnyGraph] = {}
        self._newest: dict[str, AnyGraph] = {}
        self._graphs: tuple[AnyGraph, ...] = ()
        self.declares_events = False  # whether any graph declares events, so that posted mail must be checked
        self._own: dict[str, Callable[[], AnyGraph]] = {}
        self._named: dict[str, tuple[str, str]] = {}  # directory name -> its graph, and its entry point or ""
        for graph in (graphs,) if isinstance(graphs, StateTransitionGraph) else graphs:
            self.register(graph)

    def register(self, graph: AnyGraph) -> None:
        """Add a graph or another version of a graph. New agents start with the version added last.

        Raises NoGraphError, DuplicateGraphError if this name and version is already registered or the graph belongs to
        the framework, and AmbiguousEntryError if another graph uses the name of this graph or of its entry points.
        """
        if not isinstance(graph, StateTransitionGraph):
            raise NoGraphError(repr(graph))
        if (graph.name, graph.version) in self._versions or graph.is_framework:
            raise DuplicateGraphError(graph.name)
        self._name(graph)
        self._add(graph)

    def _name(self, graph: AnyGraph) -> None:
        """Reserve a graph's names in the directory. Raises AmbiguousEntryError."""
        entry_points = {f"{graph.name}.{entry}": (graph.name, entry) for entry in graph.entry_points}
        names = {graph.name: (graph.name, ""), **entry_points}
        for name, owner in names.items():
            other, entry = self._named.get(name, owner)
            if other != graph.name and (not entry or entry in self._newest[other].entry_points):
                raise AmbiguousEntryError(name, _in_words(other, entry), _in_words(*owner))
        self._named |= names

    def _add(self, graph: AnyGraph) -> None:
        self._versions[graph.name, graph.version] = self._newest[graph.name] = graph
        if not graph.is_framework:  # callers do not see the framework's graphs, and the gate checks their mail
            self._graphs = tuple(newest for newest in self._newest.values() if not newest.is_framework)
            self.declares_events = self.declares_events or bool(graph.event_types)

    def register_own(self, name: str, make: Callable[[], AnyGraph]) -> None:
        """Add a graph of the framework. `graphs` does not contain it.

        make: builds the graph when it is first requested. Building it takes longer than opening a database.
        """
        self._own[name] = make

    @property
    def directory_names(self) -> Iterable[str]:
        """The names of all graphs and entry points, as the directory lists them."""
        return self._named.keys()

    @property
    def versions(self) -> tuple[AnyGraph, ...]:
        """All graphs, in order of registration."""
        return tuple(self._versions.values())

    @property
    def graphs(self) -> tuple[AnyGraph, ...]:
        """The newest version of each graph, in the order of the first registration of their names."""
        return self._graphs

    @property
    def own_graphs(self) -> tuple[AnyGraph, ...]:
        """The graphs of the framework, in order of registration."""
        return tuple(map(self.graph, self._own))

    def graph(self, graph: Name | AnyGraph) -> AnyGraph:
        """Return the newest graph with this name, or with the name of this graph. Raises UnknownGraphError."""
        name = graph if type(graph) is str else graph_name(graph)
        try:
            return self._newest[name]
        except (KeyError, TypeError):
            if self._make_own(name):
                return self._newest[name]
            raise UnknownGraphError(str(name), tuple(known.name for known in self.graphs)) from None

    def entry_point(self, graph: str, name: str) -> EntryPoint | None:
        """Return an entry point of the newest graph of this name; None if either is unknown."""
        newest = self._newest.get(graph)
        return None if newest is None else newest.entry_points.get(name)

    def _make_own(self, name: str) -> bool:
        """Build the framework's graph with this name. Return whether this call built it."""
        make = None if name in self._newest else self._own.get(name)
        if make is not None:
            self._add(make())
        return make is not None

    def has(self, name: str, version: str) -> bool:
        """Return whether the graph with this name and version is registered."""
        return (name, version) in self._versions or (self._make_own(name) and self.has(name, version))

    def version(self, name: str, version: str) -> AnyGraph:
        """Return the registered graph with this name and version."""
        return self._versions[name, version]

    def same_version(self, snapshot: Snapshot) -> AnyGraph | None:
        """Return the graph with exactly a stored agent's version; None if it is not registered."""
        self._make_own(snapshot.graph)
        return self._versions.get((snapshot.graph, snapshot.graph_version))

    def graph_for(self, snapshot: Snapshot) -> AnyGraph:
        """Return the graph of a stored agent: the agent's version, otherwise the newest, as the target of a migration.

        Raises UnknownGraphError, and IncompatibleGraphError if the agent fits neither.
        """
        newest = self.graph(snapshot.graph)
        graph = self._versions.get((snapshot.graph, snapshot.graph_version), newest)
        if graph.version != snapshot.graph_version:
            self.way_for(snapshot)
        else:
            _check_fits(graph, snapshot)
        return graph

    def open_graph_for(self, snapshot: Snapshot) -> AnyGraph:
        """Return the graph of a stored agent that a caller wants to change. Also raises FrameworkAgentError."""
        check_open(snapshot)
        return self.graph_for(snapshot)

    def check_posted(self, snapshot: Snapshot, event: EventName, payload: Payload) -> None:
        """Raise PayloadError or UndeclaredEventError if the agent's graph does not take the event.

        Mail to an ended agent, or to an agent whose graph is not registered here, is accepted: its turn decides.
        """
        graph = self._driving(snapshot)
        if graph is not None and graph.event_types and snapshot.status is Status.ACTIVE:
            payload_data(graph, event, payload)

    def check_invoke(self, snapshot: Snapshot, invoke: str) -> None:
        """Raise UndeclaredInvokeError if the agent's graph is registered and lacks this invoke of a function."""
        graph = self._driving(snapshot)
        if graph is None:
            return
        invokes = (node_invoke for node in graph.nodes.values() for node_invoke in node.invokes)
        declared = [node_invoke.id for node_invoke in invokes if node_invoke.function is not None]
        if invoke not in declared:
            raise UndeclaredInvokeError(graph.name, invoke, tuple(dict.fromkeys(declared)))

    def _driving(self, snapshot: Snapshot) -> AnyGraph | None:
        """Return the agent's version of its graph, otherwise the newest; None if neither is registered."""
        return self._versions.get((snapshot.graph, snapshot.graph_version)) or self._newest.get(snapshot.graph)

    def way_for(self, snapshot: Snapshot) -> Sequence[Migration]:
        """Return the migrations from a stored agent's version to the newest. Raises IncompatibleGraphError."""
        newest = self.graph(snapshot.graph)
        steps = way(newest.migrations, snapshot.graph_version, newest.version)
        if steps is None:
            problem = (
                f"the agent has version {snapshot.graph_version!r}, the graph has version {newest.version!r}, "
                "and no migrations lead from the one to the other"
            )
            raise IncompatibleGraphError(snapshot.agent_id, newest.name, problem)
        return steps

    def opened_by(self, trigger: Name) -> tuple[AnyGraph, EntryPoint]:
        """Return the graph and entry point that a business trigger opens. Raises as `Runtime.start_on` does."""
        wanted = name_of(trigger)
        entry_points = [(graph, entry) for graph in self.graphs for entry in graph.entry_points.values()]
        opened = [(graph, entry) for graph, entry in entry_points if wanted in entry.opens_on]
        if not opened:
            known = dict.fromkeys(trigger for _, entry in entry_points for trigger in entry.opens_on)
            raise UnknownTriggerError(wanted, tuple(known))
        if len(opened) > 1:
            raise AmbiguousTriggerError(wanted, tuple(graph.name for graph, _ in opened))
        return opened[0]


def _in_words(graph: str, entry: str) -> str:
    return f"the entry point {entry!r} of the graph {graph!r}" if entry else f"the graph {graph!r}"


def _check_fits(graph: AnyGraph, snapshot: Snapshot) -> None:
    """Raise IncompatibleGraphError if a graph changed without a new version and the agent no longer fits it.

    An ended agent always fits, regardless of its state.
    """
    if graph.fingerprint != snapshot.fingerprint and snapshot.status is Status.ACTIVE:
        problem = misfit(graph, snapshot.configuration, snapshot.memory)
        if problem:
            raise IncompatibleGraphError(snapshot.agent_id, graph.name, problem)
        if not graph.is_framework:  # the framework's graphs change with a release, without a new version
            logger.warning(
                "a graph was changed without a new version",
                extra={"graph": graph.name, "agent_id": snapshot.agent_id, "version": graph.version},
            )
    graph.contexts.keep(snapshot.agent_id, snapshot.context_text, committed_context(graph, snapshot))


def handoff_query(command: HandoffsCommand) -> HandoffQuery:
    """Return the query of a command. Raises PayloadError, and UnknownAgentError if no agent can have the id."""
    for agent_id in (command.source, command.target):
        if agent_id is not None:
            known_id(agent_id)
    request, handoff_id = sought_id(command.request, "request"), sought_id(command.handoff_id)
    return HandoffQuery(
        command.source,
        command.target,
        command.status,
        request,
        handoff_id,
        command.after,
        command.limit,
        command.newest_first,
    )


def known_graph(graph: AnyGraph) -> KnownGraph:
    """Return the description of a graph for a store."""
    paths = {state: path_of(graph, state) for state in graph.states}
    return KnownGraph(graph.fingerprint, graph.name, graph.version, paths)


async def in_full(store: Store, error: IncompatibleGraphError, snapshot: Snapshot) -> IncompatibleGraphError:
    """Return the error with the agent's full state paths, even if its graph no longer exists."""
    known = await store.known_graph(snapshot.fingerprint)
    paths = {} if known is None else known.paths
    where = ", ".join(paths.get(state, state) for state in snapshot.configuration)
    problem = f"{error.problem} (the agent is in {where}, version {snapshot.graph_version!r})"
    return IncompatibleGraphError(error.agent_id, error.graph, problem)
