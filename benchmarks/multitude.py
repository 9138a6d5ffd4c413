"""What it costs that many agents are stored while few of them work."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections.abc import Sequence
from contextlib import AsyncExitStack, closing
from functools import cache
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from benchmarks import plain_sql
from benchmarks.databases import DISK, filling, send_all, url
from benchmarks.measure import Better, Contestant, Effort, Measure, Role
from benchmarks.plain_sql import BEGIN, GO_ON, add_to_history, moved, rows_of
from benchmarks.ring import STATES, ring
from benchmarks.rounds import tell
from gatechart import Agent, Runtime

MANY = 1_000_000  # agents stored
ACTIVE = 1000
SLICES = 3  # of a round: the two databases take turns
EVENTS = 3  # of each active agent in a slice
RESUMED = 300  # agents of a round
STEP = 100_000  # agents between two words to those who wait

COPY_AGENTS = """
    WITH RECURSIVE copies(key) AS (SELECT :first UNION ALL SELECT key + 1 FROM copies WHERE key < :last)
    INSERT INTO agents (key, id, {columns})
    SELECT copies.key, lower(hex(randomblob(16))), {of_one} FROM copies, agents AS one WHERE one.key = 1"""
COPY_HISTORY = """
    INSERT INTO history (agent, {columns})
    SELECT agents.key, {of_one} FROM agents, history AS one
    WHERE agents.key BETWEEN :first AND :last AND one.agent = 1 ORDER BY agents.key, one.version"""


async def events_of_few(effort: Effort) -> float:
    """How many times as long an event takes among many stored agents."""
    few, many = await _stored(ACTIVE), await _stored(effort.part_of(MANY, 20_000))
    async with AsyncExitStack() as opened:
        crowds = []
        for path in (few, many):
            runtime = await opened.enter_async_context(Runtime.open(url(path), graphs=[ring]))
            crowds.append(await asyncio.gather(*map(runtime.resume, _active(path))))
            await send_all(crowds[-1], 1)
        times = [[await _slice(agents) for agents in crowds] for _ in range(SLICES)]
    return median(among_many / among_few for among_few, among_many in times)


async def _slice(agents: Sequence[Agent[Any]]) -> float:
    began = perf_counter()
    await send_all(agents, EVENTS)
    return perf_counter() - began


async def plain_events_of_few(effort: Effort) -> float:
    """The same by hand. The rows go on from where they are."""
    few, many = await _stored(ACTIVE), await _stored(effort.part_of(MANY, 20_000))
    times = [[plain_sql.all_at_once(path, EVENTS) for path in (few, many)] for _ in range(SLICES)]
    return median(among_many / among_few for among_few, among_many in times)


async def resume(effort: Effort) -> float:
    """The median of some agents taken at random, in milliseconds."""
    path = await _stored(effort.part_of(MANY, 20_000))
    wanted = _some(path)
    times = []
    async with Runtime.open(url(path), graphs=[ring]) as runtime:
        for agent_id in wanted:
            began = perf_counter()
            await runtime.resume(agent_id)
            times.append(perf_counter() - began)
    return median(times) * 1000


async def plain_resume(effort: Effort) -> float:
    path = await _stored(effort.part_of(MANY, 20_000))
    wanted = _some(path)
    times = []
    with closing(sqlite3.connect(path, isolation_level=None)) as opened:
        for agent_id in wanted:
            began = perf_counter()
            opened.execute("SELECT * FROM agents WHERE id = ?", (agent_id,)).fetchall()
            times.append(perf_counter() - began)
    return median(times) * 1000


@cache
def _folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="gatechart-bench-", dir=DISK)


async def _stored(count: int) -> Path:
    """A database with so many agents, made once from one; some, evenly among them, are active: a turn ahead.

    It goes with the process.
    """
    path = Path(_folder().name) / f"{count}.db"
    if path.exists():
        return path
    async with Runtime.open(url(path), graphs=[ring]) as runtime:
        await runtime.start("ring", at=STATES[0])
    with filling(path) as database:
        copies = (_copying(database, "agents", COPY_AGENTS), _copying(database, "history", COPY_HISTORY))
        for first in range(2, count + 1, STEP):
            if count > STEP:
                tell(f"making {count:,} stored agents: {first - 2:,}")
            bounds = {"first": first, "last": min(first + STEP - 1, count)}
            database.execute(BEGIN)
            for copy in copies:
                database.execute(copy, bounds)
            database.execute("COMMIT")
        _set_ahead(database, count // ACTIVE)
    return path


def _set_ahead(database: sqlite3.Connection, step: int) -> None:
    """Gives every so-manieth agent a second turn: these are the active ones."""
    found = database.execute("SELECT * FROM history WHERE agent % ? = 0 ORDER BY agent LIMIT ?", (step, ACTIVE))
    rows = [moved(row, 2) for row in rows_of(found)]
    database.execute(BEGIN)
    database.executemany(GO_ON, rows)
    database.executemany(add_to_history(rows[0]), rows)
    database.execute("COMMIT")


def _copying(database: sqlite3.Connection, table: str, statement: str) -> str:
    """The statement with the columns that a copy shares with the one it is made from."""
    found = database.execute("SELECT name FROM pragma_table_info(?)", (table,))
    columns = [name for (name,) in found if name not in {"key", "id", "agent"}]
    return statement.format(columns=", ".join(columns), of_one=", ".join(f"one.{name}" for name in columns))


def _active(path: Path) -> Sequence[str]:
    return _ids(path, "SELECT id FROM agents WHERE version = (SELECT max(version) FROM agents)")


def _some(path: Path) -> Sequence[str]:
    (last,) = _ids(path, "SELECT max(key) FROM agents")
    keys = ", ".join(str(random.randint(1, int(last))) for _ in range(RESUMED))
    return _ids(path, f"SELECT id FROM agents WHERE key IN ({keys})")


def _ids(path: Path, query: str, *values: int) -> Sequence[str]:
    with closing(sqlite3.connect(path)) as database:
        return [found for (found,) in database.execute(query, values)]


stored = Measure(
    "stored",
    f"An event of {ACTIVE:,} active agents with {MANY:,} stored, against the same with {ACTIVE:,} stored",
    "times as long",
    Better.LOWER,
    (
        Contestant(f"sqlite3, the same rows, {ACTIVE:,} in a transaction", plain_events_of_few, Role.RAW),
        Contestant(f"gatechart, {ACTIVE:,} agents at once", events_of_few, target=2),
    ),
    most_rounds=3,
)

resuming = Measure(
    "resume",
    f"Resuming a stored agent, {MANY:,} stored, the median of {RESUMED}",
    "ms",
    Better.LOWER,
    (
        Contestant("sqlite3, the agent's row", plain_resume, Role.RAW),
        Contestant("gatechart, Runtime.resume", resume, target=2),
    ),
    most_rounds=5,
)
