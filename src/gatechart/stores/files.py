"""Database files: opened for reading or for writing, created, upgraded."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Connection
from sqlalchemy.engine import URL

from gatechart.errors import StoreMissingError, StoreOwnedError
from gatechart.ports import Asking, Store
from gatechart.stores.dialects import NamedErrors, read_errors, reading_engine, write_errors, writing_engine
from gatechart.stores.mail_queries import last_number
from gatechart.stores.ownership import owned, owner_lock, raise_epoch, unknown_owner
from gatechart.stores.reader import Reader, opened_reader
from gatechart.stores.requests import SqlAsking
from gatechart.stores.sql import SqlStore
from gatechart.stores.upgrade import check_schema, check_upgradable, create_schema, schema_of, upgrade_schema
from gatechart.stores.urls import located_file
from gatechart.stores.writer import opened_writer


@asynccontextmanager
async def open_file(store: str, *, read_only: bool) -> AsyncIterator[Store]:
    """The store in the database file that a URL names. Raises as `open_store`."""
    url, path = located_file(store)
    opening = _open_to_read(url, path) if read_only else _open_to_write(url, path)
    async with opening as opened:
        yield opened


async def upgrade_file(url: str) -> tuple[str | None, str]:
    """Brings the database to the newest schema. Returns and raises as `upgrade_store`."""
    located, path = located_file(url)
    _check_exists(path)
    async with _owned(located, path) as reader:
        check_upgradable(await _schema(reader, path, write_errors), path)
        async with opened_writer(writing_engine(located)) as writer:
            with write_errors(path):
                return await writer.run(lambda connection: upgrade_schema(connection, path))


@asynccontextmanager
async def open_file_to_ask(store: str) -> AsyncIterator[Asking]:
    """How to ask something of the owner of the database file that a URL names. Raises as `open_asking`."""
    url, path = located_file(store)
    _check_exists(path)
    async with opened_reader(reading_engine(url)) as reader:
        if await _is_empty(reader, path, read_errors):
            raise StoreMissingError(str(path))
        async with opened_writer(writing_engine(url)) as writer:
            yield SqlAsking(path, reader, writer)


def is_file_owned(store: str) -> bool:
    """Whether a runtime owns the database file that a URL names."""
    _, path = located_file(store)
    with owner_lock(path) as is_ours:
        return not is_ours


@asynccontextmanager
async def _open_to_read(url: URL, path: Path) -> AsyncIterator[Store]:
    _check_exists(path)
    async with opened_reader(reading_engine(_readable(url, path))) as reader:
        if await _is_empty(reader, path, read_errors):
            raise StoreMissingError(str(path))
        yield SqlStore(path, reader)


@asynccontextmanager
async def _open_to_write(url: URL, path: Path) -> AsyncIterator[Store]:
    async with _owned(url, path) as reader:
        is_new = _is_absent(path) or await _is_empty(reader, path, write_errors)

        def take_over(connection: Connection) -> tuple[int, int]:
            if is_new:
                create_schema(connection)
            return raise_epoch(connection), last_number(connection)

        async with opened_writer(writing_engine(url)) as writer:
            with write_errors(path):
                epoch, last = await writer.run(take_over)
            yield SqlStore(path, reader, writer, epoch, last)


@asynccontextmanager
async def _owned(url: URL, path: Path) -> AsyncIterator[Reader]:
    """What reads, while this process holds the lock of the database. Raises StoreOwnedError."""
    with owner_lock(path) as is_ours:
        async with opened_reader(reading_engine(url)) as reader:
            if not is_ours:
                raise await _owned_error(reader, path)
            yield reader


async def _owned_error(reader: Reader, path: Path) -> StoreOwnedError:
    if _is_absent(path):
        return unknown_owner(path)
    with read_errors(path):
        return await reader.run(lambda connection: owned(connection, path))


async def _is_empty(reader: Reader, path: Path, named: NamedErrors) -> bool:
    """Whether the database holds nothing. Raises as `check_schema` where what it holds is not of the newest schema."""
    found = await _schema(reader, path, named)
    if found is not None:
        check_schema(found, path)
    return found is None


async def _schema(reader: Reader, path: Path, named: NamedErrors) -> str | None:
    with named(path):
        return await reader.run(schema_of)


def _readable(url: URL, path: Path) -> URL:
    """The URL with which a database can be read.

    SQLite keeps an index beside a database in WAL mode; where it cannot, nobody writes, and it can do without.
    """
    if os.access(path.parent, os.W_OK) or path.with_name(f"{path.name}-wal").exists():
        return url
    return url.set(database=f"file:{quote(str(path))}").update_query_dict({"immutable": "1", "uri": "true"})


def _check_exists(path: Path) -> None:
    if _is_absent(path):
        raise StoreMissingError(str(path))


def _is_absent(path: Path) -> bool:
    return not path.exists()
