"""The one connection that writes, in a thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TypeVar

from sqlalchemy import Connection, Engine

T = TypeVar("T")


class ThreadWriter:
    """Runs transactions, one after the other. Each runs to its end in the thread, whoever stops waiting for it."""

    def __init__(self, engine: Engine, thread: ThreadPoolExecutor) -> None:
        self._engine = engine
        self._thread = thread
        self._connection: Connection | None = None  # kept from one transaction to the next, until one fails

    async def run(self, work: Callable[[Connection], T]) -> T:
        """The result of the work, once its transaction is committed; taken back where it raises.

        A caller who is cancelled withdraws a transaction that has not begun, and otherwise only stops waiting.
        """
        return await asyncio.wrap_future(self._thread.submit(self._transaction, work))

    async def end(self) -> None:
        """Closes the connection, behind the transaction under way."""
        await asyncio.wrap_future(self._thread.submit(self._disconnect))

    def _transaction(self, work: Callable[[Connection], T]) -> T:
        if self._connection is None:
            self._connection = self._engine.connect()
        try:
            with self._connection.begin():
                return work(self._connection)
        except BaseException:
            self._give_back()
            raise

    def _give_back(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _disconnect(self) -> None:
        self._give_back()
        self._engine.dispose()


@asynccontextmanager
async def opened_writer(engine: Engine) -> AsyncIterator[ThreadWriter]:
    """A writer on the engine, which ends with it: behind the transaction under way, and with the thread."""
    thread = ThreadPoolExecutor(1, thread_name_prefix="gatechart-writer")
    writer = ThreadWriter(engine, thread)
    try:
        yield writer
    finally:
        try:
            await writer.end()
        finally:  # cancelled or not: what was begun is ended before the owner's lock is let go
            thread.shutdown()
