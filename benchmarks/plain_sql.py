"""The rows of a turn written by hand: what the database itself takes, with no turn worked out and nothing checked."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Any

import aiosqlite

GO_ON = "UPDATE agents SET configuration = :target, context = :context, version = :version WHERE key = :agent"
BEGIN = "BEGIN IMMEDIATE"
DURABLE = "PRAGMA synchronous = FULL"  # that the database is in WAL mode, it remembers itself


def one_by_one(path: Path, count: int) -> float:
    """The seconds for so many events of one agent, a transaction each."""
    with closing(_connected(path)) as database:
        add, (row,) = _last_turns(database)
        began = perf_counter()
        for _ in range(count):
            row["version"] += 1
            database.execute(BEGIN)
            database.execute(GO_ON, row)
            database.execute(add, row)
            database.execute("COMMIT")
        return perf_counter() - began


async def one_by_one_through_aiosqlite(path: Path, count: int) -> float:
    """The same, from a coroutine."""
    with closing(_connected(path)) as database:
        add, (row,) = _last_turns(database)
    async with aiosqlite.connect(path, isolation_level=None) as connection:
        await connection.execute(DURABLE)
        began = perf_counter()
        for _ in range(count):
            row["version"] += 1
            await connection.execute(BEGIN)
            await connection.execute(GO_ON, row)
            await connection.execute(add, row)
            await connection.execute("COMMIT")
        return perf_counter() - began


def all_at_once(path: Path, times: int) -> float:
    """The seconds for so many events of every agent, one event of each in a transaction."""
    with closing(_connected(path)) as database:
        add, rows = _last_turns(database)
        began = perf_counter()
        for _ in range(times):
            for row in rows:
                row["version"] += 1
            database.execute(BEGIN)
            database.executemany(GO_ON, rows)
            database.executemany(add, rows)
            database.execute("COMMIT")
        return perf_counter() - began


def _connected(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None)
    database.execute(DURABLE)
    return database


def _last_turns(database: sqlite3.Connection) -> tuple[str, list[dict[str, Any]]]:
    """The statement that adds to the history, and the last row of every agent, with its context, to go on from."""
    found = database.execute("SELECT * FROM history WHERE version = (SELECT max(version) FROM history)")
    columns = [column for column, *_ in found.description]
    rows = [dict(zip(columns, row, strict=True)) for row in found]
    contexts = dict(database.execute("SELECT key, context FROM agents"))
    add = f"INSERT INTO history ({', '.join(columns)}) VALUES (:{', :'.join(columns)})"
    return add, [{**row, "context": contexts[row["agent"]]} for row in rows]
