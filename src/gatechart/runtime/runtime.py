"""What hosts agents: starts them, finds them again, carries their events to them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from weakref import WeakValueDictionary

from pydantic import BaseModel

from gatechart.agent import Agent
from gatechart.errors import AgentExistsError
from gatechart.graph import EntryPoint, StateTransitionGraph
from gatechart.ports import Clock, Ids, Store
from gatechart.runtime.arguments import check_part, checked_id, known_id
from gatechart.runtime.commits import Committer
from gatechart.runtime.core import Core, OpenTurn, SystemClock, random_id, run_at_once
from gatechart.runtime.mailbox import Mailbox
from gatechart.runtime.registry import Registry
from gatechart.runtime.resident import Resident
from gatechart.stores import DEFAULT_URL, open_store
from gatechart.turn import begin, fit_payload, plain_payload
from gatechart.values import STARTED, AgentId, Event, HistoryEntry, Name, Page, Snapshot, Status, Verdict


class Runtime:
    """Hosts the agents of some graphs on one store. Open it with `async with Runtime.open(...) as runtime`."""

    def __init__(self, core: Core, registry: Registry) -> None:
        self._core = core
        self._registry = registry
        self._residents: WeakValueDictionary[AgentId, Resident] = WeakValueDictionary()

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        store: str | Store = DEFAULT_URL,
        *,
        graphs: Sequence[StateTransitionGraph] | StateTransitionGraph,
        services: Any = None,
        read_only: bool = False,
        clock: Clock | None = None,
        ids: Ids = random_id,
    ) -> AsyncIterator[Runtime]:
        """A runtime on the store; leaving it lets the turns under way end.

        store: a URL, `sqlite+aiosqlite:///agents.db` where left out (a relative path is one in the working directory),
        `memory:` to keep nothing; or a store of one's own. An empty database is created.
        graphs: those whose agents it hosts; of two versions of a graph the one given last is the newest.
        services: what actions need from outside, as `turn.services`.
        read_only: take no ownership of the store, and write nothing.

        Raises StoreOwnedError where another runtime owns the database, and the OutsideError that fits where the
        database is missing, locked, read-only, damaged, or of an older or newer schema.
        """
        Registry(graphs)  # what is wrong with the graphs is told before a database is made for them
        async with open_store(store, read_only=read_only) as opened:
            registry = Registry(graphs, is_durable=opened.is_durable)
            core = Core(opened, Committer(opened), services, clock or SystemClock(), ids, read_only)
            try:
                yield cls(core, registry)
            finally:
                await core.close()

    @property
    def graphs(self) -> tuple[StateTransitionGraph, ...]:
        """The newest version of each graph whose agents it hosts."""
        return self._registry.graphs

    def register(self, graph: StateTransitionGraph) -> None:
        """Adds a graph, or another version of one, to those whose agents it hosts.

        An agent keeps the version that it was started with for as long as that is registered; new agents get the
        version registered last. Raises DuplicateGraphError where there is one of this name and version already.
        """
        self._registry.register(graph)

    @property
    def under_way(self) -> int:
        """How many turns, timers, invokes and sends its agents have under way; those that wait for the clock count."""
        return len(self._core.tasks) + len(self._core.attending)

    async def start(
        self,
        graph: Name | StateTransitionGraph,
        *,
        at: Name,
        payload: Any = None,
        id: AgentId | None = None,  # noqa: A002
    ) -> Agent:
        """A new agent that has begun at the entry point, its entry actions run and its first turn committed.

        at: the entry point's name, by default that of its state.
        payload: what the entry point takes, as the model or as a mapping.
        id: the agent's own; made up where left out.

        Raises UnknownGraphError, EntryRefusedError, PayloadError, EntryGuardError, AgentExistsError, or what a failing
        entry action raises; then nothing was started.
        """
        self._core.admit("start", writes=True)
        chosen = self._registry.graph(graph)
        entry = chosen.entry_point(at)
        fitted = fit_payload(chosen.name, entry, payload)
        agent_id = checked_id(id) or self._core.ids()
        if chosen.runs_at_once and self._core.store.is_instant:
            return run_at_once(self._begin(chosen, entry, fitted, agent_id))
        return await Mailbox(self._core).run(lambda: self._begin(chosen, entry, fitted, agent_id))

    async def start_on(
        self,
        trigger: Name,
        payload: Any = None,
        *,
        id: AgentId | None = None,  # noqa: A002
    ) -> Agent:
        """A new agent, begun at the entry point that opens on the business trigger.

        Raises UnknownTriggerError, AmbiguousTriggerError where several graphs have one, and what `start` raises.
        """
        graph, entry = self._registry.opened_by(trigger)
        return await self.start(graph.name, at=entry.name, payload=payload, id=id)

    async def resume(self, id: AgentId) -> Agent:  # noqa: A002
        """The agent as it was last committed; no action runs.

        Raises UnknownAgentError, UnknownGraphError, and IncompatibleGraphError where the registered graph cannot take
        over what is stored.
        """
        self._core.admit("resume", writes=False)
        return Agent(await self._resident(id))

    async def find(
        self,
        *,
        graph: Name | None = None,
        state: Name | None = None,
        status: Status | str | None = None,
        after: AgentId | None = None,
        limit: int = 100,
    ) -> Page:
        """Agents in the order they were started, a page at a time: pass the page's `next` as `after`.

        state: active, as a leaf or around one. Raises UnknownGraphError, UnknownStateError, UnknownAgentError for
        `after`, PayloadError for a status or a limit that cannot be.
        """
        self._core.admit("find", writes=False)
        return await self._core.store.find(self._registry.query(graph, state, status, after, limit))

    async def history(
        self,
        id: AgentId,  # noqa: A002
        *,
        after: int = 0,
        limit: int | None = None,
    ) -> Sequence[HistoryEntry]:
        """The turns of any stored agent, as `Agent.history` gives them; its graph need not be registered."""
        self._core.admit("history", writes=False)
        check_part("history", after, limit)
        return await self._core.store.history(known_id(id), after=after, limit=limit)

    async def stop(self, id: AgentId) -> Snapshot:  # noqa: A002
        """Ends the agent in the state it is in; from then on it refuses every event. No action runs."""
        self._core.admit("stop", writes=True)
        return await (await self._resident(id)).stop()

    async def erase(self, id: AgentId) -> None:  # noqa: A002
        """Forgets the agent and its history, for good. Raises UnknownAgentError."""
        self._core.admit("erase", writes=True)
        resident = self._known(known_id(id))
        await (Mailbox(self._core).run(lambda: self._erase(id)) if resident is None else resident.erase())

    async def _begin(
        self, graph: StateTransitionGraph, entry: EntryPoint, payload: BaseModel | None, agent_id: AgentId
    ) -> Agent:
        name = f"{STARTED}{entry.name}"
        event = Event(name, plain_payload(payload, name), self._core.clock.now())
        with OpenTurn(agent_id):
            turn = await begin(graph, entry, payload, agent_id, event, self._core.services)
        self._core.check_kept(turn)
        if await self._core.committer.commit(turn) is Verdict.STALE:
            raise AgentExistsError(agent_id)
        resident = self._settle(graph, turn.snapshot)
        if turn.effects:
            resident.carry_out(turn.effects)
        return Agent(resident)

    async def _erase(self, agent_id: AgentId) -> None:
        await self._core.store.erase(agent_id)
        self._core.erasures += 1
        resident = self._known(agent_id)
        if resident is not None:  # it was resumed meanwhile
            resident.forget()

    async def _resident(self, agent_id: AgentId) -> Resident:
        resident = self._known(known_id(agent_id))
        if resident is not None and not self._core.read_only:
            return resident
        erasures = self._core.erasures
        snapshot = await self._core.store.load(agent_id)
        graph = self._registry.graph_for(snapshot)
        if erasures != self._core.erasures:  # it may be gone, or another one by now
            return await self._resident(agent_id)
        resident = self._settle(graph, snapshot)
        if self._core.read_only:  # the owner may have written since it was read last
            resident.see(snapshot)
        return resident

    def _known(self, agent_id: AgentId) -> Resident | None:
        resident = self._residents.get(agent_id)
        return None if resident is None or resident.is_erased else resident

    def _settle(self, graph: StateTransitionGraph, snapshot: Snapshot) -> Resident:
        """The agent's one place in memory: another call may have made it while this one waited for the store."""
        resident = self._known(snapshot.agent_id)
        if resident is None:
            resident = self._residents[snapshot.agent_id] = Resident(self._core, graph, snapshot)
        return resident
