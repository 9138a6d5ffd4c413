"""Open the database at a URL, for reading or writing; create it and upgrade it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from sqlalchemy import Connection
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from gatechart.errors.outside import StoreCorruptError, StoreMissingError, StoreUnreadableError, StoreUrlError
from gatechart.ports import Store
from gatechart.stores.memory import MEMORY_URL
from gatechart.stores.sql.database import Database, Hold, Reader
from gatechart.stores.sql.ownership import Claim, check_not_moved, claimed, raise_epoch
from gatechart.stores.sql.requests import SqlAsking
from gatechart.stores.sql.schema import (
    check_schema,
    check_upgradable,
    create_schema,
    found_in,
    schema_of,
    upgrade_schema,
)
from gatechart.stores.sql.sqlite import SqliteFile
from gatechart.stores.sql.store import SqlStore

FILE: Final = "sqlite+aiosqlite"
SERVER: Final = "postgresql+asyncpg"
_SERVER_PARAMETERS: Final = ("host", "passfile", "ssl", "timeout")


@asynccontextmanager
async def open_database(store: str, *, read_only: bool, claim: Claim) -> AsyncIterator[Store]:
    """Open the store in the database at a URL. Raises as `open_store` does."""
    database = located(store)
    opening = _open_to_read(database) if read_only else _open_to_write(database, claim)
    async with opening as opened:
        yield opened


async def upgrade_database(url: str) -> tuple[str | None, str]:
    """Upgrade the database to the newest schema. Returns and raises as `upgrade_store` does."""
    database = located(url)
    if database.is_absent():
        raise StoreMissingError(database.name)
    async with _owning(database, Claim.REFUSED) as hold:
        check_upgradable(await _schema(hold.reader, database.write_errors()), database.name)

        def upgrade(connection: Connection) -> tuple[str | None, str]:
            hold.confirm(connection)
            before, after = upgrade_schema(connection, database.name)
            _check_whole(found_in(connection)[1], database)
            if before != after:
                raise_epoch(connection)  # stops an owner that has lost its lock without noticing
            return before, after

        return await hold.writer.run(upgrade)


@asynccontextmanager
async def open_database_to_move(store: str, to: str) -> AsyncIterator[SqlStore]:
    """Open the store in the database at a URL as its owner. Raises as `open_departing` does."""
    database = located(store)
    if database.is_absent():
        raise StoreMissingError(database.name)
    async with _open_to_write(database, Claim.REFUSED, to) as opened:
        yield opened


@asynccontextmanager
async def open_database_to_ask(store: str) -> AsyncIterator[SqlAsking]:
    """Open the requests to the owner of the database at a URL. Raises as `open_asking` does."""
    database = located(store)
    async with database.asking() as (reader, writer):
        if await _is_empty(reader, database, database.read_errors()):
            raise StoreMissingError(database.name)
        yield SqlAsking(database, reader, writer)


@asynccontextmanager
async def _open_to_read(database: Database) -> AsyncIterator[Store]:
    async with database.reading() as reader:
        if await _is_empty(reader, database, database.read_errors()):
            raise StoreMissingError(database.name)
        yield SqlStore(database, reader)


@asynccontextmanager
async def _open_to_write(database: Database, claim: Claim, to: str | None = None) -> AsyncIterator[SqlStore]:
    """Open the store as its owner. to: the home that its agents may have moved to."""
    async with _owning(database, claim) as hold:
        is_new = database.is_absent() or await _is_empty(hold.reader, database, database.write_errors())

        def begin(connection: Connection) -> tuple[int, int]:
            # One transaction: `confirm` detects that another runtime has seized the lock before the epoch is raised.
            if is_new:
                create_schema(connection)
            hold.confirm(connection)
            check_not_moved(connection, database.name, to)
            ownership = raise_epoch(connection), database.last_number(connection)
            hold.settle()
            return ownership

        epoch, last = await hold.writer.run(begin)
        async with hold.notifier() as notifier:
            yield SqlStore(database, hold.reader, hold.writer, epoch, last, notifier)


@asynccontextmanager
async def _owning(database: Database, claim: Claim) -> AsyncIterator[Hold]:
    """Own the database until exit. Raises as `claimed` does."""
    async with database.holding() as hold:
        await claimed(hold, database, claim)
        yield hold


async def _is_empty(reader: Reader, database: Database, named: AbstractContextManager[None]) -> bool:
    """Whether the database is empty.

    Raises as `check_schema` does if its schema is not the newest, and StoreCorruptError if parts of the schema are
    missing.
    """
    with named:
        found, missing = await reader.run(found_in)
    if found is not None:
        check_schema(found, database.name)
        _check_whole(missing, database)
    return found is None


def _check_whole(missing: str, database: Database) -> None:
    if missing:
        raise StoreCorruptError(database.name, missing)


async def _schema(reader: Reader, named: AbstractContextManager[None]) -> str | None:
    with named:
        return await reader.run(schema_of)


def located(store: str) -> Database:
    """Return the database at a URL. Raises StoreUrlError, StoreUnreadableError."""
    if store == MEMORY_URL:
        raise StoreUrlError(store, "it stores nothing")
    try:
        url = _decoded(make_url(store))
    except (ArgumentError, ValueError):
        raise StoreUrlError(store, "it is not a URL") from None
    problem = _server_problem(url) if url.drivername == SERVER else _problem(url)
    if problem:
        raise StoreUrlError(url.render_as_string() if url.drivername == SERVER else store, problem)
    return _located_server(url) if url.drivername == SERVER else _located_file(store, url)


def _decoded(url: URL) -> URL:
    """Return the URL with its path decoded, as SQLAlchemy does since 2.1."""
    is_decoded = make_url("sqlite:///%25").database == "%"
    return url if is_decoded or url.database is None else url.set(database=unquote(url.database))


def _located_server(url: URL) -> Database:
    from gatechart.stores.sql.postgres import PostgresDatabase  # noqa: PLC0415  asyncpg may not be installed

    return PostgresDatabase(url)


def _located_file(store: str, url: URL) -> SqliteFile:
    try:
        path = Path(str(url.database)).expanduser().resolve()
        problem = _path_problem(path)
    except RuntimeError as error:  # an unknown home folder, or a circular link
        raise StoreUrlError(store, str(error)) from error
    except OSError as error:
        raise StoreUnreadableError(str(url.database), str(error)) from error
    if problem:
        raise StoreUrlError(store, problem)
    return SqliteFile(url.set(database=str(path)), path)


def _problem(url: URL) -> str:
    """Describe the problem with the URL; empty if there is none."""
    if url.drivername != FILE:
        return f"{url.drivername!r} is not supported"
    if url.host or url.port or url.username or url.password:
        return "a file has no host, name or password; write three slashes before a relative path"
    if not url.database or url.database == ":memory:":
        return "it names no file"
    if "\0" in url.database:
        return "a file name cannot contain the character NUL"
    return _query_problem(url, ("timeout",))


def _server_problem(url: URL) -> str:
    if find_spec("asyncpg") is None:
        return "it needs the package asyncpg: run `pip install 'gatechart[postgres]'`"
    if not url.database:
        return "it names no database"
    return _query_problem(url, _SERVER_PARAMETERS)


def _query_problem(url: URL, known: Sequence[str]) -> str:
    unknown = ", ".join(name for name in url.query if name not in known)
    if unknown:
        others = "".join(f"{name}, " for name in known if name != "timeout")
        return f"it has the unknown parameter {unknown}; the parameters are {others}timeout, in seconds"
    return "" if _is_number(url.query.get("timeout", "0")) else "its timeout is not a number of seconds"


def _path_problem(path: Path) -> str:
    if not path.parent.is_dir():
        return f"the folder {path.parent} does not exist"
    return f"{path} is a folder" if path.is_dir() else ""


def _is_number(text: object) -> bool:
    return isinstance(text, str) and text.replace(".", "", 1).isdecimal()
