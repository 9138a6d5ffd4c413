"""The rows of a turn written by hand: what the database itself takes, with no turn worked out and nothing checked."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Any

import aiosqlite

from benchmarks.ring import EVENT, STATES
from gatechart.stores.sql.sqlite_connections import CACHE_KIB, LOG_PAGES

GO_ON = "UPDATE agents SET configuration = :target, context = :context, version = :version WHERE key = :agent"
BEGIN = "BEGIN IMMEDIATE"
NOT_OF_DELTAS = {"key", "context", "graph_version", "fingerprint"}  # the latter three make a full copy
DURABLE = "PRAGMA synchronous = FULL"  # that the database is in WAL mode, it remembers itself


def one_by_one(path: Path, count: int) -> float:
    """The seconds for so many events of one agent, a transaction each."""
    with closing(connected(path)) as database:
        add, (row,) = last_turns(database)
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
    with closing(connected(path)) as database:
        add, (row,) = last_turns(database)
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
    with closing(connected(path)) as database:
        add, rows = last_turns(database)
        began = perf_counter()
        for _ in range(times):
            for row in rows:
                row["version"] += 1
            database.execute(BEGIN)
            database.executemany(GO_ON, rows)
            database.executemany(add, rows)
            database.execute("COMMIT")
        return perf_counter() - began


def connected(path: Path) -> sqlite3.Connection:
    """A connection that begins nothing by itself, whose commits are on disk; its log and cache are as gatechart's."""
    database = sqlite3.connect(path, isolation_level=None)
    database.execute(DURABLE)
    database.execute(f"PRAGMA wal_autocheckpoint={LOG_PAGES}")
    database.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
    return database


def last_turns(database: sqlite3.Connection) -> tuple[str, list[dict[str, Any]]]:
    """The statement that adds to the history, and the last row of those agents that came farthest, to go on from."""
    found = database.execute(
        "SELECT history.*, agents.context AS context FROM agents JOIN history"
        " ON history.agent = agents.key AND history.version = agents.version"
        " WHERE agents.version = (SELECT max(every.version) FROM agents AS every)"
    )
    rows = rows_of(found)
    return add_to_history(rows[0]), rows


def rows_of(found: sqlite3.Cursor) -> list[dict[str, Any]]:
    """What was found, by the names of its columns; of two with one name it is the last."""
    names = [column for column, *_ in found.description]
    return [dict(zip(names, row, strict=True)) for row in found]


def moved(row: dict[str, Any], version: int) -> dict[str, Any]:
    """The row as the agent's turn of this version leaves it, on its way around the ring."""
    context = f'{{"moves":{version - 1},"arrivals":{version}}}'
    target = f'["{STATES[(version - 1) % len(STATES)]}"]'
    return row | {"version": version, "event": EVENT, "target": target, "changed": context, "context": context}


def add_to_history(names: Iterable[str]) -> str:
    """The statement that adds a row to the history, with these columns but for the key and a full copy."""
    columns = [name for name in names if name not in NOT_OF_DELTAS]
    return f"INSERT INTO history ({', '.join(columns)}) VALUES (:{', :'.join(columns)})"
