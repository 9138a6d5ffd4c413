"""The transfer as its users would write it with LangGraph: two subgraphs of one graph, a thread for each conversation.

A node of the first hands on by `Command(goto=..., graph=Command.PARENT)`, and the state says who has the conversation.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter
from typing import Any, NotRequired

import aiosqlite
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command

from benchmarks.databases import new_file
from benchmarks.transfers import SAID


class Conversation(MessagesState):
    """What was said, and who has it."""

    active_agent: NotRequired[str]


async def talk(state: Conversation) -> Any:
    """The node of the agent that begins."""
    if state["messages"][-1].content != SAID[-1]:
        return {}
    return Command(goto="refunds", graph=Command.PARENT, update={"active_agent": "refunds"})


async def review(state: Conversation) -> dict[str, Any]:
    """The node of the agent that takes over."""
    return {"messages": [AIMessage(f"I have read {len(state['messages'])} messages.")]}


def who_has_it(state: Conversation) -> str:
    return str(state.get("active_agent", "orders"))


async def transfers(threads: int, durability: str, count: int) -> float:
    """The seconds for so many, from the fifth message until the run has ended."""
    with new_file() as path:
        async with _opened(path) as graph:
            before, last = _messages()[:-1], _messages()[-1]
            await _say_all(graph, threads, durability, count, before)
            began = perf_counter()
            await _say_all(graph, threads, durability, count, [last])
            seconds = perf_counter() - began
            await _check(graph, count)
            return seconds


def _messages() -> Sequence[BaseMessage]:
    return [AIMessage(text) if number % 2 else HumanMessage(text) for number, text in enumerate(SAID)]


@asynccontextmanager
async def _opened(path: Path) -> AsyncIterator[Any]:
    async with aiosqlite.connect(path) as connection:
        builder = StateGraph(Conversation)
        builder.add_node("orders", _agent("talk", talk), destinations=("refunds",))
        builder.add_node("refunds", _agent("review", review))
        builder.add_conditional_edges(START, who_has_it, ["orders", "refunds"])
        builder.add_edge("orders", END)
        builder.add_edge("refunds", END)
        yield builder.compile(checkpointer=AsyncSqliteSaver(connection))


def _agent(name: str, node: Any) -> Any:
    builder = StateGraph(Conversation)
    builder.add_node(name, node)
    builder.add_edge(START, name)
    return builder.compile()


async def _say_all(graph: Any, at_once: int, durability: str, count: int, messages: Sequence[BaseMessage]) -> None:
    threads = iter(range(count))

    async def one() -> None:
        for thread in threads:
            copies = [message.model_copy() for message in messages]
            await graph.ainvoke({"messages": copies}, _config(thread), durability=durability)

    await asyncio.gather(*(one() for _ in range(at_once)))


def _config(thread: int) -> dict[str, Any]:
    return {"configurable": {"thread_id": str(thread)}}


async def _check(graph: Any, count: int) -> None:
    for thread in {0, count - 1}:
        values = (await graph.aget_state(_config(thread))).values
        if who_has_it(values) != "refunds" or len(values["messages"]) != len(SAID) + 1:
            raise RuntimeError(f"{values!r} after a transfer")
