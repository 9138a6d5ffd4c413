"""How many bytes what happened takes on the disk."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

from pydantic import Field

from benchmarks.databases import MEMORY, new_agents, new_file, send_all, size_of, url
from benchmarks.measure import Better, Contestant, Effort, Measure, Role, Round
from benchmarks.ring import ring
from gatechart import AgentContext, Runtime, State, StateTransitionGraph, Transition

AGENTS, EVENTS = 200, 100  # of each
PEERS, PEER_EVENTS = 20, 20
TURNS, PEER_TURNS = 2000, 500
MESSAGE = {"role": "user", "content": "The printer on the second floor says that it is out of paper, which it is not."}

LEAST = """CREATE TABLE history (agent INTEGER, version INTEGER, event TEXT, time_us INTEGER, target TEXT, changed TEXT,
           PRIMARY KEY (agent, version)) WITHOUT ROWID"""


class Conversation(AgentContext):
    """A list that grows."""

    messages: list[dict[str, str]] = Field(default_factory=list)


def note(context: Conversation, event: object) -> None:
    """Takes down what was said."""
    context.messages.append(MESSAGE)


talking = StateTransitionGraph(
    "talking",
    context=Conversation,
    states=[State("TALKING")],
    transitions=[Transition("TALKING", "SAID", actions=note)],
    entry_points=("TALKING",),
)


async def event(effort: Effort) -> float:
    each = effort.part_of(EVENTS, 10)
    with new_file(MEMORY) as path:
        async with new_agents(path, AGENTS):
            pass
        before = size_of(path)
        async with Runtime.open(url(path), graphs=[ring]) as runtime:
            page = await runtime.find(limit=AGENTS)
            await send_all([await runtime.resume(found.agent_id) for found in page.agents], each)
        return (size_of(path) - before) / (AGENTS * each)


async def least(effort: Effort) -> float:
    """Agent, version, event, time, state and changed fields, in a table that needs no index beside."""
    each = effort.part_of(EVENTS, 10)
    with new_file(MEMORY) as path, closing(sqlite3.connect(path)) as database:
        database.execute(LEAST)
        before = size_of(path)
        for version in range(each):
            changed = f'{{"moves":{version},"arrivals":{version + 1}}}'
            rows = [(agent, version, "CHANGED", 1_800_000_000_000_000, "GREEN", changed) for agent in range(AGENTS)]
            database.executemany("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?)", rows)
            database.commit()
        return (size_of(path) - before) / (AGENTS * each)


async def conversation(effort: Effort) -> float:
    turns = effort.part_of(TURNS, 100)
    with new_file(MEMORY) as path:
        async with Runtime.open(url(path), graphs=[talking]) as runtime:
            agent = await runtime.start("talking", at="TALKING")
        before = size_of(path)
        async with Runtime.open(url(path), graphs=[talking]) as runtime:
            agent = await runtime.resume(agent.id)
            for _ in range(turns):
                await agent.send("SAID")
        return _in_proportion(size_of(path) - before, turns)


async def lines(effort: Effort) -> float:
    """Each message in a row of its own."""
    turns = effort.part_of(TURNS, 100)
    with new_file(MEMORY) as path:
        with closing(sqlite3.connect(path)) as database:
            database.execute("CREATE TABLE history (version INTEGER PRIMARY KEY, message TEXT)")
            database.executemany("INSERT INTO history VALUES (?, ?)", enumerate([json.dumps(MESSAGE)] * turns))
            database.commit()
        return _in_proportion(size_of(path), turns)


def peer_event(durability: str) -> Round:
    """Rounds with few threads: every event adds as much."""

    async def one_round(effort: Effort) -> float:
        from benchmarks import langgraph_ring  # noqa: PLC0415  which takes seconds

        return await langgraph_ring.bytes_per_event(PEERS, effort.part_of(PEER_EVENTS, 5), durability)

    return one_round


def peer_conversation(durability: str) -> Round:
    """Rounds with fewer turns, since each writes down the whole conversation."""

    async def one_round(effort: Effort) -> float:
        from benchmarks import langgraph_ring  # noqa: PLC0415  which takes seconds

        turns = effort.part_of(PEER_TURNS, 50)
        return _in_proportion(await langgraph_ring.bytes_of_conversation([MESSAGE] * turns, durability), turns)

    return one_round


def _in_proportion(added: int, turns: int) -> float:
    return added / (turns * len(json.dumps(MESSAGE)))


of_event = Measure(
    "bytes",
    "Bytes on disk for each event, with a context of two numbers",
    "bytes",
    Better.LOWER,
    (
        Contestant("sqlite3, a table of what happened alone", least, Role.RAW),
        Contestant("gatechart", event, target=250),
        Contestant('langgraph, durability="sync"', peer_event("sync"), Role.PEER),
        Contestant('langgraph, durability="exit"', peer_event("exit"), Role.PEER),
    ),
    most_rounds=1,
)

of_conversation = Measure(
    "conversation",
    f"Bytes on disk for each byte said, in a conversation that grows by a message a turn, {TURNS:,} turns",
    "times as many",
    Better.LOWER,
    (
        Contestant("sqlite3, each message in a row", lines, Role.RAW),
        Contestant("gatechart", conversation),
        Contestant(f'langgraph, durability="sync", {PEER_TURNS} turns', peer_conversation("sync"), Role.PEER),
        Contestant(f'langgraph, durability="exit", {PEER_TURNS} turns', peer_conversation("exit"), Role.PEER),
    ),
    most_rounds=1,
)
