"""How many events a second a PostgreSQL server has on disk before their senders go on."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from math import ceil
from time import perf_counter
from typing import Any

import asyncpg

from benchmarks.databases import DISK, send_all
from benchmarks.durable import CROWD, EVENTS
from benchmarks.measure import Better, Contestant, Measure, Role, per_second
from benchmarks.ring import STATES, ring
from gatechart import Agent, Runtime
from tests.postgres import SAFE, Server

LAST_TURNS = """
SELECT agents.key AS agent, history.version, history.event, history.time_us, history.target, history.changed,
    history.took_us, agents.configuration, agents.context
FROM agents JOIN history ON history.agent = agents.key AND history.version = agents.version
"""
GO_ON = """
UPDATE agents SET configuration = new.target, context = new.context, version = new.version
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[]) AS new (agent, version, target, context)
WHERE agents.key = new.agent
"""
REMEMBER = """
INSERT INTO history (agent, version, event, time_us, target, changed, took_us)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::bigint[])
"""


@cache
def server() -> Server:
    """A server of the benchmarks' own, with its defaults: `synchronous_commit=on`, `fsync=on`."""
    started = Server(*SAFE, folder=DISK).__enter__()
    atexit.register(started.__exit__)
    return started


@asynccontextmanager
async def new_agents(url: str, count: int) -> AsyncIterator[tuple[Runtime, Sequence[Agent[Any]]]]:
    """So many new agents on the ring, each with one event behind it."""
    async with Runtime.open(url, graphs=[ring]) as runtime:
        agents = await asyncio.gather(*(runtime.start("ring", at=STATES[0]) for _ in range(count)))
        await send_all(agents, 1)
        yield runtime, agents


async def crowd(count: int) -> float:
    each = ceil(count / CROWD)
    name = await asyncio.to_thread(server().new)
    async with new_agents(server().url(name), CROWD) as (_, agents):
        began = perf_counter()
        await send_all(agents, each)
        return (perf_counter() - began) * count / (each * CROWD)


async def plain_crowd(count: int) -> float:
    each = ceil(count / CROWD)
    name = await asyncio.to_thread(server().new)
    async with new_agents(server().url(name), CROWD):
        pass
    connection = await asyncpg.connect(host="127.0.0.1", port=server().port, user="gatechart", database=name)
    try:
        return await all_at_once(connection, each) * count / (each * CROWD)
    finally:
        await connection.close()


async def all_at_once(connection: Any, times: int) -> float:
    """The seconds for so many events of every agent, one event of each in a transaction: the same rows by hand."""
    rows = [dict(row) for row in await connection.fetch(LAST_TURNS)]
    began = perf_counter()
    for _ in range(times):
        for row in rows:
            row["version"] += 1
        agent, version, event, time_us, target, changed, took_us, context = (
            [row[name] for row in rows]
            for name in ("agent", "version", "event", "time_us", "target", "changed", "took_us", "context")
        )
        async with connection.transaction():
            await connection.execute(GO_ON, agent, version, target, context)
            await connection.execute(REMEMBER, agent, version, event, time_us, target, changed, took_us)
    return perf_counter() - began


measure = Measure(
    "server",
    f"Durable events of {CROWD:,} agents at once, on PostgreSQL",
    "events/s",
    Better.HIGHER,
    (
        Contestant(f"asyncpg, the same rows, {CROWD:,} in a transaction", per_second(plain_crowd, EVENTS), Role.RAW),
        Contestant(f"gatechart, {CROWD:,} agents, postgresql", per_second(crowd, EVENTS), target=8_000),
    ),
)
