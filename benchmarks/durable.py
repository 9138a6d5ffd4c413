"""How many events a second are on disk before their senders go on."""

from __future__ import annotations

from math import ceil
from time import perf_counter

from benchmarks import plain_sql
from benchmarks.databases import database, new_agents, new_file, send, send_all
from benchmarks.measure import Better, Contestant, Measure, Role, Round, per_second

CROWD = 1000  # agents at once
EVENTS = 5 * CROWD  # of a round, at the least
PEERS = 100  # of LangGraph at once: its checkpointer writes one after the other, so that 1,000 are hardly faster


async def one_agent(count: int) -> float:
    with new_file() as path:
        async with new_agents(path, 1) as (_, (agent,)):
            began = perf_counter()
            await send(agent, count)
            return perf_counter() - began


async def crowd(count: int) -> float:
    each = ceil(count / CROWD)
    with new_file() as path:
        async with new_agents(path, CROWD) as (_, agents):
            began = perf_counter()
            await send_all(agents, each)
            return (perf_counter() - began) * count / (each * CROWD)


async def plain_one(count: int) -> float:
    async with database(1) as path:
        return plain_sql.one_by_one(path, count)


async def plain_one_through_aiosqlite(count: int) -> float:
    async with database(1) as path:
        return await plain_sql.one_by_one_through_aiosqlite(path, count)


async def plain_crowd(count: int) -> float:
    each = ceil(count / CROWD)
    async with database(CROWD) as path:
        return plain_sql.all_at_once(path, each) * count / (each * CROWD)


def peer(threads: int, durability: str) -> Round:
    """Rounds of LangGraph, with so many threads at once."""

    async def repeat(count: int) -> float:
        from benchmarks import langgraph_ring  # noqa: PLC0415  which takes seconds

        return await langgraph_ring.events(threads, durability, count)

    return per_second(repeat, max(threads, 25))


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
        Contestant('langgraph, durability="sync"', peer(1, "sync"), Role.PEER),
        Contestant('langgraph, durability="exit"', peer(1, "exit"), Role.PEER),
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
        Contestant(f'langgraph, durability="sync", {PEERS} threads', peer(PEERS, "sync"), Role.PEER),
        Contestant(f'langgraph, durability="exit", {PEERS} threads', peer(PEERS, "exit"), Role.PEER),
    ),
)
