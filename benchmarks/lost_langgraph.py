"""The same conversation with LangGraph, as its manual says: subgraphs as agents, `Command.PARENT`, effects in tasks.

The state remembers the active agent, and a new message begins with it. durability="sync" has every step on disk before
the next begins. A run that was cut off is resumed by `ainvoke(None, config)`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any, NotRequired

import aiosqlite
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.func import task
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command

from benchmarks.faults import FIRST, HURRY, NEXT, SECOND, WISH, Findings, World, answer_to

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "conversation-1"}}
LIMIT = {"recursion_limit": 100}  # steps, 10,000 by default


class Talk(MessagesState):
    """A conversation, and who has it."""

    active_agent: NotRequired[str]


async def live(world: World) -> None:
    """The conversation up to the handoff, at whose points the process may die; then what has become of it."""
    async with _opened(world) as graph:
        for text in (FIRST, SECOND):
            await _say(graph, text)
        world.is_armed = True
        found = Findings()
        texts = (WISH, HURRY) if world.scenario == "two at once" else (WISH,)
        outcomes = await asyncio.gather(*(_say(graph, text) for text in texts), return_exceptions=True)
        found.told = ", ".join(type(each).__name__ for each in outcomes if isinstance(each, BaseException))
        world.is_armed = False
        if not world.is_matrix:
            await _ask_on(graph, found)
            world.seen = asdict(await _look(graph, world, found))


async def go_on(world: World) -> None:
    """What another process finds when the first one has died, and the person writes again."""
    async with _opened(world) as graph:
        found = Findings()
        if not world.is_impatient:
            await _resume(graph, found)
        if WISH not in await _messages(graph):
            found.was_said_again = True
            await _say(graph, WISH)
        await _ask_on(graph, found)
        world.seen = asdict(await _look(graph, world, found))


async def _resume(graph: Any, found: Findings) -> None:
    """Goes on with every thread, as `next` does not tell of all that were cut off."""
    before = await graph.aget_state(CONFIG)
    await graph.ainvoke(None, CONFIG, durability="sync")
    found.was_resumed = (await graph.aget_state(CONFIG)).config != before.config
    found.looked_done = found.was_resumed and not before.next


@asynccontextmanager
async def _opened(world: World) -> AsyncIterator[Any]:
    async with aiosqlite.connect(world.database) as connection:
        yield _graph(world).compile(checkpointer=AsyncSqliteSaver(connection))


def _graph(world: World) -> Any:
    @task
    async def note(who: str) -> str:
        """The side effect."""
        return world.do(who)

    async def talk(state: Talk) -> Any:
        if not _is_wish_open(state):
            return {"messages": [AIMessage("orders")]}
        await note("orders")
        return _to("nowhere" if world.scenario == "nowhere" else "refunds")

    async def review(state: Talk) -> Any:
        if world.scenario in {"declines", "raises", "fails"}:
            raise RuntimeError("it cannot be done")
        if _is_wish_open(state):
            await note("refunds")
        return _to("orders") if world.scenario == "ping-pong" else {"messages": [AIMessage("refunds")]}

    builder = StateGraph(Talk)
    builder.add_node("orders", _agent("talk", talk), destinations=("refunds",))
    builder.add_node("refunds", _agent("review", review), destinations=("orders",))
    builder.add_conditional_edges(START, _active_agent, ["orders", "refunds"])
    builder.add_edge("orders", END)
    builder.add_edge("refunds", END)
    return builder


def _is_wish_open(state: Talk) -> bool:
    """Whether nobody has answered it, which a language model would see, too."""
    messages = _texts(state)
    return WISH in messages and not answer_to(WISH, messages)


def _agent(name: str, node: Any) -> Any:
    builder = StateGraph(Talk)
    builder.add_node(name, node)
    builder.add_edge(START, name)
    return builder.compile()


def _to(agent: str) -> Command[Any]:
    return Command(goto=agent, graph=Command.PARENT, update={"active_agent": agent})


def _active_agent(state: Talk) -> str:
    return str(state.get("active_agent", "orders"))


async def _say(graph: Any, text: str) -> None:
    await graph.ainvoke({"messages": [HumanMessage(text)]}, CONFIG | LIMIT, durability="sync")


async def _ask_on(graph: Any, found: Findings) -> None:
    try:
        await _say(graph, NEXT)
    except Exception as error:
        found.next_answer = type(error).__name__
    else:
        found.next_answer = answer_to(NEXT, await _messages(graph))


async def _look(graph: Any, world: World, found: Findings) -> Findings:
    state = await graph.aget_state(CONFIG)
    found.owner, found.effects = _active_agent(state.values), world.effects()
    found.messages = await _messages(graph)
    return found


async def _messages(graph: Any) -> list[str]:
    """What was said, and by name who answered."""
    return _texts((await graph.aget_state(CONFIG)).values)


def _texts(state: Any) -> list[str]:
    return [message.content for message in state.get("messages", ())]
