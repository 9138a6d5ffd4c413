"""How much mail waits for each agent, and who waits to bring more."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict, deque

from gatechart.errors import InboxFullError
from gatechart.hosting.limits import WhenFull
from gatechart.runtime.core import Core
from gatechart.values import AgentId


class InboxLimits:
    """Counts, so that no more mail is accepted for an agent than the limits allow."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._mail: Counter[AgentId] = Counter()  # accepted, and the agent is not done with it
        self._coming: Counter[AgentId] = Counter()  # that callers are about to bring
        self._queues: defaultdict[AgentId, deque[asyncio.Future[None]]] = defaultdict(deque)  # callers, for room

    async def enter(self, agent_id: AgentId) -> None:
        """Keeps room for mail that is about to be accepted, until `leave`.

        Raises InboxFullError, or RuntimeClosedError where the runtime closes before there is room.
        """
        if self._has_room(agent_id) and agent_id not in self._queues:
            self._coming[agent_id] += 1
            return
        if self._core.limits.when_full is WhenFull.RAISE:
            raise InboxFullError(agent_id, self._core.limits.inbox)
        admitted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues[agent_id].append(admitted)
        try:
            await self._core.called("post", admitted)
        except asyncio.CancelledError:
            if not admitted.cancelled():  # it was admitted at the same instant
                self.leave(agent_id)
            raise

    def leave(self, agent_id: AgentId) -> None:
        """Gives back the room of a caller, whose mail was accepted or not."""
        _count_down(self._coming, agent_id)
        self._admit(agent_id)

    def accepted(self, agent_id: AgentId) -> None:
        """Counts mail."""
        self._mail[agent_id] += 1

    def finished(self, agent_id: AgentId) -> None:
        """Counts mail no longer."""
        _count_down(self._mail, agent_id)
        self._admit(agent_id)

    def holds(self, agent_id: AgentId) -> bool:
        """Whether there is mail that the agent is not done with."""
        return agent_id in self._mail

    def forget(self, agent_id: AgentId) -> None:
        """Counts none of the agent's mail, which is about to be counted anew."""
        self._mail.pop(agent_id, None)

    def clear(self, agent_id: AgentId) -> None:
        """Counts none of the agent's mail, which is gone."""
        self.forget(agent_id)
        self._admit(agent_id)

    def _has_room(self, agent_id: AgentId) -> bool:
        return self._mail[agent_id] + self._coming[agent_id] < self._core.limits.inbox

    def _admit(self, agent_id: AgentId) -> None:
        """Lets those go on that have waited longest and still do, as many as there is room for."""
        queue = self._queues.get(agent_id)
        if queue is None:
            return
        while queue and (queue[0].done() or self._has_room(agent_id)):
            admitted = queue.popleft()
            if not admitted.done():
                self._coming[agent_id] += 1
                admitted.set_result(None)
        if not queue:
            del self._queues[agent_id]


def _count_down(counts: Counter[AgentId], agent_id: AgentId) -> None:
    counts[agent_id] -= 1
    if counts[agent_id] <= 0:
        del counts[agent_id]
