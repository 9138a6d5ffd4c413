"""SQLite connections with the right settings, the thread that writes, and the translation of the driver's errors."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from gatechart.errors.event import PayloadError
from gatechart.errors.operation import UnwritableError
from gatechart.errors.outside import (
    StoreBusyError,
    StoreCorruptError,
    StoreFailedError,
    StoreMissingError,
    StoreReadOnlyError,
    StoreUnreadableError,
)
from gatechart.errors.root import GatechartError
from gatechart.stores.sql.columns import UNREADABLE
from gatechart.stores.sql.statements import driver_cursor

T = TypeVar("T")

BUSY_TIMEOUT_S: Final = 5.0  # the time that a connection waits for a lock, unless the URL has `?timeout=`
READERS: Final = 4
LOG_PAGES: Final = 16_000  # 64 MB: a page changed by many turns is copied into the database once
CACHE_KIB: Final = 64_000  # a transaction larger than the cache is written twice


def writing_engine(url: URL) -> Engine:
    """Create an engine for one connection, whose commits are synced to disk. `ThreadWriter` starts its transactions."""
    engine = create_engine(url.set(drivername="sqlite"), **_options(url, connections=1))
    _on_connect(
        engine,
        "PRAGMA journal_mode=WAL",
        "PRAGMA synchronous=FULL",
        "PRAGMA foreign_keys=ON",
        f"PRAGMA wal_autocheckpoint={LOG_PAGES}",
        f"PRAGMA cache_size=-{CACHE_KIB}",
    )
    return engine


def reading_engine(url: URL) -> AsyncEngine:
    """Create an engine for several connections that cannot write."""
    engine = create_async_engine(url, **_options(url, connections=READERS))
    _on_connect(engine.sync_engine, "PRAGMA query_only=ON")

    @event.listens_for(engine.sync_engine, "begin")
    def begin(connection: Connection) -> None:
        driver_cursor(connection).execute("BEGIN")

    return engine


class ThreadWriter:
    """A writer that runs transactions one after the other in a thread.

    Each transaction runs to its end even if its caller is cancelled.
    """

    def __init__(self, path: Path, engine: Engine, thread: ThreadPoolExecutor) -> None:
        self._path = path
        self._engine = engine
        self._thread = thread
        self._inode: int | None = None  # of the file, since the first connection
        self._connection: Connection | None = None  # reused until a transaction fails

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Return the result of the work once its transaction is committed. Roll back if the work raises.

        Cancelling the caller withdraws a transaction that has not started. Otherwise it only stops the wait. Raises as
        `Writer.run` does.
        """
        with write_errors(self._path):
            return await asyncio.wrap_future(self._thread.submit(self._transaction, work))

    async def foreign_commits(self) -> int:
        """Return a number that changes when another connection commits, but not when this one does."""
        with read_errors(self._path):
            return await asyncio.wrap_future(self._thread.submit(self._data_version))

    async def end(self) -> None:
        """Close the connection after the running transaction."""
        await asyncio.wrap_future(self._thread.submit(self._disconnect))

    def _transaction(self, work: Callable[[Connection], T]) -> T:
        # Uses the driver's transaction: SQLAlchemy's would take a tenth of the time of a turn's commit.
        self._check_there()
        connection = self._connected()
        try:
            connection.connection.cursor().execute("BEGIN IMMEDIATE")
            result = work(connection)
            connection.connection.commit()
            connection.commit()  # informs SQLAlchemy, if the work has used it
        except BaseException:
            self._release_connection()
            raise
        return result

    def _data_version(self) -> int:
        ((version,),) = self._connected().connection.cursor().execute("PRAGMA data_version").fetchall()
        return int(version)

    def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = self._engine.connect()
            self._inode = self._inode or self._current_inode()
        return self._connection

    def _check_there(self) -> None:
        """Raise StoreMissingError if the file was removed: SQLite would keep writing to it."""
        if self._inode is not None and self._inode != self._current_inode():
            raise StoreMissingError(str(self._path))

    def _current_inode(self) -> int | None:
        try:
            return self._path.stat().st_ino
        except OSError:
            return None

    def _release_connection(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.connection.rollback()
            finally:
                connection.close()

    def _disconnect(self) -> None:
        self._release_connection()
        self._engine.dispose()


@asynccontextmanager
async def opened_writer(path: Path, engine: Engine) -> AsyncIterator[ThreadWriter]:
    """Open a writer to the file on the engine. On exit, wait for the running transaction and end the thread."""
    thread = ThreadPoolExecutor(1, thread_name_prefix="gatechart-writer")
    writer = ThreadWriter(path, engine, thread)
    try:
        yield writer
    finally:
        try:
            await writer.end()
        finally:  # even if cancelled: the transaction must end before the owner's lock is released
            thread.shutdown()


ANY_BYTES: Final = partial(str, encoding="utf-8", errors="surrogateescape")
"""Decodes invalid UTF-8, too, so that only the damaged row is unreadable."""


@contextmanager
def read_errors(path: Path) -> Iterator[None]:
    """Translate errors of the database and its contents, raised inside, into an OutsideError that names the file."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        raise _translated(path, error, _READING) from error
    except UnicodeEncodeError as error:  # from a text in a query
        raise PayloadError("text", (str(error),), "a text without lone surrogates") from error
    except UNREADABLE as error:
        raise StoreCorruptError(str(path), f"{type(error).__name__}: {error}") from error


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Translate errors raised inside, by the database or while writing to it, into one that names the file."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        raise _translated(path, error, _WRITING) from error
    except (ValueError, TypeError, OverflowError) as error:  # while rows are built or encoded
        raise UnwritableError(f"{type(error).__name__}: {error}") from error


_Kinds: TypeAlias = Mapping[str, Callable[[str, str], GatechartError]]  # by prefix of SQLite's error name


def _unwritable(_path: str, problem: str) -> UnwritableError:
    return UnwritableError(problem)


_ALWAYS: Final[_Kinds] = {
    "SQLITE_BUSY": StoreBusyError,
    "SQLITE_LOCKED": StoreBusyError,
    "SQLITE_CORRUPT": StoreCorruptError,
    "SQLITE_NOTADB": StoreCorruptError,
}
_READING: Final[_Kinds] = {
    **_ALWAYS,
    "SQLITE_CANTOPEN": StoreUnreadableError,
    "SQLITE_PERM": StoreUnreadableError,
    "SQLITE_READONLY": StoreUnreadableError,
}
_WRITING: Final[_Kinds] = {
    **_ALWAYS,
    "SQLITE_CANTOPEN": StoreReadOnlyError,
    "SQLITE_PERM": StoreReadOnlyError,
    "SQLITE_READONLY": StoreReadOnlyError,
    "SQLITE_CONSTRAINT": _unwritable,
    "SQLITE_MISMATCH": _unwritable,
    "SQLITE_TOOBIG": _unwritable,
}


def _translated(path: Path, error: DBAPIError | sqlite3.Error, kinds: _Kinds) -> GatechartError:
    cause = error.orig if isinstance(error, DBAPIError) else error
    code = getattr(cause, "sqlite_errorname", "")
    kind = next((kind for prefix, kind in kinds.items() if code.startswith(prefix)), StoreFailedError)
    return kind(str(path), str(cause))


def _options(url: URL, connections: int) -> dict[str, Any]:
    """Return engine options for connections without automatic transactions."""
    waiting = {} if "timeout" in url.query else {"timeout": BUSY_TIMEOUT_S}
    return {
        "pool_size": connections,
        "max_overflow": 0,
        "pool_timeout": None,  # reads wait for a free connection without limit
        "pool_reset_on_return": None,
        "connect_args": {"isolation_level": None, **waiting},
    }


def _on_connect(engine: Engine, *pragmas: str) -> None:
    @event.listens_for(engine, "connect")
    def configure(connection: Any, _record: Any) -> None:
        try:
            getattr(connection, "driver_connection", connection).text_factory = ANY_BYTES
            cursor = connection.cursor()
            for pragma in pragmas:
                cursor.execute(pragma)
            cursor.close()
        except Exception:  # the pool does not know the connection yet, so its thread would never end
            connection.close()
            raise
