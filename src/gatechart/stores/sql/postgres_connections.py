"""PostgreSQL connections with the right settings, and the translation of the driver's errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

from asyncpg import InterfaceError, InternalClientError, PostgresError
from sqlalchemy import event
from sqlalchemy import exc as sqlalchemy_errors
from sqlalchemy.dialects.postgresql.asyncpg import AsyncAdapt_asyncpg_dbapi
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, InvalidatePoolError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from gatechart.errors.event import PayloadError
from gatechart.errors.operation import UnwritableError
from gatechart.errors.outside import (
    StoreBusyError,
    StoreCorruptError,
    StoreFailedError,
    StoreReadOnlyError,
    StoreUnreachableError,
    StoreUnreadableError,
)
from gatechart.errors.root import GatechartError
from gatechart.stores.sql.columns import UNREADABLE
from gatechart.stores.sql.dialects import keep_every_text

READERS: Final = 4
TIMEOUT_S: Final = 30.0  # for a connection or a statement, unless the URL has `?timeout=`
KEEPALIVE: Final = {"tcp_keepalives_idle": "5", "tcp_keepalives_interval": "2", "tcp_keepalives_count": "3"}
KEPT_STATEMENTS: Final = 500  # prepared per connection: more than gatechart has

# Raised by SQLAlchemy's cursor when it is used directly; before 2.1 it had no common name.
CURSOR_ERROR: Final[Any] = getattr(sqlalchemy_errors, "EmulatedDBAPIException", AsyncAdapt_asyncpg_dbapi.Error)

FAILURES: Final[tuple[type[Exception], ...]] = (
    *(DBAPIError, CURSOR_ERROR, OSError),
    *(PostgresError, InterfaceError, InternalClientError),  # before 2.1, while there is no connection
)

UNKEPT: Final = (ValueError, TypeError, OverflowError)  # from values that no column accepts

_Kinds: TypeAlias = Mapping[str, Callable[[str, str], GatechartError]]  # by SQLSTATE prefix


def writing_engine(url: URL) -> AsyncEngine:
    """Create an engine for one connection. If its host is gone, the server soon closes it and frees its locks."""
    engine = create_async_engine(_bare(url), poolclass=NullPool, isolation_level="READ COMMITTED", **_options(url))
    return _prepared(engine)


def reading_engine(url: URL) -> AsyncEngine:
    """Create an engine for several connections that cannot write. Each transaction reads one consistent state."""
    engine = create_async_engine(
        _bare(url),
        pool_size=READERS,
        max_overflow=0,
        pool_timeout=None,  # reads wait for a free connection without limit; each has its own timeout
        isolation_level="REPEATABLE READ",
        **_options(url, default_transaction_read_only="on"),
    )
    return _prepared(engine)


def state_of(error: BaseException) -> str:
    """Return the SQLSTATE of an error, or an empty text if it has none."""
    return getattr(_cause(error), "sqlstate", None) or ""


def is_cut(error: BaseException) -> bool:
    """Whether the connection is unusable, or could not be established."""
    cause = _cause(error)
    is_noted = isinstance(error, DBAPIError) and error.connection_invalidated
    is_of_driver = isinstance(cause, InterfaceError | InternalClientError) and not isinstance(cause, ValueError)
    return is_noted or is_of_driver or isinstance(cause, OSError) or state_of(error).startswith(_GONE)


@contextmanager
def read_errors(name: str) -> Iterator[None]:
    """Translate errors of the database and its contents, raised inside, into one that names the database."""
    try:
        yield
    except FAILURES as error:
        raise _translated(name, error, READING) from error
    except UnicodeEncodeError as error:  # from a text in a query
        raise PayloadError("text", (str(error),), "a text without lone surrogates") from error
    except UNREADABLE as error:
        raise StoreCorruptError(name, f"{type(error).__name__}: {error}") from error


@contextmanager
def write_errors(name: str) -> Iterator[None]:
    """Translate errors raised inside, by the database or while writing to it, into one that names the database."""
    try:
        yield
    except FAILURES as error:
        raise _translated(name, error, WRITING) from error
    except UNKEPT as error:  # while rows are built or encoded
        raise UnwritableError(f"{type(error).__name__}: {error}") from error


def _translated(name: str, error: Exception, kinds: _Kinds) -> GatechartError:
    """Translate an error of the driver or the operating system to gatechart's."""
    cause = _cause(error)
    problem = str(cause) or type(cause).__name__
    state = state_of(error)
    kind = next((kind for prefix, kind in kinds.items() if state and state.startswith(prefix)), None)
    if kind is None and kinds is WRITING and isinstance(cause, UNKEPT):
        kind = _unwritable
    if kind is None:
        kind = StoreUnreachableError if is_cut(error) else StoreFailedError
    return kind(name, problem)


def _cause(error: BaseException) -> BaseException:
    """Return the error of asyncpg or the operating system that SQLAlchemy may have wrapped once or twice."""
    while isinstance(error, DBAPIError | CURSOR_ERROR):
        inner = getattr(error, "orig", None) or error.__cause__
        if inner is None:
            break
        error = inner
    return error


def _unkept(_name: str, problem: str) -> PayloadError:
    return PayloadError("text", (f"PostgreSQL cannot store the character NUL: {problem}",), "names without it")


def _unwritable(_name: str, problem: str) -> UnwritableError:
    return UnwritableError(problem)


_GONE: Final = ("08", "57P")  # connection exceptions; shut down, crashed, or starting
_ALWAYS: Final[_Kinds] = {
    "28": StoreUnreachableError,  # authentication failed
    "3D": StoreUnreachableError,  # no such database
    "53300": StoreUnreachableError,  # too many connections
    "40": StoreBusyError,  # serialization failure, deadlock
    "55P03": StoreBusyError,  # lock not available
    "57014": StoreBusyError,  # query cancelled
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
    "54": _unwritable,  # program limits, for example the size of an index row
}


def _prepared(engine: AsyncEngine) -> AsyncEngine:
    @event.listens_for(engine.sync_engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        connection.run_async(keep_every_text)

    @event.listens_for(engine.sync_engine, "checkout")
    def check(connection: Any, _record: Any, _proxy: Any) -> None:
        if connection.driver_connection.is_closed():  # known without a round trip; other connections may be lost, too
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
