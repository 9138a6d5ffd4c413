"""Agents on Restate: one node, its service and the load together on this machine."""

from __future__ import annotations

import asyncio
import atexit
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import cache
from math import ceil
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.measure import Better, Contestant, Effort, Measure, Role, Round, per_second
from benchmarks.ring import EVENT, ring
from gatechart.errors import OutsideError
from gatechart.restate import RestateRuntime, register
from gatechart.restate.ingress import Ingress

CROWD = 50  # agents at once
EVENTS = 20 * CROWD  # of a round, at the least
ALONE = 100  # events of a round of one agent
HERE = Path(__file__).parents[1]

Send = Callable[[], Awaitable[object]]


@cache
def engine() -> tuple[str, str]:
    """The ingress and the admin address of an engine that runs as long as this process."""
    from tests.restate.engines import Engine  # noqa: PLC0415  which needs pytest

    folder = TemporaryDirectory(prefix="gatechart-bench-")
    made = Engine(Path(folder.name))
    made.begin()
    atexit.register(folder.cleanup)
    atexit.register(made.kill)
    return made.ingress, made.admin


_served: set[str] = set()


def _spawned(which: str, port: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "benchmarks.restate_service", which, str(port)], cwd=HERE)


async def _known(which: str) -> None:
    """Has the engine know a service, in a process of its own."""
    from tests.ports import free_ports  # noqa: PLC0415

    if which in _served:
        return
    _, admin = engine()
    (port,) = free_ports(1)
    child = _spawned(which, port)
    atexit.register(child.kill)
    async with asyncio.timeout(30):
        while which not in _served:
            with suppress(OutsideError):
                await register(admin, f"http://127.0.0.1:{port}")
                _served.add(which)
            await asyncio.sleep(0.1)


@asynccontextmanager
async def agents(count: int) -> AsyncIterator[list[Send]]:
    """What sends an event to each of so many new agents."""
    await _known("gatechart")
    async with RestateRuntime.open(engine()[0], graphs=[ring]) as runtime:
        made = [await runtime.start("ring", at="RED") for _ in range(count)]
        yield [lambda agent=agent: agent.send(EVENT) for agent in made]


@asynccontextmanager
async def bare(count: int) -> AsyncIterator[list[Send]]:
    """What calls each of so many new objects."""
    await _known("bare")
    async with Ingress.open(engine()[0], patience_s=30) as ingress:
        told = {"event": EVENT, "payload": {}, "id": None}
        keys = [f"{perf_counter()}-{each}" for each in range(count)]
        sends = [lambda key=key: ingress.ask("send", "Bare", "send", key, told, reads=False) for key in keys]
        for send in sends:
            await send()
        yield sends


def together(opened: Callable[[int], AsyncIterator[list[Send]]]) -> Round:
    """Rounds that give events per second, all agents at once."""

    async def repeat(count: int) -> float:
        each = ceil(count / CROWD)
        async with opened(CROWD) as sends:
            began = perf_counter()
            await asyncio.gather(*(_repeated(send, each) for send in sends))
            return (perf_counter() - began) * count / (each * CROWD)

    return per_second(repeat, EVENTS)


def alone(opened: Callable[[int], AsyncIterator[list[Send]]]) -> Round:
    """Rounds that give the median milliseconds of an event, one after the other."""

    async def one_round(effort: Effort) -> float:
        async with opened(1) as (send,):
            return median([await _timed(send) for _ in range(effort.part_of(ALONE, 20))]) * 1000

    return one_round


async def _repeated(send: Send, times: int) -> None:
    for _ in range(times):
        await send()


async def _timed(send: Send) -> float:
    began = perf_counter()
    await send()
    return perf_counter() - began


crowd = Measure(
    "restate",
    f"Durable events on Restate, {CROWD} agents at once; engine, service and load on this machine",
    "events/s",
    Better.HIGHER,
    (
        Contestant("a bare virtual object with the same journal entries", together(bare), Role.RAW),
        Contestant("gatechart, RestateRuntime", together(agents), target=400),
    ),
    most_rounds=5,
)

one = Measure(
    "restate-alone",
    "Median time of a durable event on Restate, one agent at a time",
    "ms",
    Better.LOWER,
    (
        Contestant("a bare virtual object with the same journal entries", alone(bare), Role.RAW),
        Contestant("gatechart, RestateRuntime", alone(agents), target=10),
    ),
    most_rounds=5,
)
