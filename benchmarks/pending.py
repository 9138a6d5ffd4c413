"""What timers cost that are not due for long: memory, and time when a runtime opens."""

from __future__ import annotations

import gc
import sqlite3
import tracemalloc
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.databases import DISK, new_agents, put_mail, url
from benchmarks.measure import Better, Contestant, Effort, Measure, Role, Round
from benchmarks.ring import EVENT, ring
from gatechart import Limits, Runtime
from gatechart.values.mail import Mail

TIMERS = 100_000
AGENTS = 1000
KEPT = 1000  # by a runtime that is told to keep few
DUE_IN = timedelta(days=30)


def memory_with(limits: Limits) -> Round:
    """Rounds that give the bytes of an open runtime with timers pending, less those of one without any."""

    async def one_round(effort: Effort) -> float:
        with_timers = await _bytes_of(await _pending(effort.part_of(TIMERS, 2000)), limits)
        return with_timers - await _bytes_of(await _pending(0), limits)

    return one_round


async def all_in_memory(effort: Effort) -> float:
    """The bytes of all of them, in a dict."""
    count = effort.part_of(TIMERS, 2000)
    gc.collect()
    tracemalloc.start()
    try:
        held = {mail.number: mail for mail in _timers([f"{agent:032x}" for agent in range(AGENTS)], count)}
        used, _peak = tracemalloc.get_traced_memory()
        del held
        return used
    finally:
        tracemalloc.stop()


async def _bytes_of(path: Path, limits: Limits) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        async with Runtime.open(url(path), graphs=[ring], limits=limits):
            gc.collect()
            return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def opening_with(timers: int, limits: Limits) -> Round:
    """Rounds that give the milliseconds until a runtime is open."""

    async def one_round(effort: Effort) -> float:
        path = await _pending(effort.part_of(timers, 2000) if timers else 0)
        began = perf_counter()
        async with Runtime.open(url(path), graphs=[ring], limits=limits):
            return (perf_counter() - began) * 1000

    return one_round


async def plain_reading(effort: Effort) -> float:
    """The milliseconds in which those that are due first are read, as many as a runtime keeps."""
    path = await _pending(effort.part_of(TIMERS, 2000))
    began = perf_counter()
    with closing(sqlite3.connect(path)) as database:
        due = "SELECT * FROM mail WHERE status = 'waiting' AND due_us IS NOT NULL ORDER BY due_us, number LIMIT ?"
        database.execute(due, (Limits().timers,)).fetchall()
        return (perf_counter() - began) * 1000


@cache
def _folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="gatechart-bench-", dir=DISK)


async def _pending(count: int) -> Path:
    """A database with so many timers, made once. It goes with the process."""
    path = Path(_folder().name) / f"{count}.db"
    if not path.exists():
        async with new_agents(path, AGENTS) as (_, agents):
            ids = [agent.id for agent in agents]
        await put_mail(path, _timers(ids, count))
    return path


def _timers(ids: list[str], count: int) -> list[Mail]:
    now = datetime.now(UTC)
    return [
        Mail(number, ids[number % len(ids)], EVENT, {}, now, due=now + DUE_IN + timedelta(seconds=number), key="remind")
        for number in range(1, count + 1)
    ]


in_memory = Measure(
    "timers",
    f"Memory that {TIMERS:,} pending timers take",
    "bytes",
    Better.LOWER,
    (
        Contestant("all of them in a dict", all_in_memory, Role.RAW),
        Contestant(f"gatechart, {Limits().timers:,} kept, as by default", memory_with(Limits())),
        Contestant(f"gatechart, {KEPT:,} kept", memory_with(Limits(timers=KEPT))),
    ),
    most_rounds=1,
)

opening = Measure(
    "opening",
    f"Opening a runtime with {TIMERS:,} timers pending",
    "ms",
    Better.LOWER,
    (
        Contestant(f"sqlite3, the first {Limits().timers:,} read", plain_reading, Role.RAW),
        Contestant(f"gatechart, {Limits().timers:,} kept, as by default", opening_with(TIMERS, Limits())),
        Contestant(f"gatechart, {KEPT:,} kept", opening_with(TIMERS, Limits(timers=KEPT))),
        Contestant("gatechart, no timers", opening_with(0, Limits())),
    ),
)
