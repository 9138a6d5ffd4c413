"""Idle invocations: their functions only wait, so they hold no place and their time limits stand still."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol


class TimeLimit(Protocol):
    """A limit on how long a function runs. Both calls may be repeated."""

    def stop(self) -> None:
        """Let it stand still."""
        ...

    def go_on(self) -> None:
        """Let it run on with what is left."""
        ...


class Place(Protocol):
    """What an invocation takes up while it runs, and gives up while it is idle. Both calls may be repeated."""

    async def take(self) -> None:
        """Wait until the place is held."""
        ...

    def give_up(self) -> None:
        """Give the place up."""
        ...


class SharedPlace:
    """A place among the invocations that run at once, held inside the block except while it is given up."""

    def __init__(self, places: asyncio.Semaphore) -> None:
        """places: all that there are."""
        self._places = places
        self._taking: asyncio.Lock | None = None  # made when the place is first given up
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
        """Wait until the place is held. After the block it is not taken again."""
        if self._is_held or self._is_over or self._taking is None:
            return
        async with self._taking:
            if not self._is_held:
                await self._places.acquire()
                self._is_held = True
            if self._is_over:
                self._release()

    def give_up(self) -> None:
        """Give the place to another invocation."""
        if self._is_held:
            self._taking = self._taking or asyncio.Lock()
            self._release()

    def _release(self) -> None:
        self._is_held = False
        self._places.release()


class Idleness:
    """Whether one attempt at a function is idle: it waits, and nothing else of it is under way.

    Steps, calls and reports are under way, each in a block of `busy`; what it awaits besides is not known here.
    """

    def __init__(self, place: Place | None = None) -> None:
        """place: what it gives up while it is idle."""
        self.limit: TimeLimit | None = None  # stands still while it is idle
        self._place = place
        self._busy = self._waits = 0
        self._is_over = False

    @asynccontextmanager
    async def busy(self) -> AsyncIterator[None]:
        """Be under way inside the block, which begins once there is a place."""
        self._busy += 1
        try:
            await self._go_on()
            yield
        finally:
            self._busy -= 1
            self._settle()

    @asynccontextmanager
    async def waiting(self) -> AsyncIterator[None]:
        """Only wait inside the block, which is inside one of `busy`; go on behind it once there is a place."""
        self._busy -= 1
        self._waits += 1
        self._settle()
        try:
            yield
        finally:
            self._waits -= 1
            self._busy += 1
        # Not when the wait was cancelled: nobody may hold up a cancellation. A later step takes the place.
        await self._go_on()

    def end(self) -> None:
        """Let go of place and limit: what the function still does, ended or not, changes neither."""
        self._is_over = True

    async def _go_on(self) -> None:
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
