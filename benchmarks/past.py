"""What it costs an agent that much lies behind it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from itertools import count as numbers
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.databases import DISK, filling, new_agents, url
from benchmarks.measure import Better, Contestant, Effort, Measure, Role
from benchmarks.plain_sql import BEGIN, GO_ON, connected, last_turns, moved
from benchmarks.ring import EVENT, ring
from gatechart import Runtime

SHORT, LONG = 10, 100_000  # turns in the history
EVENTS = 100  # of a round; the two agents take turns


async def event(effort: Effort) -> float:
    """How many times as long an event of the agent with the long history takes, by the medians."""
    few, many = await _turns(SHORT), await _turns(effort.part_of(LONG, 2000))
    times: tuple[list[float], list[float]] = ([], [])
    async with Runtime.open(url(few), graphs=[ring]) as one, Runtime.open(url(many), graphs=[ring]) as other:
        agents = [await runtime.resume((await runtime.find()).agents[0].agent_id) for runtime in (one, other)]
        for _ in range(effort.part_of(EVENTS, 20)):
            for agent, taken in zip(agents, times, strict=True):
                began = perf_counter()
                await agent.send(EVENT)
                taken.append(perf_counter() - began)
    return median(times[1]) / median(times[0])


async def plain_event(effort: Effort) -> float:
    """The same rows by hand."""
    with ExitStack() as opened:
        writers = [
            opened.enter_context(_writing(path))
            for path in (await _turns(SHORT), await _turns(effort.part_of(LONG, 2000)))
        ]
        times = [[next(writer) for writer in writers] for _ in range(effort.part_of(EVENTS, 20))]
    few, many = zip(*times, strict=True)
    return median(many) / median(few)


@contextmanager
def _writing(path: Path) -> Iterator[Iterator[float]]:
    """The seconds of an event, and of another, and of another."""
    with closing(connected(path)) as database:
        yield _written(database)


def _written(database: sqlite3.Connection) -> Iterator[float]:
    add, (row,) = last_turns(database)
    for version in numbers(row["version"] + 1):
        row["version"] = version
        began = perf_counter()
        database.execute(BEGIN)
        database.execute(GO_ON, row)
        database.execute(add, row)
        database.execute("COMMIT")
        yield perf_counter() - began


@cache
def _folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="gatechart-bench-", dir=DISK)


async def _turns(count: int) -> Path:
    """A database with one agent that has so many turns behind it, made once. It goes with the process."""
    path = Path(_folder().name) / f"{count}.db"
    if path.exists():
        return path
    async with new_agents(path, 1):
        pass
    with filling(path) as database:
        add, (row,) = last_turns(database)
        rows = [moved(row, version) for version in range(row["version"] + 1, count + 1)]
        database.execute(BEGIN)
        database.executemany(add, rows)
        database.execute(GO_ON, rows[-1])
        database.execute("COMMIT")
    return path


measure = Measure(
    "past",
    f"An event of one agent with {LONG:,} turns behind it, against one with {SHORT}",
    "times as long",
    Better.LOWER,
    (
        Contestant("sqlite3, the same rows", plain_event, Role.RAW),
        Contestant("gatechart, one agent", event, target=1.1),
    ),
)
