"""The connections that read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncEngine

T = TypeVar("T")


class Reader:
    """Runs reads, some at a time. Each runs to its end: one that was cut off would leave its connection open."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._reads: set[asyncio.Task[object]] = set()
        self._is_open = True

    async def run(self, work: Callable[[Connection], T]) -> T:
        """The result of the work. A caller who is cancelled only stops waiting."""
        if not self._is_open:
            raise RuntimeError("the database is closed")
        read = asyncio.create_task(self._read(work))
        self._reads.add(read)
        read.add_done_callback(self._forget)
        return await asyncio.shield(read)

    async def end(self) -> None:
        """Begins no other read, and returns when nothing is being read."""
        self._is_open = False
        while self._reads:
            await asyncio.wait(self._reads)

    async def _read(self, work: Callable[[Connection], T]) -> T:
        async with self._engine.connect() as connection:
            return await connection.run_sync(work)

    def _forget(self, read: asyncio.Task[object]) -> None:
        self._reads.discard(read)
        if not read.cancelled():
            read.exception()  # which nobody may be there to take


@asynccontextmanager
async def opened_reader(engine: AsyncEngine) -> AsyncIterator[Reader]:
    """A reader on the engine, whose connections are closed when the reads under way have ended."""
    reader = Reader(engine)
    try:
        yield reader
    finally:
        await reader.end()
        await engine.dispose()
