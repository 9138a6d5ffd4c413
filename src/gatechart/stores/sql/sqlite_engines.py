"""SQLite: connections as they are to be, and names for what goes wrong with them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from gatechart.errors import (
    GatechartError,
    PayloadError,
    StoreBusyError,
    StoreCorruptError,
    StoreFailedError,
    StoreReadOnlyError,
    StoreUnreadableError,
    UnwritableError,
)
from gatechart.stores.sql.damage import UNREADABLE
from gatechart.stores.sql.dialects import driver_cursor

BUSY_TIMEOUT_S: Final = 5.0  # how long a connection waits for a lock, unless the URL has `?timeout=`
READERS: Final = 4
LOG_PAGES: Final = 16_000  # 64 MB: pages that many turns change go into the database once
CACHE_KIB: Final = 64_000  # a transaction that outgrows the cache is written twice


def writing_engine(url: URL) -> Engine:
    """One connection whose transactions take SQLite's write lock as they begin, and are on disk when they end."""
    engine = create_engine(url.set(drivername="sqlite"), **_options(url, connections=1))
    _on_connect(
        engine,
        "PRAGMA journal_mode=WAL",
        "PRAGMA synchronous=FULL",
        "PRAGMA foreign_keys=ON",
        f"PRAGMA wal_autocheckpoint={LOG_PAGES}",
        f"PRAGMA cache_size=-{CACHE_KIB}",
    )
    _on_begin(engine, "BEGIN IMMEDIATE")
    return engine


def reading_engine(url: URL) -> AsyncEngine:
    """Some connections that cannot write."""
    engine = create_async_engine(url, **_options(url, connections=READERS))
    _on_connect(engine.sync_engine, "PRAGMA query_only=ON")
    _on_begin(engine.sync_engine, "BEGIN")
    return engine


ANY_BYTES: Final = partial(str, encoding="utf-8", errors="surrogateescape")
"""Makes text of what is no UTF-8, too: the row is told apart by it, rather than keeping all others from being read."""


@contextmanager
def read_errors(path: Path) -> Iterator[None]:
    """Turns what goes wrong inside, in the database or with what it holds, into the OutsideError that names it."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        raise _named(path, error, _READING) from error
    except UnicodeEncodeError as error:  # of what is sought
        raise PayloadError("text", (str(error),), "a text without lone surrogates") from error
    except UNREADABLE as error:
        raise StoreCorruptError(str(path), f"{type(error).__name__}: {error}") from error


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turns what goes wrong inside, in the database or on the way into it, into the error that names it."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        raise _named(path, error, _WRITING) from error
    except (ValueError, TypeError, OverflowError) as error:  # made into rows, or encoded
        raise UnwritableError(f"{type(error).__name__}: {error}") from error


_Kinds: TypeAlias = Mapping[str, Callable[[str, str], GatechartError]]  # by how SQLite's name for the error begins


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


def _named(path: Path, error: DBAPIError | sqlite3.Error, kinds: _Kinds) -> GatechartError:
    cause = error.orig if isinstance(error, DBAPIError) else error
    code = getattr(cause, "sqlite_errorname", "")
    kind = next((kind for prefix, kind in kinds.items() if code.startswith(prefix)), StoreFailedError)
    return kind(str(path), str(cause))


def _options(url: URL, connections: int) -> dict[str, Any]:
    """Of an engine whose connections begin nothing by themselves and come back with nothing begun."""
    waiting = {} if "timeout" in url.query else {"timeout": BUSY_TIMEOUT_S}
    return {
        "pool_size": connections,
        "max_overflow": 0,
        "pool_timeout": None,  # many reads at once wait for their turn, however long; none fails for that
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
        except Exception:  # the pool never learns of the connection, so nobody else ends its thread
            connection.close()
            raise


def _on_begin(engine: Engine, statement: str) -> None:
    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        driver_cursor(connection).execute(statement)
