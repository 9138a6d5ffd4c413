"""Bounds on mail from outside that waits for what may never come: for an agent, or for a moment far ahead."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from gatechart.errors import BacklogFullError
from gatechart.runtime.core import Core
from gatechart.values import AgentId, Backlog

_SHARE: Final = 20  # of the time, that counting may take where there is no room: one part of so many


class Room:
    """Keeps a backlog within a limit, at the cost of a number for each post.

    The number is what waits at the most: it goes up with each post, and not always down with what is over. Where it has
    come to the limit, the store counts anew, as it does at first; so it is right after a restart, too.
    """

    def __init__(self, core: Core, backlog: Backlog, limit: int) -> None:
        self._core = core
        self._backlog = backlog
        self._limit = limit
        self._count: int | None = None  # what waits, at the most, with what is being posted; None: not counted yet
        self._entered = 0  # posts, ever
        self._under_way = 0  # posts that may not be committed yet
        self._was_full = False  # when the store counted last
        self._count_again_at = 0.0  # in the event loop's time
        self._counting = asyncio.Lock()

    async def is_there(self) -> bool:
        """Whether there is room, as far as is known: the store counts only where it has not just done so."""
        await self._count_anew()
        return self._has_room()

    @asynccontextmanager
    async def kept(self, agent_id: AgentId) -> AsyncIterator[None]:
        """Keeps room for mail to the agent, which is posted meanwhile. Raises BacklogFullError."""
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
        """Takes note that mail of the backlog is over."""
        if self._count:
            self._count -= 1

    async def _count_anew(self, *, even_again: bool = False) -> None:
        """Has the store count where there may be no room; seldom, unless told to count even again."""
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
            self._count = found + unseen + self._entered  # with what was on its way, or came while the store counted
            self._count_again_at = loop.time() + (loop.time() - began) * _SHARE

    def _has_room(self) -> bool:
        return self._count is not None and self._count < self._limit
