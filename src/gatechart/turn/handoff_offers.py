"""Offers of handoffs: the first one, and the next one after a rejection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any

from gatechart.errors.event import PayloadError
from gatechart.graph.handoff import Fallbacks
from gatechart.graph.selection import Best
from gatechart.handoff.fallbacks import fallback_steps, next_offer
from gatechart.handoff.loops import has_achieved, loop_in
from gatechart.handoff.packet import Attempt, HandoffPacket, PathStep
from gatechart.handoff.selections import awaits_choice, with_attempt, with_selection
from gatechart.selection.needs import terms_of
from gatechart.turn.arguments import checked_delay, checked_moment, plain_payload
from gatechart.turn.outcomes import reports
from gatechart.values.agents import Event
from gatechart.values.delays import Delay
from gatechart.values.effects import ChangeHandoff, Offer, Send
from gatechart.values.frozen import replaced
from gatechart.values.handoffs import HandoffChange, HandoffRecord, HandoffStatus, Mode, Obstacle, OpenHandoff, Reason
from gatechart.values.names import CHOOSING, OFFERED, AgentId, Payload

ACCEPTED, REJECTED = "handoff.accepted", "handoff.rejected"
COMPLETED, FAILED = "handoff.completed", "handoff.failed"
EXPIRED, CANCELLED = "handoff.expired", "handoff.cancelled"
SOMEBODY = "…"  # placeholder for a target that is yet to be chosen; no graph has this name
ANSWERS = frozenset({ACCEPTED, REJECTED, COMPLETED, FAILED, EXPIRED})


def stamped(
    packet: HandoffPacket,
    *,
    reason: Reason | None,
    to: str,
    at: str,
    agent: AgentId | None,
    mode: Mode,
    due: datetime | None,
    fallbacks: Fallbacks | None,
    best: Best | None,
    step: PathStep,
    taken: OpenHandoff | None,
    tried: tuple[Attempt, ...],
    ids: Random,
) -> HandoffPacket:
    """Complete the packet with the fields of its delivery.

    taken: the handoff that gave the agent the work. tried: earlier attempts.
    best: the selection that chooses the target; None if the target is named.
    Raises the exceptions of functions that compute needs.
    """
    handoff_id = new_id(ids)
    if taken is not None:
        step = step.model_copy(update={"handoff": taken.id, "recipient": taken.recipient})
    complete = packet.model_copy(
        update={
            "handoff_id": handoff_id,
            "request": handoff_id,
            "session_id": packet.session_id or (taken.session if taken else "") or step.agent,
            "source_agent": step.agent,
            "source_graph": step.graph,
            "source_state": step.state,
            "target_graph": to,
            "target_agent": "" if best else agent or new_id(ids),
            "entry_point": at,
            "is_new": agent is None,
            "reason": reason or packet.reason,
            "mode": mode,
            "deadline": due,
            "path": (*(PathStep.model_validate(step_data) for step_data in (taken.path if taken else ())), step),
            "fallbacks": (),
            "attempts": tried,
            "selection": None,
            "recipient": "",
            "evidence": "",
            "traceparent": "",
        }
    )
    if fallbacks is not None:
        steps = fallback_steps(fallbacks, lambda step: terms_of(step, complete))
        complete = complete.model_copy(update={"fallbacks": steps})
    return complete if best is None else with_selection(complete, terms_of(best, complete))


def tried_before(event: Event) -> tuple[Attempt, ...]:
    """Return the attempt of a chosen delegate if the event reports its failure, so that its group is skipped next."""
    recipient = event.payload.get("recipient")
    if not recipient or not (event.name == FAILED or event.name.startswith("error.invoke.")):
        return ()
    if event.payload.get("status") == HandoffStatus.CANCELLED.value:  # the delegate did not fail
        return ()
    facts = {name: event.payload[name] for name in ("agent", "details")}
    handoff = event.payload["handoff"]
    return (Attempt(handoff_id=handoff, recipient=recipient, obstacle=Obstacle.FAILURE, time=event.time, **facts),)


def offers_of(
    packet: HandoffPacket,
    now: datetime,
    ids: Random,
    progressed: Callable[[Sequence[PathStep]], bool] = has_achieved,
    *,
    lacks_transcripts: bool = False,
) -> tuple[Offer | Send, ...]:
    """Return the offer of a stamped packet. If it would close a loop, return the next offer or a rejection."""
    is_choosing = awaits_choice(packet)
    to = SOMEBODY if is_choosing else packet.target_graph
    evidence = loop_in(packet.path, to, progressed=progressed)
    if not evidence:
        return (Offer(record_of(packet, now, is_choosing=is_choosing), lacks_transcripts=lacks_transcripts),)
    following = next_offer(packet, Obstacle.LOOP, evidence, now)
    if following is not None:
        to_a_person, wait_s = following
        looped = to_a_person.model_copy(update={"reason": Reason.LOOP_DETECTED})
        offer = next_attempt(looped, wait_s, now, ids, packet.handoff_id)
        return (replaced(offer, lacks_transcripts=lacks_transcripts),)
    lost = with_attempt(packet, Obstacle.LOOP, evidence, now)
    rejected = (HandoffChange(HandoffStatus.REJECTED, now, f"{Obstacle.LOOP.value}: {evidence}"),)
    record = record_of(lost, now, HandoffStatus.REJECTED, rejected, is_choosing=is_choosing)
    payload = answer_payload(packet, HandoffStatus.REJECTED, evidence, Obstacle.LOOP, is_choosing=is_choosing)
    return Offer(record), Send(packet.source_agent, REJECTED, payload)


def next_attempt(
    packet: HandoffPacket, wait_s: float, now: datetime, ids: Random, handoff_id: str | None = None
) -> Offer:
    """Offer a packet to its next target after a wait. handoff_id: a new id if None."""
    update: dict[str, Any] = {"handoff_id": handoff_id or new_id(ids)}
    if not packet.target_agent:
        update["target_agent"] = new_id(ids)
    again = packet.model_copy(update=update)
    record = record_of(again, now, is_choosing=awaits_choice(again))
    return Offer(record, now + timedelta(seconds=wait_s) if wait_s else None)


def record_of(
    packet: HandoffPacket,
    now: datetime,
    status: HandoffStatus | None = None,
    changes: tuple[HandoffChange, ...] = (),
    *,
    is_choosing: bool = False,
) -> HandoffRecord:
    """Build the record of a stamped packet's handoff, offered now. The packet's numbers are finite.

    is_choosing: whether its target is yet to be chosen; until then it is not offered.
    """
    begun = HandoffStatus.CHOOSING if is_choosing else HandoffStatus.PENDING
    event = CHOOSING if is_choosing else f"{OFFERED}{packet.entry_point}"
    return HandoffRecord(
        id=packet.handoff_id,
        request=packet.request,
        source=packet.source_agent,
        source_graph=packet.source_graph,
        target=packet.target_agent,
        target_graph=packet.target_graph,
        entry_point=packet.entry_point,
        is_new=packet.is_new,
        mode=packet.mode,
        reason=packet.reason,
        packet=plain_payload(packet, event, is_finite=True),
        deadline=packet.deadline,
        status=status or begun,
        changes=(HandoffChange(begun, now), *changes),
    )


def answer_payload(
    packet: HandoffPacket,
    status: HandoffStatus,
    details: str = "",
    obstacle: Obstacle | None = None,
    *,
    is_choosing: bool = False,
) -> Payload:
    """Build the payload of the answer to the source agent. is_choosing: whether the target is yet to be chosen."""
    payload: dict[str, Any] = {
        "handoff": packet.handoff_id,
        "request": packet.request,
        "agent": "" if is_choosing else packet.target_agent,
        "graph": "" if is_choosing else packet.target_graph,
        "entry_point": packet.entry_point,
        "mode": packet.mode.value,
        "status": status.value,
        "details": details,
    }
    if obstacle is not None:
        payload |= {"obstacle": obstacle.value, "may_pass": obstacle.passes, "packet": packet.model_dump(mode="json")}
    return payload


def conclusion(
    taken: OpenHandoff, status: HandoffStatus, details: str, result: Payload | None
) -> tuple[ChangeHandoff, *tuple[Send, ...]]:
    """End a handoff from its target's side. Notify the directory, and the source if it waits for the end."""
    settle = ChangeHandoff(taken.id, HandoffStatus.ACCEPTED, status, details, result)
    outcomes = reports(taken, status, result)
    if taken.mode is Mode.TRANSFER:
        return settle, *outcomes
    payload = {
        "handoff": taken.id,
        "request": taken.request,
        "status": status.value,
        "details": details,
        "result": dict(result or {}),
    }
    sent = (Send(taken.peer, f"handoff.{status.value}", payload), *outcomes)
    return settle, *sent


def deadline_of(deadline: Delay | datetime | None, now: datetime) -> datetime | None:
    """Convert a deadline, a time or a delay from now, to a time. Raises PayloadError."""
    if deadline is None or isinstance(deadline, datetime):
        if deadline is not None and deadline.tzinfo is None:
            raise PayloadError("handoff", (f"the deadline {deadline!r} has no time zone",), "an aware datetime")
        return None if deadline is None else checked_moment(deadline, "handoff")
    return now + timedelta(seconds=checked_delay(deadline, "handoff"))


def source_of(agent_id: AgentId, version: int, now: datetime) -> Random:
    """Return the random source of a turn. The time distinguishes agents that had the same id one after another."""
    return Random(f"{agent_id}/{version}/{now.timestamp()}")


def new_id(ids: Random) -> str:
    """Return an id of 32 hexadecimal digits."""
    return f"{ids.getrandbits(128):032x}"
