"""Opening databases for reading or writing, creating them and upgrading them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager

from sqlalchemy import Connection

from gatechart.errors import StoreCorruptError, StoreMissingError
from gatechart.ports import Asking, Store
from gatechart.stores.sql.connections import Reader
from gatechart.stores.sql.database import Database, Hold
from gatechart.stores.sql.ownership import Claim, check_not_moved, claimed, raise_epoch
from gatechart.stores.sql.requests import SqlAsking
from gatechart.stores.sql.store import SqlStore
from gatechart.stores.sql.upgrade import (
    NEWEST,
    check_schema,
    check_upgradable,
    create_schema,
    missing_from,
    schema_of,
    upgrade_schema,
)
from gatechart.stores.sql.urls import located


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
    async with _held(database, Claim.REFUSED) as hold:
        check_upgradable(await _schema(hold.reader, database.write_errors()), database.name)

        def upgrade(connection: Connection) -> tuple[str | None, str]:
            hold.confirm(connection)
            before, after = upgrade_schema(connection, database.name)
            _check_whole(missing_from(connection), database)
            if before != after:
                raise_epoch(connection)  # stops an owner that has lost its lock and does not know it yet
            return before, after

        with database.write_errors():
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
async def open_database_to_ask(store: str) -> AsyncIterator[Asking]:
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
    """Open the store as its owner. to: where its agents may have moved."""
    async with _held(database, claim) as hold:
        is_new = database.is_absent() or await _is_empty(hold.reader, database, database.write_errors())

        def begin(connection: Connection) -> tuple[int, int]:
            # All in one transaction: `confirm` notices a runtime that seized the lock meanwhile before the epoch rises.
            if is_new:
                create_schema(connection)
            hold.confirm(connection)
            check_not_moved(connection, database.name, to)
            begun = raise_epoch(connection), database.last_number(connection)
            hold.settle()
            return begun

        with database.write_errors():
            epoch, last = await hold.writer.run(begin)
        async with database.notifier() as notifier:
            yield SqlStore(database, hold.reader, hold.writer, epoch, last, notifier)


@asynccontextmanager
async def _held(database: Database, claim: Claim) -> AsyncIterator[Hold]:
    """Own the database until the end. Raises as `claimed` does."""
    async with database.holding() as hold:
        await claimed(hold, database, claim)
        yield hold


async def _is_empty(reader: Reader, database: Database, named: AbstractContextManager[None]) -> bool:
    """Whether the database is empty.

    Raises as `check_schema` does if its schema is not the newest, and StoreCorruptError if parts of the schema are
    missing.
    """

    def look(connection: Connection) -> tuple[str | None, str]:
        found = schema_of(connection)
        return found, missing_from(connection) if found == NEWEST else ""

    with named:
        found, missing = await reader.run(look)
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
