"""The interface to a kind of database, implemented by a module for each, and the reader that all kinds share."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from typing import Protocol, TypeVar

from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncEngine

from gatechart.tasks import start_task

logger = logging.getLogger(__name__)

T = TypeVar("T")


def _never(_error: Exception) -> bool:
    return False


class Reader:
    """A reader that runs several reads at a time.

    A read runs to its end even if its caller is cancelled, as an interrupted read would leave its connection open.
    """

    def __init__(self, engine: AsyncEngine, is_cut: Callable[[Exception], bool] = _never) -> None:
        """Create a reader.

        is_cut: whether an error means that the connection was lost, so that a retry on another one may succeed.
        """
        self._engine = engine
        self._is_cut = is_cut
        self._reads: set[asyncio.Task[object]] = set()
        self._is_open = True

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Return the result of the work. Cancelling the caller stops the wait, not the read."""
        if not self._is_open:
            raise RuntimeError("the database is closed")
        read = start_task(self._read(work))
        self._reads.add(read)
        read.add_done_callback(self._forget)
        return await asyncio.shield(read)

    async def end(self) -> None:
        """Refuse further reads, and wait for the running ones."""
        self._is_open = False
        while self._reads:
            await asyncio.wait(self._reads)

    async def _read(self, work: Callable[[Connection], T]) -> T:
        try:
            return await self._read_once(work)
        except Exception as error:
            if not self._is_cut(error):
                raise
            logger.debug("a connection was lost; retrying on another one", exc_info=error)
            return await self._read_once(work)

    async def _read_once(self, work: Callable[[Connection], T]) -> T:
        async with self._engine.connect() as connection:
            try:
                return await connection.run_sync(work)
            except Exception as error:
                if self._is_cut(error):  # SQLAlchemy does not notice errors of statements that bypass it
                    await connection.invalidate(error)
                raise

    def _forget(self, read: asyncio.Task[object]) -> None:
        self._reads.discard(read)
        if not read.cancelled():
            read.exception()  # marks it as retrieved, as the caller may have been cancelled


@asynccontextmanager
async def opened_reader(engine: AsyncEngine, is_cut: Callable[[Exception], bool] = _never) -> AsyncIterator[Reader]:
    """Open a reader on the engine. On exit, wait for running reads and close their connections."""
    reader = Reader(engine, is_cut)
    try:
        yield reader
    finally:
        await reader.end()
        await engine.dispose()


class Writer(Protocol):
    """The one connection that writes."""

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Return the result of the work once its transaction is committed. Roll back if the work raises.

        Errors are translated as by `Database.write_errors`. Raises StoreMissingError if the database was removed while
        open.
        """
        ...


class Notifier(Protocol):
    """A notifier that wakes the owner when there may be a new request."""

    def listen(self) -> None:
        """Check more often for a while, because one request is often followed by more."""
        ...

    async def notified(self) -> None:
        """Wait until there may be a new request, or until some time has passed."""
        ...


class Hold(Protocol):
    """A handle to own a database: a lock of the operating system or the server, released when its holder dies."""

    @property
    def reader(self) -> Reader:
        """The reader; works with or without ownership."""
        ...

    @property
    def writer(self) -> Writer:
        """The writer; works once the database is owned."""
        ...

    @property
    def grace_s(self) -> float:
        """How long the lock may still appear taken after its holder's death, in seconds."""
        ...

    async def take(self) -> bool:
        """Take the lock. Return False if another runtime holds it."""
        ...

    async def seize(self) -> None:
        """Take the lock from its holder, which may be frozen. Raises an OutsideError if that is impossible."""
        ...

    def confirm(self, connection: Connection) -> None:
        """Check that the lock is still held. Called first in the transaction that starts the epoch.

        Raises StoreOwnedError if another runtime has taken the lock meanwhile.
        """
        ...

    def settle(self) -> None:
        """Bring the lock into its final state. Called last in the transaction that starts the epoch."""
        ...

    def notifier(self) -> AbstractAsyncContextManager[Notifier]:
        """Open the owner's notifier, which receives every `Database.notify` from now on."""
        ...


class Database(Protocol):
    """A database at a URL."""

    @property
    def name(self) -> str:
        """The name of the database in errors, without a password."""
        ...

    def reading(self) -> AbstractAsyncContextManager[Reader]:
        """Open a reader for a process that never writes. Raises StoreMissingError if there is nothing to read."""
        ...

    def holding(self) -> AbstractAsyncContextManager[Hold]:
        """Open a handle to own the database, and release it on exit.

        Creates no database before ownership is seized or the first write, but may create a lock file next to it.
        """
        ...

    def asking(self) -> AbstractAsyncContextManager[tuple[Reader, Writer]]:
        """Open a reader and a writer for requests to the owner. Raises StoreMissingError as `reading` does."""
        ...

    def notify(self, connection: Connection) -> None:
        """Notify the owner of a request, once the transaction is committed."""
        ...

    async def is_owned(self, reader: Reader) -> bool:
        """Whether a runtime currently owns the database. reader: a reader of this database."""
        ...

    def is_absent(self) -> bool:
        """Whether the database does not exist, not even an empty one."""
        ...

    def read_errors(self) -> AbstractContextManager[None]:
        """Translate errors of the database and its contents, raised inside, into an OutsideError that names it."""
        ...

    def write_errors(self) -> AbstractContextManager[None]:
        """Translate errors raised inside into one that names the database.

        It is an OutsideError if the failure may pass or can be repaired, and an UnwritableError if the database can
        never accept the data.
        """
        ...

    def last_number(self, connection: Connection) -> int:
        """Return the highest mail number ever used, deleted mail included; 0 if there was none."""
        ...
