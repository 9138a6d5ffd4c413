"""How many events a second are on disk before their senders go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks import plain_sql
from benchmarks.measure import Better, Contestant, Measure, Role, per_second
from benchmarks.ring import EVENT, STATES, ring
from gatechart import Agent, Runtime

CROWD = 1000  # agents at once
EVENTS = 10 * CROWD  # of a round, at the least
DISK = "/var/tmp" if Path("/var/tmp").is_dir() else None


async def one_agent(count: int) -> float:
    with _new_file() as path:
        async with _agents(path, 1) as (agent,):
            began = perf_counter()
            await _send(agent, count)
            return perf_counter() - began


async def crowd(count: int) -> float:
    each = ceil(count / CROWD)
    with _new_file() as path:
        async with _agents(path, CROWD) as agents:
            began = perf_counter()
            await asyncio.gather(*(_send(agent, each) for agent in agents))
            return (perf_counter() - began) * count / (each * CROWD)


async def plain_one(count: int) -> float:
    async with _database(1) as path:
        return plain_sql.one_by_one(path, count)


async def plain_one_through_aiosqlite(count: int) -> float:
    async with _database(1) as path:
        return await plain_sql.one_by_one_through_aiosqlite(path, count)


async def plain_crowd(count: int) -> float:
    each = ceil(count / CROWD)
    async with _database(CROWD) as path:
        return plain_sql.all_at_once(path, each) * count / (each * CROWD)


async def _send(agent: Agent, count: int) -> None:
    for _ in range(count):
        await agent.send(EVENT)


@contextmanager
def _new_file() -> Iterator[Path]:
    with TemporaryDirectory(prefix="gatechart-bench-", dir=DISK) as folder:
        yield Path(folder) / "agents.db"


@asynccontextmanager
async def _agents(path: Path, count: int) -> AsyncIterator[Sequence[Agent]]:
    """So many new agents, each with one event behind it."""
    async with Runtime.open(f"sqlite+aiosqlite:///{path}", graphs=[ring]) as runtime:
        agents = await asyncio.gather(*(runtime.start("ring", at=STATES[0]) for _ in range(count)))
        await asyncio.gather(*(_send(agent, 1) for agent in agents))
        yield agents


@asynccontextmanager
async def _database(agents: int) -> AsyncIterator[Path]:
    """A database with so many agents, closed, each with one event behind it."""
    with _new_file() as path:
        async with _agents(path, agents):
            pass
        yield path


alone = Measure(
    "durable",
    "Durable events of one agent, one after the other",
    "events/s",
    Better.HIGHER,
    (
        Contestant("sqlite3, the same rows, a transaction each", per_second(plain_one, 100), Role.RAW),
        Contestant(
            "aiosqlite, the same rows, a transaction each", per_second(plain_one_through_aiosqlite, 100), Role.RAW
        ),
        Contestant("gatechart, one agent", per_second(one_agent, 100), target=700),
    ),
)

together = Measure(
    "crowd",
    f"Durable events of {CROWD:,} agents at once",
    "events/s",
    Better.HIGHER,
    (
        Contestant(f"sqlite3, the same rows, {CROWD:,} in a transaction", per_second(plain_crowd, EVENTS), Role.RAW),
        Contestant(f"gatechart, {CROWD:,} agents", per_second(crowd, EVENTS), target=15_000),
    ),
)
