"""Idle invocations: their functions only wait, so they release their slots and their time limits are paused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol


class TimeLimit(Protocol):
    """A limit on how long a function runs. Both calls may be repeated."""

    def stop(self) -> None:
        """Pause the limit."""
        ...

    def go_on(self) -> None:
        """Resume the limit with the time left."""
        ...


class Place(Protocol):
    """A slot that an invocation holds while it runs, and releases while it is idle. Both calls may be repeated."""

    async def take(self) -> None:
        """Wait until the slot is held."""
        ...

    def give_up(self) -> None:
        """Release the slot."""
        ...


class SharedPlace:
    """A slot among the concurrent invocations, held inside the block except while the invocation is idle."""

    def __init__(self, places: asyncio.Semaphore) -> None:
        """places: all slots."""
        self._places = places
        self._take_lock: asyncio.Lock | None = None  # created when the slot is first released
        self._is_held = self._is_over = False

    async def __aenter__(self) -> SharedPlace:
        await self._places.acquire()
        self._is_held = True
        return self

    async def __aexit__(self, *_: object) -> None:
        self._is_over = True
        if self._is_held:
            self._release()

    async def take(self) -> None:
        """Wait until the slot is held. After the block it is not taken again."""
        if self._is_held or self._is_over or self._take_lock is None:
            return
        async with self._take_lock:
            if not self._is_held:
                await self._places.acquire()
                self._is_held = True
            if self._is_over:
                self._release()

    def give_up(self) -> None:
        """Release the slot for another invocation."""
        if self._is_held:
            self._take_lock = self._take_lock or asyncio.Lock()
            self._release()

    def _release(self) -> None:
        self._is_held = False
        self._places.release()


class Idleness:
    """Tracks whether one attempt at a function is idle: it waits, and no other operation of it runs.

    Steps, calls and reports run inside blocks of `busy`. Anything else that the function awaits is not tracked.
    """

    def __init__(self, place: Place | None = None) -> None:
        """place: the slot to release while the attempt is idle."""
        self.limit: TimeLimit | None = None  # paused while the attempt is idle
        self._place = place
        self._busy = self._waits = 0
        self._is_over = False

    @asynccontextmanager
    async def busy(self) -> AsyncIterator[None]:
        """Count as busy inside the block. The block starts once the slot is held."""
        self._busy += 1
        try:
            await self._take_place()
            yield
        finally:
            self._busy -= 1
            self._settle()

    @asynccontextmanager
    async def waiting(self) -> AsyncIterator[None]:
        """Only wait inside the block, nested in a block of `busy`. Continue after it once the slot is held."""
        self._busy -= 1
        self._waits += 1
        self._settle()
        try:
            yield
        finally:
            self._waits -= 1
            self._busy += 1
        # Not in `finally`: it would delay a cancellation. A later step takes the slot.
        await self._take_place()

    def end(self) -> None:
        """Stop tracking. Whatever the function still does no longer affects slot and limit."""
        self._is_over = True

    async def _take_place(self) -> None:
        if self._place is not None and not self._is_over:
            await self._place.take()
        self._settle()

    def _settle(self) -> None:
        if self._is_over:
            return
        is_idle = self._waits > 0 and self._busy == 0
        if is_idle and self._place is not None:
            self._place.give_up()
        if self.limit is not None:
            self.limit.stop() if is_idle else self.limit.go_on()
