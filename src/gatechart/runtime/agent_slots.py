"""Slots for agents with mail on its way: where the mail waits, how much there is, and which callers wait for room."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from enum import Enum

from gatechart.errors import InboxFullError
from gatechart.hosting.limits import WhenFull
from gatechart.runtime.core import Core
from gatechart.values import AgentId, Mail


class SlotState(Enum):
    """Where mail goes when it is delivered to an agent."""

    OPEN = "open"  # to the agent if it is in memory; otherwise the agent is read first
    BEING_READ = "being read"  # held until the agent has been read from the store
    UNHOSTED = "unhosted"  # left in the store: the agent does not exist, or its graph is not registered
    COLLECTING = "collecting"  # as UNHOSTED, while the mail left in the store is being read
    OFFERED = "offered"  # queued behind the handoffs offered to an agent that does not exist yet


@dataclass(slots=True)
class AgentSlot:
    """The mail of one agent between its acceptance and the end of its turn."""

    waiting: int = 0  # accepted mail that the agent has not finished
    coming: int = 0  # mail that admitted callers are about to post
    callers: deque[asyncio.Future[None]] | None = None  # callers waiting for room
    held: list[Mail] | None = None  # mail held until the agent has been read
    is_unhosted: bool = False
    late: list[Mail] | None = None  # mail accepted while the store is being read for it
    offered: deque[Mail] | None = None  # mail, offers included, for an agent that does not exist yet
    is_called: bool = False  # a visitor has collected its mail, see `Inboxes.hand_over`

    @property
    def state(self) -> SlotState:
        """Where mail goes.

        An agent may be erased while offers to it are under way. Mail that arrives then stays in the store and is
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
        is_counting = self.waiting or self.coming or self.callers
        return not is_counting and not self.is_called and self.state is SlotState.OPEN


class AgentSlots:
    """The slots of agents by id, except idle ones. They keep inboxes within the limits."""

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
            await self._core.called("post", admitted)
        except asyncio.CancelledError:
            if not admitted.cancelled():  # it was admitted at the same moment
                self.leave(agent_id)
            raise

    def leave(self, agent_id: AgentId) -> None:
        """Give back a caller's room, whether or not its mail was accepted."""
        slot = self.of(agent_id)
        slot.coming -= 1
        self._admit(agent_id, slot)

    def finished(self, agent_id: AgentId) -> None:
        """Count one piece of the agent's mail as finished."""
        slot = self.of(agent_id)
        slot.waiting = max(slot.waiting - 1, 0)  # mail of an erased agent is already uncounted
        self._admit(agent_id, slot)

    def clear(self, agent_id: AgentId) -> None:
        """Reset the count of the agent's mail, which is gone."""
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
