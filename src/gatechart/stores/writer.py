"""The one connection that writes, in a thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TypeVar

from sqlalchemy import Connection, Engine

T = TypeVar("T")


class Writer:
    """Runs transactions, one after the other. Each runs to its end in the thread, whoever stops waiting for it."""

    def __init__(self, engine: Engine, thread: ThreadPoolExecutor) -> None:
        self._engine = engine
        self._thread = thread

    async def run(self, work: Callable[[Connection], T]) -> T:
        """The result of the work, once its transaction is committed; taken back where it raises.

        A caller who is cancelled withdraws a transaction that has not begun, and otherwise only stops waiting.
        """
        return await asyncio.wrap_future(self._thread.submit(self._transaction, work))

    def _transaction(self, work: Callable[[Connection], T]) -> T:
        with self._engine.begin() as connection:
            return work(connection)


@asynccontextmanager
async def opened_writer(engine: Engine) -> AsyncIterator[Writer]:
    """A writer on the engine, which ends with it: behind the transaction under way, and with the thread."""
    thread = ThreadPoolExecutor(1, thread_name_prefix="gatechart-writer")
    try:
        yield Writer(engine, thread)
    finally:
        try:
            await asyncio.wrap_future(thread.submit(engine.dispose))
        finally:  # cancelled or not: what was begun is ended before the owner's lock is let go
            thread.shutdown()
