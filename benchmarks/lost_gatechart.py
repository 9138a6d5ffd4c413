"""A conversation that is handed on, with gatechart, as its manual says: effects are steps of invokes.

`orders` talks, does something outside (a line in the journal) and offers the conversation; `refunds` takes it, does
something outside, and answers. Nobody looks after what a process left: whoever opens the runtime goes on with it.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict
from functools import partial
from typing import Any

from benchmarks.databases import all_done, url
from benchmarks.faults import FIRST, HURRY, NEXT, SECOND, WISH, Findings, World, answer_to
from gatechart import ConversationContext, EntryPoint, Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import EventError
from gatechart.graph.definition import Invoke
from gatechart.hosting.limits import Limits
from gatechart.turn.turn_context import Turn
from gatechart.values.delays import Retry
from gatechart.values.handoffs import HandoffStatus, Mode, Side

CONVERSATION = "conversation-1"  # the id of the agent that begins
LIMITS = Limits(mail_retry=Retry(attempts=2, first_s=0.05))  # an offer whose turn fails is given up soon
DOORS = {"declines": "GUARDED", "raises": "RAISING", "fails": "FAILING", "ping-pong": "BACK"}


class Talk(ConversationContext):
    """A conversation, with how much of it was handed on."""

    handed: int = 0


def hear(context: Talk, event: Any) -> None:
    context.say("user", event.payload["text"])


def reply(context: Talk, event: Any, turn: Turn) -> None:
    context.say("agent", turn.graph)


def hand_on(context: Talk, event: Any, turn: Turn[World]) -> None:
    scenario = turn.services.scenario
    context.handed = len(context.messages)
    turn.handoff(
        "nowhere" if scenario == "nowhere" else "refunds",
        at=DOORS.get(scenario, "REVIEWING"),
        mode=Mode.DELEGATE if scenario == "fails" else Mode.TRANSFER,
    )


def hand_back(context: Talk, event: Any, turn: Turn) -> None:
    turn.handoff("orders", at="NOTING")


def forward(context: Talk, event: Any, turn: Turn) -> None:
    """What was said meanwhile."""
    for message in context.messages[context.handed :]:
        turn.send(event.payload["agent"], "SAID", {"text": message.content})


def give_up(context: Talk, event: Any, turn: Turn) -> None:
    for each in turn.handoffs:
        if each.side is Side.TOOK:
            turn.fail(each.id, "the work failed")


def is_wish(context: Talk, event: Any) -> bool:
    return bool(event.payload["text"] == WISH)


def is_transfer(context: Talk, event: Any) -> bool:
    return bool(event.payload["mode"] == Mode.TRANSFER)


def is_willing(context: Talk, event: Any) -> bool:
    return False


def stumble(context: Talk, event: Any) -> None:
    raise RuntimeError("it cannot begin")


async def note(who: str, context: Talk, work: Any) -> None:
    """The side effect."""
    await work.step("note", work.services.do, who)


async def fail(context: Talk, work: Any) -> None:
    raise RuntimeError("it cannot be done")


NOTES = {who: Invoke(partial(note, who), id="note") for who in ("orders", "refunds")}
ANSWERS = ("handoff.rejected", "handoff.failed")

orders = StateTransitionGraph(
    "orders",
    context=Talk,
    states=["TALKING", State("NOTING", invoke=NOTES["orders"]), "WAITING", State("HANDED_OVER", final=True)],
    transitions=[
        Transition("TALKING", "SAID", "NOTING", guard=is_wish, actions=hear),
        Transition("TALKING", "SAID", actions=(hear, reply)),
        Transition("NOTING", "SAID", actions=hear),
        Transition("NOTING", "done.invoke.note", "WAITING", actions=hand_on),
        Transition("WAITING", "SAID", actions=hear),
        Transition("WAITING", "handoff.accepted", "HANDED_OVER", guard=is_transfer, actions=forward),
        *(Transition("WAITING", answer, "TALKING", actions=reply) for answer in ANSWERS),
    ],
    entry_points=["TALKING", "NOTING"],
)
refunds = StateTransitionGraph(
    "refunds",
    context=Talk,
    states=[
        State("REVIEWING", invoke=NOTES["refunds"]),
        State("RAISING", on_entry=stumble),
        State("FAILING", invoke=Invoke(fail)),
        State("BACK", invoke=NOTES["refunds"]),
        State("HANDED_OVER", final=True),
        State("GIVEN_UP", final=True),
    ],
    transitions=[
        Transition("REVIEWING", "SAID", actions=hear),
        Transition("REVIEWING", "done.invoke.note", "TALKING", actions=reply),
        Transition("TALKING", "SAID", actions=(hear, reply)),
        Transition("FAILING", "error.invoke.fail", "GIVEN_UP", actions=give_up),
        Transition("BACK", "done.invoke.note", "WAITING", actions=hand_back),
        Transition("WAITING", "handoff.accepted", "HANDED_OVER", guard=is_transfer, actions=forward),
        *(Transition("WAITING", answer, "TALKING", actions=reply) for answer in ANSWERS),
    ],
    entry_points=[
        "REVIEWING",
        EntryPoint("REVIEWING", name="GUARDED", guard=is_willing),
        "RAISING",
        "FAILING",
        "BACK",
    ],
)


async def live(world: World) -> None:
    """The conversation up to the handoff, at whose points the process may die; then what has become of it."""
    async with _opened(world) as runtime:
        agent = await runtime.start("orders", at="TALKING", agent_id=CONVERSATION)
        for text in (FIRST, SECOND):
            await agent.send("SAID", {"text": text}, event_id=text)
        world.is_armed = True
        texts = (WISH, HURRY) if world.scenario == "two at once" else (WISH,)
        found = Findings()
        try:
            await asyncio.gather(*(_say(runtime, text) for text in texts))
        except EventError as error:
            found.told = type(error).__name__
        await all_done(runtime)
        world.is_armed = False
        await _rest(runtime)
        if not world.is_matrix:
            await _ask_on(runtime, found)
            world.seen = asdict(await _look(runtime, world, found))


async def go_on(world: World) -> None:
    """What another process finds when the first one has died, and the person writes again."""
    async with _opened(world) as runtime:
        found = Findings()
        if not world.is_impatient:
            await _rest(runtime)
        if WISH not in await _messages(runtime):
            found.was_said_again = True
            await _say(runtime, WISH)
            await _rest(runtime)
        await _ask_on(runtime, found)
        world.seen = asdict(await _look(runtime, world, found))


def _opened(world: World) -> AbstractAsyncContextManager[Runtime]:
    return Runtime.open(url(world.database), graphs=[orders, refunds], services=world, limits=LIMITS)


async def _say(runtime: Runtime, text: str) -> None:
    """Says it to who has the conversation, and to the next one where that one has just handed it on."""
    for _ in range(5):
        agent = await runtime.resume(await _owner(runtime))
        outcome = await agent.send("SAID", {"text": text}, event_id=text)
        if outcome.applied:
            return
        await _rest(runtime)
    raise RuntimeError(f"{text!r} was refused")


async def _ask_on(runtime: Runtime, found: Findings) -> None:
    await _say(runtime, NEXT)
    await _rest(runtime)
    found.next_answer = answer_to(NEXT, await _messages(runtime))


async def _look(runtime: Runtime, world: World, found: Findings) -> Findings:
    agent = await runtime.resume(await _owner(runtime))
    found.owner, found.messages, found.effects = agent.snapshot.graph, await _messages(runtime), world.effects()
    return found


async def _owner(runtime: Runtime) -> str:
    """The id of the agent that has the conversation: transfers that were accepted lead to it."""
    owner = CONVERSATION
    while True:
        taken = [
            each.target
            for each in await runtime.handoffs(source=owner)
            if each.mode is Mode.TRANSFER and each.status in {HandoffStatus.ACCEPTED, HandoffStatus.COMPLETED}
        ]
        if not taken:
            return owner
        [owner] = taken


async def _messages(runtime: Runtime) -> list[str]:
    """What was said, and by name who answered."""
    context = (await runtime.resume(await _owner(runtime))).context
    return [each.content for each in context.messages] if isinstance(context, Talk) else []


async def _rest(runtime: Runtime) -> None:
    """Returns when nothing is under way, and no mail waits."""
    while await runtime.mail(status="waiting", limit=1) or runtime.pending_work:  # noqa: ASYNC110  nothing tells
        await asyncio.sleep(0.002)
