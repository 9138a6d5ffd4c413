"""How fast mail is accepted and applied, and how fast a runtime that opens goes on with what waits."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from math import ceil
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks import plain_mail
from benchmarks.databases import DISK, all_done, database, new_agents, new_file, put_mail, url
from benchmarks.measure import Better, Contestant, Effort, Measure, Role, Round, per_second
from benchmarks.ring import EVENT, ring
from gatechart import Runtime
from gatechart.values.mail import Mail

CROWD = 1000  # agents at once
EVENTS = 3 * CROWD  # of a round, at the least
WAITING = 10_000  # agents with mail


async def post_until_applied(count: int) -> float:
    """Each agent is sent its mail one after the other, all agents at once, until nothing waits any longer."""
    each = ceil(count / CROWD)
    with new_file() as path:
        async with new_agents(path, CROWD) as (runtime, agents):
            began = perf_counter()
            await asyncio.gather(*(_post(runtime, agent.id, each) for agent in agents))
            await all_done(runtime)
            seconds = perf_counter() - began
            if any(agent.snapshot.version != 2 + each for agent in agents):
                raise RuntimeError("not all mail was applied")
            return seconds * count / (each * CROWD)


async def plain_post(count: int) -> float:
    each = ceil(count / CROWD)
    async with database(CROWD) as path:
        return plain_mail.post_and_apply(path, each) * count / (each * CROWD)


async def _post(runtime: Runtime, agent_id: str, count: int) -> None:
    for _ in range(count):
        await runtime.post(agent_id, EVENT)


async def recover(path: Path) -> float:
    """The seconds from opening until all is applied."""
    began = perf_counter()
    async with Runtime.open(url(path), graphs=[ring]) as runtime:
        await all_done(runtime)
        seconds = perf_counter() - began
        if await runtime.mail(limit=1):
            raise RuntimeError("mail still waits")
        return seconds


async def plain_recover(path: Path) -> float:
    return plain_mail.apply_waiting(path)


def of_waiting(repeat: object) -> Round:
    """Rounds that give agents per second, each on a copy of a database in which mail waits for every agent."""

    async def one_round(effort: Effort) -> float:
        count = effort.part_of(WAITING, 1000)
        with _copy(await _with_mail(count)) as path:
            return count / await repeat(path)

    return one_round


@contextmanager
def _copy(original: Path) -> Iterator[Path]:
    with new_file() as path:
        copyfile(original, path)
        yield path


@cache
def _folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="gatechart-bench-", dir=DISK)


async def _with_mail(count: int) -> Path:
    """A database with so many agents and mail for each, made once; it goes with the process."""
    path = Path(_folder().name) / f"{count}.db"
    if not path.exists():
        async with new_agents(path, count) as (_, agents):
            ids = [agent.id for agent in agents]
        now = datetime.now(UTC)
        await put_mail(path, (Mail(number, each, EVENT, {}, now) for number, each in enumerate(ids, 1)))
    return path


posts = Measure(
    "posts",
    f"Mail posted until applied, {CROWD:,} agents at once",
    "mails/s",
    Better.HIGHER,
    (
        Contestant(f"sqlite3, the same rows, {CROWD:,} in a transaction", per_second(plain_post, EVENTS), Role.RAW),
        Contestant("gatechart, Runtime.post", per_second(post_until_applied, EVENTS), target=7_000),
    ),
)

recovery = Measure(
    "recovery",
    f"Recovery of {WAITING:,} agents with mail waiting, from Runtime.open until all is applied",
    "agents/s",
    Better.HIGHER,
    (
        Contestant("sqlite3, the same rows read and written", of_waiting(plain_recover), Role.RAW),
        Contestant("gatechart, Runtime.open", of_waiting(recover), target=5_000),
    ),
    most_rounds=5,
)
