"""PostgreSQL: connections as they are to be, and names for what goes wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

from asyncpg import InterfaceError, InternalClientError
from sqlalchemy import event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, EmulatedDBAPIException, InvalidatePoolError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from gatechart.errors import (
    GatechartError,
    PayloadError,
    StoreBusyError,
    StoreCorruptError,
    StoreFailedError,
    StoreReadOnlyError,
    StoreUnreachableError,
    StoreUnreadableError,
    UnwritableError,
)
from gatechart.stores.sql.damage import UNREADABLE
from gatechart.stores.sql.postgres_text import keep_every_text

READERS: Final = 4
TIMEOUT_S: Final = 30.0  # for a connection or a statement to be answered, unless the URL has `?timeout=`
KEEPALIVE: Final = {"tcp_keepalives_idle": "5", "tcp_keepalives_interval": "2", "tcp_keepalives_count": "3"}
KEPT_STATEMENTS: Final = 500  # prepared on a connection: more than there are

FAILURES: Final = (DBAPIError, EmulatedDBAPIException, OSError)  # as SQLAlchemy, its cursor and a socket raise them

UNKEPT: Final = (ValueError, TypeError, OverflowError)  # as a value raises them that no column takes

_Kinds: TypeAlias = Mapping[str, Callable[[str, str], GatechartError]]  # by the beginning of an SQLSTATE


def writing_engine(url: URL) -> AsyncEngine:
    """For one connection, which the server ends soon where its host is gone, with all locks that it holds."""
    engine = create_async_engine(_bare(url), poolclass=NullPool, isolation_level="READ COMMITTED", **_options(url))
    return _prepared(engine)


def reading_engine(url: URL) -> AsyncEngine:
    """Some connections that cannot write, each transaction of which sees the database as it began."""
    engine = create_async_engine(
        _bare(url),
        pool_size=READERS,
        max_overflow=0,
        pool_timeout=None,  # many reads at once wait for their turn; each ends within its time
        isolation_level="REPEATABLE READ",
        **_options(url, default_transaction_read_only="on"),
    )
    return _prepared(engine)


def state_of(error: BaseException) -> str:
    """The SQLSTATE of what was raised; empty where the server did not say one."""
    return getattr(_cause(error), "sqlstate", None) or ""


def is_cut(error: BaseException) -> bool:
    """Whether the connection is of no more use, or there is none."""
    cause = _cause(error)
    is_noted = isinstance(error, DBAPIError) and error.connection_invalidated
    is_of_driver = isinstance(cause, InterfaceError | InternalClientError) and not isinstance(cause, ValueError)
    return is_noted or is_of_driver or isinstance(cause, OSError) or state_of(error).startswith(_GONE)


@contextmanager
def read_errors(name: str) -> Iterator[None]:
    """Turns what goes wrong inside, in the database or with what it holds, into the error that names it."""
    try:
        yield
    except FAILURES as error:
        raise _named(name, error, READING) from error
    except UnicodeEncodeError as error:  # of what is sought
        raise PayloadError("text", (str(error),), "a text without lone surrogates") from error
    except UNREADABLE as error:
        raise StoreCorruptError(name, f"{type(error).__name__}: {error}") from error


@contextmanager
def write_errors(name: str) -> Iterator[None]:
    """Turns what goes wrong inside, in the database or on the way into it, into the error that names it."""
    try:
        yield
    except FAILURES as error:
        raise _named(name, error, WRITING) from error
    except UNKEPT as error:  # made into rows, or encoded
        raise UnwritableError(f"{type(error).__name__}: {error}") from error


def _named(name: str, error: Exception, kinds: _Kinds) -> GatechartError:
    """The error of ours for one of the driver's or the operating system's."""
    cause = _cause(error)
    told = str(cause) or type(cause).__name__
    state = state_of(error)
    kind = next((kind for prefix, kind in kinds.items() if state and state.startswith(prefix)), None)
    if kind is None and kinds is WRITING and isinstance(cause, UNKEPT):
        kind = _unwritable
    if kind is None:
        kind = StoreUnreachableError if is_cut(error) else StoreFailedError
    return kind(name, told)


def _cause(error: BaseException) -> BaseException:
    """What asyncpg or the operating system raised, which SQLAlchemy wraps once or twice or not at all."""
    while isinstance(error, DBAPIError | EmulatedDBAPIException) and error.orig is not None:
        error = error.orig
    return error


def _unkept(_name: str, problem: str) -> PayloadError:
    return PayloadError("text", (f"PostgreSQL keeps no text with the character NUL: {problem}",), "names without it")


def _unwritable(_name: str, problem: str) -> UnwritableError:
    return UnwritableError(problem)


_GONE: Final = ("08", "57P")  # connection exceptions; shut down, crashed, or starting
_ALWAYS: Final[_Kinds] = {
    "28": StoreUnreachableError,  # who it is
    "3D": StoreUnreachableError,  # no such database
    "53300": StoreUnreachableError,  # too many connections
    "40": StoreBusyError,  # serialization failure, deadlock
    "55P03": StoreBusyError,  # a lock that is not to be had
    "57014": StoreBusyError,  # cancelled
    "42P01": StoreCorruptError,
    "42703": StoreCorruptError,
    "XX001": StoreCorruptError,
    "XX002": StoreCorruptError,
}
READING: Final[_Kinds] = {**_ALWAYS, "42501": StoreUnreadableError, "22021": _unkept, "22P05": _unkept}
WRITING: Final[_Kinds] = {
    **_ALWAYS,
    "42501": StoreReadOnlyError,
    "25006": StoreReadOnlyError,
    "22": _unwritable,  # data exceptions
    "23": _unwritable,  # integrity constraints
    "54": _unwritable,  # limits of the program, such as an index's of its rows
}


def _prepared(engine: AsyncEngine) -> AsyncEngine:
    @event.listens_for(engine.sync_engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        connection.run_async(keep_every_text)

    @event.listens_for(engine.sync_engine, "checkout")
    def check(connection: Any, _record: Any, _proxy: Any) -> None:
        if connection.driver_connection.is_closed():  # as it knows without asking; the others may be, too
            raise InvalidatePoolError("a connection was lost in the pool")

    return engine


def _bare(url: URL) -> URL:
    return url.difference_update_query(["timeout"])


def _options(url: URL, **settings: str) -> dict[str, Any]:
    timeout_s = float(str(url.query.get("timeout", TIMEOUT_S)))
    return {
        "connect_args": {
            "timeout": timeout_s,
            "command_timeout": timeout_s,
            "server_settings": {"application_name": "gatechart", "jit": "off", **KEEPALIVE, **settings},
            "prepared_statement_cache_size": KEPT_STATEMENTS,
        }
    }
