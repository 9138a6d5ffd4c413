"""Databases to measure with: where they lie, what they hold before the first round."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from benchmarks.ring import EVENT, STATES, ring
from gatechart import Agent, Runtime
from gatechart.stores import open_store
from gatechart.values.commits import Posting
from gatechart.values.mail import Mail

T = TypeVar("T")

DISK = next((folder for folder in ("/var/tmp",) if Path(folder).is_dir()), None)
MEMORY = next((folder for folder in ("/dev/shm",) if Path(folder).is_dir()), DISK)  # where only bytes are counted
GROUP = 1000  # of a transaction


def url(path: Path) -> str:
    """The store in the file."""
    return f"sqlite+aiosqlite:///{path}"


@contextmanager
def new_file(folder: str | None = DISK) -> Iterator[Path]:
    """A path at which nothing is yet."""
    with TemporaryDirectory(prefix="gatechart-bench-", dir=folder) as made:
        yield Path(made) / "agents.db"


@asynccontextmanager
async def new_agents(path: Path, count: int) -> AsyncIterator[tuple[Runtime, Sequence[Agent[Any]]]]:
    """So many new agents on the ring, each with one event behind it."""
    async with Runtime.open(url(path), graphs=[ring]) as runtime:
        agents = await asyncio.gather(*(runtime.start("ring", at=STATES[0]) for _ in range(count)))
        await send_all(agents, 1)
        yield runtime, agents


@asynccontextmanager
async def database(agents: int) -> AsyncIterator[Path]:
    """A database with so many agents, closed, each with one event behind it."""
    with new_file() as path:
        async with new_agents(path, agents):
            pass
        yield path


async def send(agent: Agent[Any], count: int) -> None:
    """So many events, one after the other."""
    for _ in range(count):
        await agent.send(EVENT)


async def send_all(agents: Iterable[Agent[Any]], count: int) -> None:
    """So many events of each, all at once."""
    await asyncio.gather(*(send(agent, count) for agent in agents))


async def all_done(runtime: Runtime) -> None:
    """Returns when nothing is under way any longer."""
    while runtime.pending_work:  # noqa: ASYNC110  nothing tells
        await asyncio.sleep(0.001)


async def put_mail(path: Path, mail: Iterable[Mail]) -> None:
    """Mail that waits in the database for the next runtime."""
    async with open_store(url(path)) as store:
        for some in in_groups(mail, GROUP):
            await store.commit([Posting(each) for each in some])


def in_groups(items: Iterable[T], size: int) -> Iterator[Sequence[T]]:
    """So many at a time; the last ones perhaps fewer."""
    rest = iter(items)
    while group := tuple(islice(rest, size)):
        yield group


@contextmanager
def filling(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that writes fast, not safely. What it has written is on disk when it is closed."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA synchronous = OFF")
        database.execute("PRAGMA cache_size = -500000")
        yield database
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.execute("PRAGMA synchronous = FULL")


def size_of(path: Path) -> int:
    """The bytes of the database when all of its log is in it."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.stat().st_size
