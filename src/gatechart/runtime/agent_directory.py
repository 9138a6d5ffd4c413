"""Directory of agents: the agents in memory, and one slot for each agent with pending mail or reads.

The agents in memory are those at work, those in use by callers, and the most recently used.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol
from weakref import WeakValueDictionary

from pydantic import BaseModel

from gatechart.errors.event import AgentExistsError
from gatechart.errors.operation import InboxFullError, IncompatibleGraphError
from gatechart.errors.root import DefinitionError, EventError
from gatechart.graph.definition import EntryPoint
from gatechart.graph.graph import AnyGraph
from gatechart.hosting.idempotency import AppliedIds, turn_of, with_id
from gatechart.hosting.limits import WhenFull
from gatechart.hosting.migration import as_of_today, migrated, read_pending
from gatechart.hosting.registry import Registry, in_full
from gatechart.hosting.turn_guard import OpenTurn
from gatechart.runtime.core import Core, Surroundings
from gatechart.runtime.live_agent import LiveAgent
from gatechart.turn.rollback import forked
from gatechart.turn.turns import begin
from gatechart.values.agents import Event, Snapshot
from gatechart.values.commits import TurnRecord, Verdict
from gatechart.values.mail import Mail
from gatechart.values.names import AgentId

logger = logging.getLogger(__name__)

NOTHING_TO_HOLD: Final = nullcontext()  # with an instant store, nothing else can run in between


class SlotState(Enum):
    """The destination of mail for an agent."""

    OPEN = "open"  # to the agent if it is in memory; otherwise the agent is read first
    BEING_READ = "being read"  # held until the agent has been read from the store
    UNHOSTED = "unhosted"  # it stays in the store: the agent does not exist, or its graph is not registered
    COLLECTING = "collecting"  # as UNHOSTED, while its mail is being read from the store
    OFFERED = "offered"  # queued behind the handoffs offered to an agent that does not exist yet


@dataclass(slots=True)
class AgentSlot:
    """Pending work of one agent: mail between its acceptance and the end of its turn, and reads of the agent."""

    waiting: int = 0  # accepted mail that the agent has not finished
    coming: int = 0  # mail that admitted callers will post
    callers: deque[asyncio.Future[None]] | None = None  # callers waiting for room
    held: list[Mail] | None = None  # mail held until the agent has been read
    is_unhosted: bool = False
    late: list[Mail] | None = None  # mail accepted while the store is being read for it
    offered: deque[Mail] | None = None  # mail, offers included, for an agent that does not exist yet
    is_called: bool = False  # a runtime without background work has collected its mail, see `Inboxes.hand_over`
    readers: int = 0  # running calls that read or start the agent
    agent: LiveAgent | None = None  # kept in memory for the readers, once read

    @property
    def state(self) -> SlotState:
        """The destination of mail.

        An agent may be erased while offers to it are pending. Mail that arrives then stays in the store and is
        collected after the offers, so UNHOSTED comes first.
        """
        if self.is_unhosted:
            return SlotState.UNHOSTED if self.late is None else SlotState.COLLECTING
        if self.offered is not None:
            return SlotState.OFFERED
        return SlotState.OPEN if self.held is None else SlotState.BEING_READ

    @property
    def is_idle(self) -> bool:
        """Whether the slot holds nothing and can be dropped."""
        is_counting = self.waiting or self.coming or self.callers or self.readers
        return not is_counting and not self.is_called and self.state is SlotState.OPEN


class AgentSlots:
    """The slots of agents by id, except idle ones. They keep inboxes within their limits."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._slots: dict[AgentId, AgentSlot] = {}

    def of(self, agent_id: AgentId) -> AgentSlot:
        """Return the agent's slot, creating it if needed. A caller that leaves it idle calls `tidy`."""
        slot = self._slots.get(agent_id)
        if slot is None:
            slot = self._slots[agent_id] = AgentSlot()
        return slot

    def known(self, agent_id: AgentId) -> AgentSlot | None:
        """Return the agent's slot if it has one."""
        return self._slots.get(agent_id)

    def unhosted(self) -> list[AgentId]:
        """List the agents whose mail stays in the store."""
        return [agent_id for agent_id, slot in self._slots.items() if slot.is_unhosted]

    def tidy(self, agent_id: AgentId) -> None:
        """Drop the agent's slot if it is idle."""
        slot = self._slots.get(agent_id)
        if slot is not None and slot.is_idle:
            del self._slots[agent_id]

    async def enter(self, agent_id: AgentId) -> None:
        """Reserve room for mail that is about to be accepted, until `leave`.

        Raises InboxFullError, or RuntimeClosedError if the runtime closes before there is room.
        """
        slot = self.of(agent_id)
        if not slot.callers and self._has_room(slot):
            slot.coming += 1
            return
        if self._core.limits.when_full is WhenFull.RAISE:
            raise InboxFullError(agent_id, self._core.limits.inbox)
        admitted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if slot.callers is None:
            slot.callers = deque()
        slot.callers.append(admitted)
        try:
            await self._core.wait_for_caller("post", admitted)
        except asyncio.CancelledError:
            if not admitted.cancelled():  # it was admitted at the same moment
                self.leave(agent_id)
            raise

    def leave(self, agent_id: AgentId) -> None:
        """Free the room of a caller, whether or not its mail was accepted."""
        slot = self.of(agent_id)
        slot.coming -= 1
        self._admit(agent_id, slot)

    def finished(self, agent_id: AgentId) -> None:
        """Count one piece of the agent's mail as finished."""
        slot = self.of(agent_id)
        slot.waiting = max(slot.waiting - 1, 0)  # mail of an erased agent is already uncounted
        self._admit(agent_id, slot)

    def clear(self, agent_id: AgentId) -> None:
        """Reset the count of the agent's mail after all of it was removed."""
        slot = self.of(agent_id)
        slot.waiting = 0
        self._admit(agent_id, slot)

    def _has_room(self, slot: AgentSlot) -> bool:
        return slot.waiting + slot.coming < self._core.limits.inbox

    def _admit(self, agent_id: AgentId, slot: AgentSlot) -> None:
        """Admit the longest-waiting callers that are still waiting, while there is room."""
        while slot.callers and (slot.callers[0].done() or self._has_room(slot)):
            admitted = slot.callers.popleft()
            if not admitted.done():
                slot.coming += 1
                admitted.set_result(None)
        if slot.is_idle:
            self._slots.pop(agent_id, None)


