"""The ring as its users would write it with LangGraph: one node that moves on, a checkpoint in SQLite for each event.

A thread is an agent, an `ainvoke` an event. durability="sync" has every step on disk before the next begins,
"exit" writes one checkpoint when the graph has come to its end.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import ceil
from operator import add
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, TypedDict

import aiosqlite
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph

from benchmarks.databases import MEMORY, new_file, size_of
from benchmarks.ring import FOLLOWING, STATES, RingContext, count_arrival, count_move, is_allowed


class RingState(TypedDict):
    """Where a thread is, with its data."""

    light: str
    context: RingContext


class Conversation(TypedDict):
    """A list that grows."""

    messages: Annotated[list[dict[str, str]], add]


async def changed(state: RingState) -> dict[str, Any]:
    """The node: guard, transition action, entry action."""
    context = state["context"]
    if not is_allowed(context, None):
        return {}
    count_move(context, None)
    count_arrival(context, None)
    return {"light": FOLLOWING[state["light"]], "context": context}


async def noted(_state: Conversation) -> dict[str, Any]:
    """The node of a conversation: what was said is in it already."""
    return {}


async def events(threads: int, durability: str, count: int) -> float:
    """The seconds for so many events, of so many threads at once that have one event behind them."""
    with new_file() as path:
        async with _opened(path, RingState, changed) as graph:
            each = ceil(count / threads)
            await _send_all(graph, threads, durability, 1, _first)
            began = perf_counter()
            await _send_all(graph, threads, durability, each, dict)
            seconds = (perf_counter() - began) * count / (each * threads)
            await _check(graph, each + 1)
            return seconds


async def bytes_per_event(threads: int, each: int, durability: str) -> float:
    """What an event adds to the database."""
    with new_file(MEMORY) as path:
        async with _opened(path, RingState, changed) as graph:
            await _send_all(graph, threads, durability, 1, _first)
        before = size_of(path)
        async with _opened(path, RingState, changed) as graph:
            await _send_all(graph, threads, durability, each, dict)
            await _check(graph, each + 1)
        return (size_of(path) - before) / (threads * each)


async def bytes_of_conversation(messages: list[dict[str, str]], durability: str) -> int:
    """The bytes of the database when all has been said, a message a turn."""
    with new_file(MEMORY) as path:
        async with _opened(path, Conversation, noted) as graph:
            for message in messages:
                await _send(graph, "0", durability, {"messages": [message]})
        return size_of(path)


def _first() -> dict[str, Any]:
    return {"light": STATES[0], "context": RingContext()}


@asynccontextmanager
async def _opened(path: Path, schema: type, node: Any) -> AsyncIterator[Any]:
    serde = JsonPlusSerializer(allowed_msgpack_modules=[RingContext])
    async with aiosqlite.connect(path) as connection:
        builder = StateGraph(schema)
        builder.add_node("node", node)
        builder.add_edge(START, "node")
        builder.add_edge("node", END)
        yield builder.compile(checkpointer=AsyncSqliteSaver(connection, serde=serde))


async def _send_all(graph: Any, threads: int, durability: str, count: int, content: Any) -> None:
    async def one(thread: int) -> None:
        for _ in range(count):
            await _send(graph, str(thread), durability, content())

    await asyncio.gather(*map(one, range(threads)))


async def _send(graph: Any, thread: str, durability: str, content: dict[str, Any]) -> None:
    await graph.ainvoke(content, {"configurable": {"thread_id": thread}}, durability=durability)


async def _check(graph: Any, count: int) -> None:
    state = await graph.aget_state({"configurable": {"thread_id": "0"}})
    if state.values["context"].moves != count:
        raise RuntimeError(f"{state.values!r} after {count} events")
