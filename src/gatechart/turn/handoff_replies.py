"""Turns that process the outcome of a handoff that the agent offered."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from gatechart.graph.graph import AnyGraph
from gatechart.handoff.fallbacks import next_offer
from gatechart.handoff.loops import loop_in
from gatechart.handoff.packet import FallbackKind, FallbackStep, HandoffPacket
from gatechart.handoff.reading import PacketMigration, read_packet
from gatechart.handoff.selections import chosen_again, with_attempt
from gatechart.turn.handoff_acceptance import Void
from gatechart.turn.handoff_offers import ACCEPTED, COMPLETED, FAILED, REJECTED, conclusion, next_attempt, source_of
from gatechart.turn.handoff_state import failures, taken_transfers
from gatechart.turn.handoff_turns import open_handoff, reacted, unmoved
from gatechart.values.agents import Event, Outcome, Snapshot, Status
from gatechart.values.commits import TurnRecord
from gatechart.values.effects import CancelAll, Effect, ReplaceMail
from gatechart.values.frozen import replaced
from gatechart.values.handoffs import HandoffStatus, Mode, Obstacle, OpenHandoff, Side
from gatechart.values.mail import Mail


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
    others = tuple(handoff for handoff in previous.handoffs if handoff is not asked)
    if not asked.states and event.name != ACCEPTED:  # the handoff was withdrawn, and was not accepted
        return unmoved(previous, event, others)
    if event.name == ACCEPTED and asked.mode is Mode.DELEGATE:
        standing = tuple(
            replaced(handoff, is_accepted=True) if handoff is asked else handoff for handoff in previous.handoffs
        )
        # An invoke raises an event in the chart only when it ends.
        if asked.invoke:
            return unmoved(previous, event, standing)
        return await reacted(graph, previous, event, standing, (), services, replied=asked.id, dead=dead)
    if event.name == ACCEPTED:
        return await _handed_over(graph, previous, event, others, services, dead)
    packet = read_packet(event.payload["packet"], migrations) if "packet" in event.payload else None
    following = None if packet is None else _offer_next(previous, event, asked, packet)
    if following is not None:
        return following
    translated = _event_for_chart(event, asked, packet)
    return await reacted(graph, previous, translated, others, (), services, dead=dead)


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
        return _complete_transfers(turn) if turn.snapshot.handoffs else turn
    passed = taken_transfers(others)
    left = tuple(handoff for handoff in others if handoff not in passed)
    kept = tuple(handoff for handoff in turn.effects if isinstance(handoff, ReplaceMail))
    ended = (*_handed_on(passed), CancelAll(), *kept, *failures(left, "the agent handed on its work"))
    return unmoved(previous, event, (), ended, Status.DONE)


def _complete_transfers(turn: TurnRecord) -> TurnRecord:
    """Complete the turn: end accepted transfers that are still open, because another agent has their work now."""
    handoffs = turn.snapshot.handoffs
    passed = taken_transfers(handoffs)
    if not passed:
        return turn
    left = tuple(handoff for handoff in handoffs if handoff not in passed)
    return replaced(turn, snapshot=replaced(turn.snapshot, handoffs=left), effects=(*_handed_on(passed), *turn.effects))


def _handed_on(passed: Sequence[OpenHandoff]) -> tuple[Effect, ...]:
    return tuple(conclusion(handoff, HandoffStatus.COMPLETED, "handed on", None)[0] for handoff in passed)


def _offer_next(previous: Snapshot, event: Event, asked: OpenHandoff, packet: HandoffPacket) -> TurnRecord | None:
    """Offer the work to the next target in a turn; return None if there is no next target."""
    obstacle, details = Obstacle(event.payload["obstacle"]), event.payload["details"]
    another = chosen_again(packet, obstacle, details, event.time)
    following = _next_without_loop(packet, obstacle, details, event.time) if another is None else (another, 0.0)
    if following is None:
        return None
    version = previous.version + 1
    offer = next_attempt(*following, event.time, source_of(previous.agent_id, version, event.time))
    record = offer.handoff
    is_choosing = record.status is HandoffStatus.CHOOSING
    again = replaced(asked, id=record.id, peer=record.target, recipient="", is_choosing=is_choosing)
    handoffs = tuple(again if handoff is asked else handoff for handoff in previous.handoffs)
    return unmoved(previous, event, handoffs, (offer,))


def _next_without_loop(
    packet: HandoffPacket, obstacle: Obstacle, details: str, now: datetime
) -> tuple[HandoffPacket, float] | None:
    """Return what `next_offer` returns, without the steps that would close a loop."""
    while (following := next_offer(packet, obstacle, details, now)) is not None:
        offered, _ = following
        step = next((other for other in packet.fallbacks if _leads_to(other, offered)), None)
        is_again = (offered.target_graph, offered.entry_point) == (packet.target_graph, packet.entry_point)
        if (
            is_again
            or step is None
            or step.kind is FallbackKind.HUMAN
            or not loop_in(offered.path, offered.target_graph)
        ):
            return following
        packet = packet.model_copy(update={"fallbacks": tuple(other for other in packet.fallbacks if other != step)})
    return None


def _leads_to(step: FallbackStep, offered: HandoffPacket) -> bool:
    agent = "" if offered.is_new else offered.target_agent
    return (step.graph, step.entry_point, step.agent) == (offered.target_graph, offered.entry_point, agent)


def _event_for_chart(event: Event, asked: OpenHandoff, packet: HandoffPacket | None) -> Event:
    """Translate the answer into the event that the waiting state handles."""
    payload = {name: value for name, value in event.payload.items() if name not in ("packet", "obstacle")}
    payload |= {"handoff": asked.request or asked.id, "reason": event.payload.get("obstacle", "")}
    name = event.name
    if name == FAILED and packet is None and asked.recipient:
        payload |= {"agent": asked.peer, "recipient": asked.recipient}
    if packet is not None:
        failed = with_attempt(packet, Obstacle(event.payload["obstacle"]), event.payload["details"], event.time)
        payload["attempts"] = [attempt.model_dump(mode="json") for attempt in failed.attempts]
        is_tried_on = packet.selection or packet.fallbacks or len(failed.attempts) > 1
        name = FAILED if is_tried_on else REJECTED
    if not asked.invoke:
        return replaced(event, name=name, payload=payload)
    if name == COMPLETED:
        return replaced(event, name=f"done.invoke.{asked.invoke}", payload={"result": payload["result"]})
    failure = {"type": name, "message": payload.get("details", ""), "traceback": "", "attempts": 1, **payload}
    return replaced(event, name=f"error.invoke.{asked.invoke}", payload=failure)
