"""Offers of handoffs on their way into agents: a place is reserved, an answer is given."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from gatechart.errors import TurnTimeoutError
from gatechart.graph import StateTransitionGraph
from gatechart.runtime.core import Core, OpenTurn
from gatechart.turn import Rejection, Void, readable, rejection
from gatechart.values import (
    OFFERED,
    AgentId,
    Answer,
    Event,
    HandoffQuery,
    HandoffStatus,
    Mail,
    MailEnd,
    Obstacle,
    Outcome,
    Reserve,
    Status,
    Verdict,
)

logger = logging.getLogger(__name__)

T = TypeVar("T")


async def in_turn(
    core: Core, graph: StateTransitionGraph, agent_id: AgentId, event: str, turn: Coroutine[Any, Any, T]
) -> T:
    """What the turn comes to, within the limit of time that turns have. Raises TurnTimeoutError."""
    with OpenTurn(agent_id):
        if graph.runs_at_once:
            return await turn
        limit_s = core.limits.turn_s
        try:
            async with asyncio.timeout(limit_s) as limit:
                return await turn
        except TimeoutError as error:
            if limit.expired():
                raise TurnTimeoutError(agent_id, event, limit_s) from error
            raise


async def no_place(core: Core, graph: StateTransitionGraph, event: Event) -> Rejection | None:
    """The rejection where all places with the graph are held; else None, and the handoff holds one."""
    most = graph.accepts.capacity
    if most is None or not event.name.startswith(OFFERED):
        return None
    verdict = await core.persist(Reserve(event.id or "", graph.name, most))
    if verdict is not Verdict.STALE:
        return None
    packet = readable(event, core.packet_migrations)
    return packet if isinstance(packet, Rejection) else rejection(packet, Obstacle.OVERLOAD, f"{most} are under way")


async def answer(
    core: Core, agent_id: AgentId, given: Rejection | Void, consumes: int, accept: Callable[[Mail], None]
) -> None:
    """Ends mail about a handoff that makes no turn, and tells the agent that asked. accept: takes the reply."""
    if isinstance(given, Rejection):
        now = core.clock.now()
        reply = Mail(core.store.numbers(1), given.asked_by, given.event, given.told, now, sender=agent_id)
        verdict = await core.persist(Answer(given.settle, now, consumes, reply), lambda: accept(reply))
        if verdict is not Verdict.STALE:
            logger.info("a handoff was %s", given.settle.after.value, extra=_known(agent_id, given))
            return
    await core.persist(MailEnd(consumes))


async def give_up(core: Core, mail: Mail, accept: Callable[[Mail], None]) -> None:
    """Rejects an offer whose every attempt failed."""
    packet = readable(mail.happens(core.clock.now()), core.packet_migrations)
    given = packet if isinstance(packet, Rejection) else rejection(packet, Obstacle.FAILURE, mail.reason)
    await answer(core, mail.recipient, given, mail.number, accept)


async def is_pending(core: Core, mail: Mail) -> bool:
    """Whether an offer can still be taken."""
    found = await core.store.handoffs(HandoffQuery(id=mail.id))
    return bool(found) and found[0].status is HandoffStatus.PENDING


def unchanged(event: Event) -> Outcome:
    """The outcome of mail about a handoff that was answered without a turn."""
    return Outcome(event.name, (), 0, Status.ACTIVE)


def _known(agent_id: AgentId, given: Rejection) -> dict[str, object]:
    return {"agent_id": agent_id, "handoff": given.settle.handoff, "details": given.settle.details}
