"""The connections of a database: several for reading, and one for writing, with its own thread."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.ext.asyncio import AsyncEngine

logger = logging.getLogger(__name__)

T = TypeVar("T")


def _never(_error: Exception) -> bool:
    return False


class Reader:
    """A reader that runs several reads at a time.

    Each read runs to its end, even if its caller is cancelled. One that was cut off would leave its connection open.
    """

    def __init__(self, engine: AsyncEngine, is_cut: Callable[[Exception], bool] = _never) -> None:
        """Create a reader.

        is_cut: whether an error says that the connection was lost, so that another connection may succeed.
        """
        self._engine = engine
        self._is_cut = is_cut
        self._reads: set[asyncio.Task[object]] = set()
        self._is_open = True

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Return the result of the work. Cancelling the caller stops the wait, not the read."""
        if not self._is_open:
            raise RuntimeError("the database is closed")
        read = asyncio.create_task(self._read(work))
        self._reads.add(read)
        read.add_done_callback(self._forget)
        return await asyncio.shield(read)

    async def end(self) -> None:
        """Accept no more reads, and wait until those under way have ended."""
        self._is_open = False
        while self._reads:
            await asyncio.wait(self._reads)

    async def _read(self, work: Callable[[Connection], T]) -> T:
        try:
            return await self._read_once(work)
        except Exception as error:
            if not self._is_cut(error):
                raise
            logger.debug("a connection was lost; another is tried", exc_info=error)
            return await self._read_once(work)

    async def _read_once(self, work: Callable[[Connection], T]) -> T:
        async with self._engine.connect() as connection:
            try:
                return await connection.run_sync(work)
            except Exception as error:
                if self._is_cut(error):  # SQLAlchemy does not see errors of statements that bypass it
                    await connection.invalidate(error)
                raise

    def _forget(self, read: asyncio.Task[object]) -> None:
        self._reads.discard(read)
        if not read.cancelled():
            read.exception()  # marks it as retrieved, for the caller may be gone


@asynccontextmanager
async def opened_reader(engine: AsyncEngine, is_cut: Callable[[Exception], bool] = _never) -> AsyncIterator[Reader]:
    """Open a reader on the engine. At the end, wait for the reads under way and close their connections."""
    reader = Reader(engine, is_cut)
    try:
        yield reader
    finally:
        await reader.end()
        await engine.dispose()


class ThreadWriter:
    """A writer that runs transactions one after the other in a thread.

    Each transaction runs to its end even if its caller is cancelled.
    """

    def __init__(self, engine: Engine, thread: ThreadPoolExecutor) -> None:
        self._engine = engine
        self._thread = thread
        self._connection: Connection | None = None  # reused until a transaction fails

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Return the result of the work once its transaction is committed. Roll back if the work raises.

        Cancelling the caller withdraws a transaction that has not begun. Otherwise it only stops the wait.
        """
        return await asyncio.wrap_future(self._thread.submit(self._transaction, work))

    async def end(self) -> None:
        """Close the connection after the transaction under way."""
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
    """Open a writer on the engine. At the end, wait for the transaction under way and end the thread."""
    thread = ThreadPoolExecutor(1, thread_name_prefix="gatechart-writer")
    writer = ThreadWriter(engine, thread)
    try:
        yield writer
    finally:
        try:
            await writer.end()
        finally:  # even if cancelled: the transaction ends before the owner's lock is released
            thread.shutdown()
