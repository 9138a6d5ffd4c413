"""Backlogs: limits on outside mail that waits for an agent that may never exist, or for a distant moment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from gatechart.errors import BacklogFullError
from gatechart.runtime.core import Core
from gatechart.values import AgentId, Backlog

_SHARE: Final = 20  # while there is no room, counting takes at most 1/20 of the time


class Room:
    """A limit on a backlog that costs each post only one addition.

    The count is an upper bound: each post raises it, but not everything that leaves lowers it. When it reaches the
    limit, the store counts again. The store also makes the first count, so the bound holds after a restart, too.
    """

    def __init__(self, core: Core, backlog: Backlog, limit: int) -> None:
        self._core = core
        self._backlog = backlog
        self._limit = limit
        self._count: int | None = None  # upper bound on waiting mail and posts under way; None until first counted
        self._entered = 0  # posts so far
        self._under_way = 0  # posts that may not be committed yet
        self._was_full = False  # at the store's last count
        self._count_again_at = 0.0  # in the event loop's time
        self._counting = asyncio.Lock()

    async def is_there(self) -> bool:
        """Return whether there is room, as far as is known. The store counts only if it has not just done so."""
        await self._count_anew()
        return self._has_room()

    @asynccontextmanager
    async def kept(self, agent_id: AgentId) -> AsyncIterator[None]:
        """Keep room for mail that is posted to the agent inside the context. Raises BacklogFullError."""
        await self._count_anew(even_again=not self._was_full)
        if not self._has_room():
            raise BacklogFullError(agent_id, self._backlog.value, self._limit)
        self._count = (self._count or 0) + 1
        self._entered += 1
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    def left(self) -> None:
        """Record that one piece of mail has left the backlog."""
        if self._count:
            self._count -= 1

    async def _count_anew(self, *, even_again: bool = False) -> None:
        """Let the store count if there may be no room, but seldom unless `even_again`."""
        if self._has_room():
            return
        loop = asyncio.get_running_loop()
        async with self._counting:
            began = loop.time()
            if self._has_room() or (began < self._count_again_at and not even_again):
                return
            unseen = self._under_way - self._entered
            found = await self._core.store.count(self._backlog, most=self._limit)
            self._was_full = found >= self._limit
            self._count = found + unseen + self._entered  # plus posts under way when the count began or entered since
            self._count_again_at = loop.time() + (loop.time() - began) * _SHARE

    def _has_room(self) -> bool:
        return self._count is not None and self._count < self._limit
