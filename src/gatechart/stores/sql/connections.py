"""The connections of a database: those that read, and the one that writes in a thread of its own."""

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
    """Runs reads, some at a time. Each runs to its end: one that was cut off would leave its connection open."""

    def __init__(self, engine: AsyncEngine, is_cut: Callable[[Exception], bool] = _never) -> None:
        """is_cut: whether an error says that the connection was lost, so that another may do."""
        self._engine = engine
        self._is_cut = is_cut
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
                if self._is_cut(error):  # which SQLAlchemy does not learn of what it does not execute itself
                    await connection.invalidate(error)
                raise

    def _forget(self, read: asyncio.Task[object]) -> None:
        self._reads.discard(read)
        if not read.cancelled():
            read.exception()  # which nobody may be there to take


@asynccontextmanager
async def opened_reader(engine: AsyncEngine, is_cut: Callable[[Exception], bool] = _never) -> AsyncIterator[Reader]:
    """A reader on the engine, whose connections are closed when the reads under way have ended."""
    reader = Reader(engine, is_cut)
    try:
        yield reader
    finally:
        await reader.end()
        await engine.dispose()


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
