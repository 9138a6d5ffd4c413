"""Idle invocations: while a function only waits, its invocation gives up its place, and its time limit is paused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol


class TimeLimit(Protocol):
    """A limit on the running time of a function. Both methods are idempotent."""

    def stop(self) -> None:
        """Pause the limit."""
        ...

    def go_on(self) -> None:
        """Resume the limit with the remaining time."""
        ...


class Place(Protocol):
    """A place among the running invocations, given up while the invocation is idle. Both methods are idempotent."""

    async def take(self) -> None:
        """Wait for the place and hold it."""
        ...

    def give_up(self) -> None:
        """Release the place."""
        ...


class SharedPlace:
    """One of a limited number of places, held inside the block except while it is given up."""

    def __init__(self, places: asyncio.Semaphore) -> None:
        """places: counts the free places."""
        self._places = places
        self._taking: asyncio.Lock | None = None  # created when the place is first given up
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
        """Wait for the place and hold it. After the end of the block this has no effect."""
        if self._is_held or self._is_over or self._taking is None:
            return
        async with self._taking:
            if not self._is_held:
                await self._places.acquire()
                self._is_held = True
            if self._is_over:
                self._release()

    def give_up(self) -> None:
        """Release the place for another invocation."""
        if self._is_held:
            self._taking = self._taking or asyncio.Lock()
            self._release()

    def _release(self) -> None:
        self._is_held = False
        self._places.release()


class Idleness:
    """Tracks whether one attempt at a function is idle: it waits, and nothing else of it is running.

    Steps, calls and reports run in blocks of `busy`. Other awaits of the function are not tracked.
    """

    def __init__(self, place: Place | None = None) -> None:
        """place: given up while the attempt is idle."""
        self.limit: TimeLimit | None = None  # paused while the attempt is idle
        self._place = place
        self._busy = self._waits = 0
        self._is_over = False

    @asynccontextmanager
    async def busy(self) -> AsyncIterator[None]:
        """Count as running inside the block, which starts once the place is held."""
        self._busy += 1
        try:
            await self._resume()
            yield
        finally:
            self._busy -= 1
            self._settle()

    @asynccontextmanager
    async def waiting(self) -> AsyncIterator[None]:
        """Count as waiting inside the block, which is inside a block of `busy`; hold the place again afterwards."""
        self._busy -= 1
        self._waits += 1
        self._settle()
        try:
            yield
        finally:
            self._waits -= 1
            self._busy += 1
        # Skipped if the wait was cancelled, so that the cancellation is not delayed. A later step takes the place.
        await self._resume()

    def end(self) -> None:
        """Stop tracking: whatever the function still does no longer changes the place or the limit."""
        self._is_over = True

    async def _resume(self) -> None:
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
