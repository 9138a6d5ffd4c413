"""One slot for each agent whose mail is on its way: where the mail waits, how much, and who waits to bring more."""

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
    """Where mail goes that is delivered to an agent."""

    OPEN = "open"  # to the agent if it is in memory; else the agent is read first
    BEING_READ = "being read"  # it is held until the agent has been read from the store
    UNHOSTED = "unhosted"  # it stays in the store: the agent is not there, or its graph is not registered
    COLLECTING = "collecting"  # as UNHOSTED, while what has stayed there is read
    OFFERED = "offered"  # behind the handoffs that are offered to an agent that does not exist yet


@dataclass(slots=True)
class AgentSlot:
    """The mail of one agent, between its acceptance and the end of its turn."""

    waiting: int = 0  # accepted, and the agent is not done with it
    coming: int = 0  # that callers are about to bring
    callers: deque[asyncio.Future[None]] | None = None  # that wait for room
    held: list[Mail] | None = None  # until the agent has been read
    is_unhosted: bool = False
    late: list[Mail] | None = None  # accepted while the store is asked for what waits there
    offered: deque[Mail] | None = None  # for an agent that does not exist yet, offers among it
    is_called: bool = False  # a visitor has collected its mail, see `Inboxes.hand_over`

    @property
    def state(self) -> SlotState:
        """Where mail goes.

        An agent may be erased while offers to it are under way. What comes then stays in the store all the same, and
        is collected behind them; so being unhosted goes first.
        """
        if self.is_unhosted:
            return SlotState.UNHOSTED if self.late is None else SlotState.COLLECTING
        if self.offered is not None:
            return SlotState.OFFERED
        return SlotState.OPEN if self.held is None else SlotState.BEING_READ

    @property
    def is_idle(self) -> bool:
        """Whether the slot says no more than that there is none."""
        is_counting = self.waiting or self.coming or self.callers
        return not is_counting and not self.is_called and self.state is SlotState.OPEN


class AgentSlots:
    """The slots by agent, as many as are not idle. Keeps inboxes within the limits."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._slots: dict[AgentId, AgentSlot] = {}

    def of(self, agent_id: AgentId) -> AgentSlot:
        """Return the agent's slot, made if it has none. Whoever leaves it idle calls `tidy`."""
        slot = self._slots.get(agent_id)
        if slot is None:
            slot = self._slots[agent_id] = AgentSlot()
        return slot

    def known(self, agent_id: AgentId) -> AgentSlot | None:
        """Return the agent's slot, if it has one."""
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
            if not admitted.cancelled():  # it was admitted at the same instant
                self.leave(agent_id)
            raise

    def leave(self, agent_id: AgentId) -> None:
        """Give back the room of a caller, whose mail was accepted or not."""
        slot = self.of(agent_id)
        slot.coming -= 1
        self._admit(agent_id, slot)

    def finished(self, agent_id: AgentId) -> None:
        """Count mail of the agent no longer."""
        slot = self.of(agent_id)
        slot.waiting = max(slot.waiting - 1, 0)  # what was erased is counted no longer already
        self._admit(agent_id, slot)

    def clear(self, agent_id: AgentId) -> None:
        """Count none of the agent's mail, which is gone."""
        slot = self.of(agent_id)
        slot.waiting = 0
        self._admit(agent_id, slot)

    def _has_room(self, slot: AgentSlot) -> bool:
        return slot.waiting + slot.coming < self._core.limits.inbox

    def _admit(self, agent_id: AgentId, slot: AgentSlot) -> None:
        """Let those go on that have waited longest and still do, as many as there is room for."""
        while slot.callers and (slot.callers[0].done() or self._has_room(slot)):
            admitted = slot.callers.popleft()
            if not admitted.done():
                slot.coming += 1
                admitted.set_result(None)
        if slot.is_idle:
            self._slots.pop(agent_id, None)
