"""How many times a second one agent hands its conversation to another, the agent that asked told of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks import plain_handoffs
from benchmarks.databases import new_file, url
from benchmarks.measure import Better, Contestant, Measure, Role, Round, per_second
from gatechart import (
    ConversationContext,
    EntryPoint,
    Handoff,
    HandoffPacket,
    Runtime,
    State,
    StateTransitionGraph,
    Transition,
)
from gatechart.agent import Agent
from gatechart.turn.turn_context import Turn
from gatechart.values.handoffs import HandoffStatus, Mode

AT_ONCE = 1000
PEERS = 100  # of LangGraph at once: its checkpointer writes one after the other
SAID = ("My parcel is late.", "Which order is it?", "Number 4711.", "It was sent on Monday.", "I want my money back.")


def say_all(context: ConversationContext, event: object) -> None:
    for number, text in enumerate(SAID):
        context.say("agent" if number % 2 else "user", text)


def answer(context: ConversationContext, event: object) -> None:
    context.say("agent", f"I have read {len(context.messages)} messages.")


def decide(context: ConversationContext, event: object, turn: Turn) -> None:
    turn.send(turn.agent_id, "DECIDED")


orders = StateTransitionGraph(
    "orders",
    context=ConversationContext,
    states=[State("TALKING", on_entry=say_all), State("HANDED_OVER", final=True), State("ANSWERED", final=True)],
    transitions=[
        Transition("TALKING", "REFUND_ASKED", "WAITING", actions=Handoff("refunds", at="REVIEWING")),
        Transition("WAITING", "handoff.accepted", "HANDED_OVER"),
        Transition(
            "TALKING", "OPINION_ASKED", "AWAITING", actions=Handoff("refunds", at="DECIDING", mode=Mode.DELEGATE)
        ),
        Transition("AWAITING", "handoff.completed", "ANSWERED"),
    ],
    entry_points=["TALKING"],
)
refunds = StateTransitionGraph(
    "refunds",
    context=ConversationContext,
    states=[
        State("REVIEWING", on_entry=answer),
        State("DECIDING", on_entry=(answer, decide)),
        State("DONE", final=True, data=lambda _context, _event: {"refund": "granted"}),
    ],
    transitions=[Transition("REVIEWING", "PAID", "REVIEWING"), Transition("DECIDING", "DECIDED", "DONE")],
    entry_points=[EntryPoint("REVIEWING", takes=HandoffPacket), EntryPoint("DECIDING", takes=HandoffPacket)],
)


async def transfers(count: int) -> float:
    """The seconds for so many, from the first event until every agent that asked has ended."""
    return await _handed_on(count, "REFUND_ASKED", "HANDED_OVER", HandoffStatus.ACCEPTED)


async def delegations(count: int) -> float:
    """The seconds for so many, from the first event until every agent that asked has its answer."""
    return await _handed_on(count, "OPINION_ASKED", "ANSWERED", HandoffStatus.COMPLETED)


async def plain_transfers(count: int) -> float:
    """The seconds to write the rows of so many by hand."""
    with new_file() as path:
        async with _talking(path, count + 1) as agents:
            await _hand_on(iter(agents[:1]), "REFUND_ASKED", "HANDED_OVER")
        return _checked(path, count + 1, HandoffStatus.ACCEPTED, plain_handoffs.hand_on_all(path))


async def _handed_on(count: int, event: str, end: str, status: HandoffStatus) -> float:
    with new_file() as path:
        async with _talking(path, count) as agents:
            waiting = iter(agents)
            began = perf_counter()
            await asyncio.gather(*(_hand_on(waiting, event, end) for _ in range(AT_ONCE)))
            return _checked(path, count, status, perf_counter() - began)


@asynccontextmanager
async def _talking(path: Path, count: int) -> AsyncIterator[Sequence[Agent[Any]]]:
    async with Runtime.open(url(path), graphs=[orders, refunds]) as runtime:
        yield await asyncio.gather(*(runtime.start("orders", at="TALKING") for _ in range(count)))


async def _hand_on(agents: Iterator[Agent[Any]], event: str, end: str) -> None:
    """One after the other, as long as there are any."""
    for agent in agents:
        await agent.send(event)
        await agent.until(end)


def _checked(path: Path, count: int, status: HandoffStatus, seconds: float) -> float:
    found = plain_handoffs.standing(path)
    if found != {(status.value, "done"): count}:
        raise RuntimeError(f"{found} instead of {count} that are {status.value}")
    return seconds


def peer(durability: str) -> Round:
    """Rounds of LangGraph."""

    async def repeat(count: int) -> float:
        from benchmarks import langgraph_transfers  # noqa: PLC0415  which takes seconds

        return await langgraph_transfers.transfers(PEERS, durability, count)

    return per_second(repeat, PEERS)


measure = Measure(
    "transfers",
    f"Conversations of five messages handed on, {AT_ONCE:,} agents at once",
    "handoffs/s",
    Better.HIGHER,
    (
        Contestant(
            f"sqlite3, the rows of a transfer, {AT_ONCE:,} in a transaction",
            per_second(plain_transfers, AT_ONCE),
            Role.RAW,
        ),
        Contestant("gatechart, transfers", per_second(transfers, AT_ONCE), target=1_500),
        Contestant("gatechart, delegations", per_second(delegations, AT_ONCE)),
        Contestant(f'langgraph, durability="sync", {PEERS} threads', peer("sync"), Role.PEER),
        Contestant(f'langgraph, durability="exit", {PEERS} threads', peer("exit"), Role.PEER),
    ),
)
