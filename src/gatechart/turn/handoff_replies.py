"""Turns that process the outcome of a handoff that the agent offered."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from gatechart.graph import AnyGraph
from gatechart.handoff import (
    FallbackKind,
    FallbackStep,
    HandoffPacket,
    PacketMigration,
    chosen_again,
    loop_in,
    next_offer,
    read_packet,
    with_attempt,
)
from gatechart.turn.handoff_acceptance import Void
from gatechart.turn.handoff_offers import ACCEPTED, COMPLETED, FAILED, REJECTED, conclusion, next_attempt, source_of
from gatechart.turn.handoff_state import failures, taken_transfers
from gatechart.turn.handoff_turns import open_handoff, reacted, unmoved
from gatechart.values import (
    CancelAll,
    Effect,
    Event,
    HandoffStatus,
    Mail,
    Mode,
    Obstacle,
    OpenHandoff,
    Outcome,
    ReplaceMail,
    Side,
    Snapshot,
    Status,
    TurnRecord,
)
from gatechart.values.frozen import replaced


async def take_answer(
    graph: AnyGraph,
    previous: Snapshot,
    event: Event,
    services: Any,
    migrations: Sequence[PacketMigration],
    dead: Mail | None,
) -> TurnRecord | Outcome | Void:
    """Process an answer, in the chart or outside it; return Void if the agent does not wait for it.

    dead: see `reacted`.
    """
    asked = open_handoff(previous, event, Side.ASKED)
    if asked is None:
        return Void()
    others = tuple(each for each in previous.handoffs if each is not asked)
    if not asked.states and event.name != ACCEPTED:  # the handoff was withdrawn, and was not accepted
        return unmoved(previous, event, others)
    if event.name == ACCEPTED and asked.mode is Mode.DELEGATE:
        standing = tuple(replaced(each, is_accepted=True) if each is asked else each for each in previous.handoffs)
        # An invoke tells the chart only of its end.
        if asked.invoke:
            return unmoved(previous, event, standing)
        return await reacted(graph, previous, event, standing, (), services, replied=asked.id, dead=dead)
    if event.name == ACCEPTED:
        return await _handed_over(graph, previous, event, others, services, dead)
    packet = read_packet(event.payload["packet"], migrations) if "packet" in event.payload else None
    following = None if packet is None else _next(previous, event, asked, packet)
    if following is not None:
        return following
    happened = _as_the_chart_knows_it(event, asked, packet)
    return await reacted(graph, previous, happened, others, (), services, dead=dead)


async def _handed_over(
    graph: AnyGraph,
    previous: Snapshot,
    event: Event,
    others: tuple[OpenHandoff, ...],
    services: Any,
    dead: Mail | None,
) -> TurnRecord:
    """Process an acceptance after which another agent has the work. If the chart does not handle it, the agent ends."""
    turn = await reacted(graph, previous, event, others, (), services, dead=dead)
    if turn.taken:
        return _let_go(turn) if turn.snapshot.handoffs else turn
    passed = taken_transfers(others)
    left = tuple(each for each in others if each not in passed)
    kept = tuple(each for each in turn.effects if isinstance(each, ReplaceMail))
    ended = (*_handed_on(passed), CancelAll(), *kept, *failures(left, "the agent handed over what it did"))
    return unmoved(previous, event, (), ended, Status.DONE)


def _let_go(turn: TurnRecord) -> TurnRecord:
    """Complete the turn: end accepted transfers that are still open, because another agent has their work now."""
    handoffs = turn.snapshot.handoffs
    passed = taken_transfers(handoffs)
    if not passed:
        return turn
    left = tuple(each for each in handoffs if each not in passed)
    return replaced(turn, snapshot=replaced(turn.snapshot, handoffs=left), effects=(*_handed_on(passed), *turn.effects))


def _handed_on(passed: Sequence[OpenHandoff]) -> tuple[Effect, ...]:
    return tuple(conclusion(each, HandoffStatus.COMPLETED, "handed on", None)[0] for each in passed)


def _next(previous: Snapshot, event: Event, asked: OpenHandoff, packet: HandoffPacket) -> TurnRecord | None:
    """Offer the work to the next target in a turn; return None if there is no next target."""
    obstacle, details = Obstacle(event.payload["obstacle"]), event.payload["details"]
    another = chosen_again(packet, obstacle, details, event.time)
    following = _following(packet, obstacle, details, event.time) if another is None else (another, 0.0)
    if following is None:
        return None
    version = previous.version + 1
    offer = next_attempt(*following, event.time, source_of(previous.agent_id, version, event.time))
    made = offer.handoff
    is_choosing = made.status is HandoffStatus.CHOOSING
    again = replaced(asked, id=made.id, peer=made.target, recipient="", is_choosing=is_choosing)
    handoffs = tuple(again if each is asked else each for each in previous.handoffs)
    return unmoved(previous, event, handoffs, (offer,))


def _following(
    packet: HandoffPacket, obstacle: Obstacle, details: str, now: datetime
) -> tuple[HandoffPacket, float] | None:
    """Return the result of `next_offer`, skipping steps that would close a loop."""
    while (following := next_offer(packet, obstacle, details, now)) is not None:
        offered, _ = following
        step = next((each for each in packet.fallbacks if _leads_to(each, offered)), None)
        is_again = (offered.target_graph, offered.entry_point) == (packet.target_graph, packet.entry_point)
        if (
            is_again
            or step is None
            or step.kind is FallbackKind.HUMAN
            or not loop_in(offered.path, offered.target_graph)
        ):
            return following
        packet = packet.model_copy(update={"fallbacks": tuple(each for each in packet.fallbacks if each != step)})
    return None


def _leads_to(step: FallbackStep, offered: HandoffPacket) -> bool:
    agent = "" if offered.is_new else offered.target_agent
    return (step.graph, step.entry_point, step.agent) == (offered.target_graph, offered.entry_point, agent)


def _as_the_chart_knows_it(event: Event, asked: OpenHandoff, packet: HandoffPacket | None) -> Event:
    """Translate the answer into the event that the waiting state handles."""
    told = {name: value for name, value in event.payload.items() if name not in ("packet", "obstacle")}
    told |= {"handoff": asked.request or asked.id, "reason": event.payload.get("obstacle", "")}
    name = event.name
    if name == FAILED and packet is None and asked.recipient:
        told |= {"agent": asked.peer, "recipient": asked.recipient}
    if packet is not None:
        failed = with_attempt(packet, Obstacle(event.payload["obstacle"]), event.payload["details"], event.time)
        told["attempts"] = [each.model_dump(mode="json") for each in failed.attempts]
        is_tried_on = packet.selection or packet.fallbacks or len(failed.attempts) > 1
        name = FAILED if is_tried_on else REJECTED
    if not asked.invoke:
        return replaced(event, name=name, payload=told)
    if name == COMPLETED:
        return replaced(event, name=f"done.invoke.{asked.invoke}", payload={"result": told["result"]})
    failure = {"type": name, "message": told.get("details", ""), "traceback": "", "attempts": 1, **told}
    return replaced(event, name=f"error.invoke.{asked.invoke}", payload=failure)