class AgentSurroundings(Surroundings, Protocol):
    """Services that a directory needs, besides those for its agents."""

    def arrived(self, agent: LiveAgent) -> None:
        """Record that the agent was loaded into memory."""
        ...


class AgentDirectory:
    """The live agents by id; others are read from the store. No agent is ever in memory twice."""

    def __init__(self, core: Core, registry: Registry, surroundings: AgentSurroundings) -> None:
        self._core = core
        self._registry = registry
        self._surroundings = surroundings
        self._recent: OrderedDict[AgentId, LiveAgent] = OrderedDict()  # the most recently used last
        self._others: WeakValueDictionary[AgentId, LiveAgent] = WeakValueDictionary()  # kept alive by other references
        self.slots = AgentSlots(core)

    def known(self, agent_id: AgentId) -> LiveAgent | None:
        """Return the agent if it is in memory."""
        agent = self._recent.get(agent_id)
        if agent is None and self._others:
            agent = self._others.get(agent_id)
        return None if agent is None or agent.is_erased else agent

    async def get(self, agent_id: AgentId) -> LiveAgent:
        """Return the agent, loaded if needed. Raises UnknownAgentError, UnknownGraphError, IncompatibleGraphError."""
        agent = self.known(agent_id)
        if agent is not None and not self._core.read_only:
            self._keep(agent)
            return agent
        erasures = self._core.erasures
        with self.holding((agent_id,)):
            snapshot = await self._core.store.load(agent_id)
            if erasures != self._core.erasures:  # the agent may be erased, or replaced by a new one
                return await self.get(agent_id)
            agent, _ = await self.host(snapshot)
        if self._core.read_only:  # the owner may have written since the last read
            agent.see(snapshot)
        return agent

    async def get_many(self, agent_ids: Sequence[AgentId]) -> Sequence[LiveAgent]:
        """Return the agents that exist and can be hosted."""
        with self.holding(agent_ids):
            return await self._get_many(agent_ids)

    def holding(self, agent_ids: Sequence[AgentId]) -> AbstractContextManager[None]:
        """Keep the agents in memory, once loaded, until the context ends."""
        # Between a read of the store and its answer, the agent may be loaded, commit, and be dropped again. The
        # answer would then be out of date, and the next commit of an agent built from it would be stale.
        return NOTHING_TO_HOLD if self._core.store.is_instant else self._holding(agent_ids)

    @contextmanager
    def _holding(self, agent_ids: Sequence[AgentId]) -> Iterator[None]:
        for agent_id in agent_ids:
            slot = self.slots.of(agent_id)
            slot.readers += 1
            slot.agent = slot.agent or self.known(agent_id)
        try:
            yield
        finally:
            for agent_id in agent_ids:
                slot = self.slots.of(agent_id)
                slot.readers -= 1
                if not slot.readers:
                    slot.agent = None
                    self.slots.tidy(agent_id)

    async def _get_many(self, agent_ids: Sequence[AgentId]) -> Sequence[LiveAgent]:
        erasures = self._core.erasures
        snapshots = await self._core.store.load_many(agent_ids)
        hosted: list[LiveAgent] = []
        for position, snapshot in enumerate(snapshots):
            if erasures != self._core.erasures:
                return [*hosted, *await self._get_many([snapshot.agent_id for snapshot in snapshots[position:]])]
            try:
                agent, _ = await self.host(snapshot)
                hosted.append(agent)
            except (EventError, DefinitionError) as error:
                facts = {"agent_id": snapshot.agent_id, "graph": snapshot.graph, "reason": str(error)}
                text = "an agent cannot be hosted: %(agent_id)s, graph %(graph)s: %(reason)s"
                logger.error(text, facts, extra=facts)  # noqa: TRY400  the error message has all facts
        return hosted

    async def home_of(self, snapshot: Snapshot) -> tuple[AnyGraph, TurnRecord | None]:
        """Return the graph that drives a stored agent from now on, and the turn that migrates it there, if needed.

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
        migrating = self._migrate(graph, turn.numbered(self._core.number))
        return await (migrating if self._core.store.is_instant else asyncio.shield(self._core.spawn(migrating)))

    async def _migrate(self, graph: AnyGraph, turn: TurnRecord) -> tuple[LiveAgent, TurnRecord | None]:
        """Commit a migration and carry it out, in a task that no caller can cancel between the two."""
        agent_id = turn.snapshot.agent_id
        with self.holding((agent_id,)):
            if await self._core.committer.commit(turn) is Verdict.STALE:
                return await self.host(await self._core.store.load(agent_id))
            agent = self.settle(graph, turn.snapshot)
            agent.tell(turn)
        return agent, turn

    async def begin(
        self, graph: AnyGraph, entry: EntryPoint, payload: BaseModel | None, agent_id: AgentId, event: Event
    ) -> LiveAgent | None:
        """Start an agent and return it; None if its event has started it already. payload: of `fit_payload`.

        Raises AgentExistsError, and the exceptions of `turn.begin`.
        """
        with OpenTurn(agent_id):
            turn = await begin(graph, entry, payload, agent_id, event, self._core.services)
        return await self._add(graph, turn)

    async def fork(self, target: Snapshot, agent_id: AgentId, event: Event) -> LiveAgent | None:
        """Start an agent from another agent's snapshot, and return it; None if its event has started it already.

        Raises AgentExistsError, UnknownGraphError and IncompatibleGraphError.
        """
        with OpenTurn(agent_id):
            graph, today = as_of_today(self._registry, target, event.time)
            turn = forked(graph, today, agent_id, event, self._core.services)
        return await self._add(graph, turn)

    async def _add(self, graph: AnyGraph, turn: TurnRecord) -> LiveAgent | None:
        agent_id, event = turn.snapshot.agent_id, turn.event
        with self.holding((agent_id,)), self._core.telemetry.begin(turn, None) as traced:
            turn = traced.numbered(self._core.number)
            if await self._core.committer.commit(turn) is Verdict.STALE:
                if await turn_of(self._core.store, agent_id, event) is not None:
                    return None
                raise AgentExistsError(agent_id)
            agent = self.settle(graph, turn.snapshot, with_id(frozenset(), event.id))
        agent.tell(turn)
        return agent

    def settle(self, graph: AnyGraph, snapshot: Snapshot, applied: AppliedIds | None = None) -> LiveAgent:
        """Return the one live agent; another call may have created it while this one waited for the store.

        applied: the ids of the events that the agent has applied; None if only the store knows them.
        """
        agent = self.known(snapshot.agent_id)
        if agent is None:
            agent = LiveAgent(self._core, graph, snapshot, self._surroundings, applied)
            self._keep(agent)
            slot = self.slots.known(snapshot.agent_id)
            if slot is not None and slot.readers:
                slot.agent = agent
            self._surroundings.arrived(agent)
        else:
            self._keep(agent)
        return agent

    def _keep(self, agent: LiveAgent) -> None:
        """Keep the agent in memory as one of the most recently used."""
        agent_id = agent.snapshot.agent_id
        self._recent[agent_id] = agent
        self._recent.move_to_end(agent_id)
        if len(self._recent) > self._core.limits.resident:
            oldest_id, oldest = self._recent.popitem(last=False)
            self._others[oldest_id] = oldest
