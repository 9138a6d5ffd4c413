"""Directory of the agents in memory: those at work, those in use by callers, and the most recently needed."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final
from weakref import WeakValueDictionary

from gatechart.errors import DefinitionError, EventError, IncompatibleGraphError
from gatechart.graph import AnyGraph
from gatechart.hosting.idempotency import AppliedIds
from gatechart.hosting.migration import migrated, read_pending
from gatechart.hosting.registry import Registry, in_full
from gatechart.runtime.core import Core
from gatechart.runtime.live_agent import LiveAgent, Surroundings
from gatechart.values import AgentId, Snapshot, TurnRecord, Verdict

logger = logging.getLogger(__name__)

NOTHING_TO_HOLD: Final = nullcontext()  # with an instant store, nothing else can run in between


class AgentDirectory:
    """The live agents by id; others are read from the store. No agent is ever in memory twice."""

    def __init__(self, core: Core, registry: Registry, surroundings: Surroundings) -> None:
        self._core = core
        self._registry = registry
        self._surroundings = surroundings
        self._recent: OrderedDict[AgentId, LiveAgent] = OrderedDict()  # the most recently needed last
        self._others: WeakValueDictionary[AgentId, LiveAgent] = WeakValueDictionary()  # referred to from elsewhere
        self._awaited: Counter[AgentId] = Counter()  # agents being read or started, with a count of the callers
        self._held: dict[AgentId, LiveAgent] = {}  # those of the awaited agents that are in memory

    def known(self, agent_id: AgentId) -> LiveAgent | None:
        """Return the agent if it is in memory."""
        agent = self._recent.get(agent_id)
        if agent is None and self._others:
            agent = self._others.get(agent_id)
        return None if agent is None or agent.is_erased else agent

    async def get(self, agent_id: AgentId) -> LiveAgent:
        """Return the agent, read if needed. Raises UnknownAgentError, UnknownGraphError, IncompatibleGraphError."""
        agent = self.known(agent_id)
        if agent is not None and not self._core.read_only:
            self._keep(agent)
            return agent
        erasures = self._core.erasures
        with self.holding((agent_id,)):
            snapshot = await self._core.store.load(agent_id)
            if erasures != self._core.erasures:  # it may be gone, or replaced by a new agent
                return await self.get(agent_id)
            agent, _ = await self.host(snapshot)
        if self._core.read_only:  # the owner may have written since the last read
            agent.see(snapshot)
        return agent

    async def get_many(self, agent_ids: Sequence[AgentId]) -> Sequence[LiveAgent]:
        """Return those of the agents that exist and can be hosted."""
        with self.holding(agent_ids):
            return await self._get_many(agent_ids)

    def holding(self, agent_ids: Sequence[AgentId]) -> AbstractContextManager[None]:
        """Keep the agents in memory, once they are there, until the context ends."""
        # Between a read of the store and its answer, the agent may come into memory, commit, and be dropped again. The
        # answer would then be out of date, and the next commit of an agent made from it would be stale.
        return NOTHING_TO_HOLD if self._core.store.is_instant else self._holding(agent_ids)

    @contextmanager
    def _holding(self, agent_ids: Sequence[AgentId]) -> Iterator[None]:
        for agent_id in agent_ids:
            self._awaited[agent_id] += 1
            agent = self.known(agent_id)
            if agent is not None:
                self._held[agent_id] = agent
        try:
            yield
        finally:
            for agent_id in agent_ids:
                self._awaited[agent_id] -= 1
                if not self._awaited[agent_id]:
                    del self._awaited[agent_id]
                    self._held.pop(agent_id, None)

    async def _get_many(self, agent_ids: Sequence[AgentId]) -> Sequence[LiveAgent]:
        erasures = self._core.erasures
        snapshots = await self._core.store.load_many(agent_ids)
        hosted: list[LiveAgent] = []
        for place, snapshot in enumerate(snapshots):
            if erasures != self._core.erasures:
                return [*hosted, *await self._get_many([each.agent_id for each in snapshots[place:]])]
            try:
                agent, _ = await self.host(snapshot)
                hosted.append(agent)
            except (EventError, DefinitionError) as error:
                logger.error(  # noqa: TRY400  the error message says it all
                    "an agent cannot be hosted", extra={"agent_id": snapshot.agent_id, "reason": str(error)}
                )
        return hosted

    async def home_of(self, snapshot: Snapshot) -> tuple[AnyGraph, TurnRecord | None]:
        """Return the graph with which a stored agent continues, and the turn that migrates it, if it needs one.

        Raises as `get` does.
        """
        try:
            graph = self._registry.graph_for(snapshot)
            if graph.version == snapshot.graph_version:
                return graph, None
            pending = await read_pending(self._core.store, snapshot.agent_id)
            steps = self._registry.way_for(snapshot)
            return graph, migrated(graph, steps, snapshot, pending, self._core.clock.now())
        except IncompatibleGraphError as error:
            raise await in_full(self._core.store, error, snapshot) from error

    async def host(self, snapshot: Snapshot) -> tuple[LiveAgent, TurnRecord | None]:
        """Return the live agent on its current graph version, and the turn that migrated it, if any.

        Raises as `get` does.
        """
        graph, turn = await self.home_of(snapshot)
        if turn is None:
            return self.settle(graph, snapshot), None
        self._core.admit("migrate", writes=True)
        migrating = self._migrate(graph, self._core.numbered(turn))
        return await (migrating if self._core.store.is_instant else asyncio.shield(self._core.spawn(migrating)))

    async def _migrate(self, graph: AnyGraph, turn: TurnRecord) -> tuple[LiveAgent, TurnRecord | None]:
        """Commit and carry out a migration, in a task that no caller can cancel between the two."""
        agent_id = turn.snapshot.agent_id
        with self.holding((agent_id,)):
            if await self._core.committer.commit(turn) is Verdict.STALE:
                return await self.host(await self._core.store.load(agent_id))
            agent = self.settle(graph, turn.snapshot)
            agent.tell(turn)
        return agent, turn

    def settle(self, graph: AnyGraph, snapshot: Snapshot, applied: AppliedIds | None = None) -> LiveAgent:
        """Return the one live agent, which another call may have made while this one waited for the store.

        applied: the ids of the events that the agent has applied; None if only the store knows them.
        """
        agent = self.known(snapshot.agent_id)
        if agent is None:
            agent = LiveAgent(self._core, graph, snapshot, self._surroundings, applied)
            self._keep(agent)
            if snapshot.agent_id in self._awaited:
                self._held[snapshot.agent_id] = agent
            self._surroundings.arrived(agent)
        else:
            self._keep(agent)
        return agent

    def _keep(self, agent: LiveAgent) -> None:
        """Keep the agent in memory as one of the most recently needed."""
        agent_id = agent.snapshot.agent_id
        self._recent[agent_id] = agent
        self._recent.move_to_end(agent_id)
        if len(self._recent) > self._core.limits.resident:
            other_id, other = self._recent.popitem(last=False)
            self._others[other_id] = other
