"""Database files: opened for reading or for writing, created, upgraded."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

from sqlalchemy.engine import URL
from sqlalchemy.ext.asyncio import AsyncEngine

from gatechart.errors import StoreMissingError, StoreOwnedError
from gatechart.ports import Store
from gatechart.stores.dialects import NamedErrors, read_errors, reading_engine, write_errors, writing_engine
from gatechart.stores.ownership import owned, owner_lock, raise_epoch, unknown_owner
from gatechart.stores.sql import SqlStore
from gatechart.stores.upgrade import check_schema, check_upgradable, create_schema, schema_of, upgrade_schema
from gatechart.stores.urls import located_file


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
        async with _disposed(writing_engine(located)) as writer:
            with write_errors(path):
                async with writer.begin() as connection:
                    return await connection.run_sync(upgrade_schema, path)


@asynccontextmanager
async def _open_to_read(url: URL, path: Path) -> AsyncIterator[Store]:
    _check_exists(path)
    async with _disposed(reading_engine(_readable(url, path))) as reader:
        if await _is_empty(reader, path, read_errors):
            raise StoreMissingError(str(path))
        yield SqlStore(path, reader, reader, epoch=0)


@asynccontextmanager
async def _open_to_write(url: URL, path: Path) -> AsyncIterator[Store]:
    async with _owned(url, path) as reader:
        is_new = _is_absent(path) or await _is_empty(reader, path, write_errors)
        async with _disposed(writing_engine(url)) as writer:
            with write_errors(path):
                async with writer.begin() as connection:
                    if is_new:
                        await connection.run_sync(create_schema)
                    epoch = await connection.run_sync(raise_epoch)
            yield SqlStore(path, reader, writer, epoch)


@asynccontextmanager
async def _owned(url: URL, path: Path) -> AsyncIterator[AsyncEngine]:
    """An engine to read with, while this process holds the lock of the database. Raises StoreOwnedError."""
    with owner_lock(path) as is_ours:
        async with _disposed(reading_engine(url)) as reader:
            if not is_ours:
                raise await _owned_error(reader, path)
            yield reader


async def _owned_error(reader: AsyncEngine, path: Path) -> StoreOwnedError:
    if _is_absent(path):
        return unknown_owner(path)
    with read_errors(path):
        async with reader.connect() as connection:
            return await connection.run_sync(owned, path)


async def _is_empty(reader: AsyncEngine, path: Path, named: NamedErrors) -> bool:
    """Whether the database holds nothing. Raises as `check_schema` where what it holds is not of the newest schema."""
    found = await _schema(reader, path, named)
    if found is not None:
        check_schema(found, path)
    return found is None


async def _schema(reader: AsyncEngine, path: Path, named: NamedErrors) -> str | None:
    with named(path):
        async with reader.connect() as connection:
            return await connection.run_sync(schema_of)


@asynccontextmanager
async def _disposed(engine: AsyncEngine) -> AsyncIterator[AsyncEngine]:
    try:
        yield engine
    finally:
        await engine.dispose()


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
