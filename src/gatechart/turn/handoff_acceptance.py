"""Turns that accept an offer in a new or an existing agent, and turns that withdraw an accepted offer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from time import perf_counter_ns
from typing import Any

from pydantic import BaseModel

from gatechart.context import AgentContext
from gatechart.errors.event import EntryGuardError, PacketError, PayloadError
from gatechart.graph.definition import EntryPoint
from gatechart.graph.graph import AnyGraph
from gatechart.handoff.conversation import ConversationContext, fields_for
from gatechart.handoff.filling import filling_values
from gatechart.handoff.loops import MOST_HOPS
from gatechart.handoff.packet import SCHEMA_VERSION, HandoffPacket
from gatechart.handoff.packet import readable as text
from gatechart.handoff.reading import PacketMigration, read_packet, unreadable
from gatechart.handoff.selections import awaits_choice
from gatechart.kernel.plan import plan_entry
from gatechart.secrets import has_secrets
from gatechart.turn.arguments import fit_payload
from gatechart.turn.entities import collision_details, with_remedy
from gatechart.turn.handoff_offers import ACCEPTED, CANCELLED, EXPIRED, FAILED, REJECTED, answer_payload, conclusion
from gatechart.turn.handoff_state import failures
from gatechart.turn.handoff_turns import open_handoff, reacted, unmoved
from gatechart.turn.macrostep import Macrostep, macrostep_of
from gatechart.turn.outcomes import returns, work_of
from gatechart.turn.turns import ask_entry_guard, beginning_context, committed_context, completed, entry_fields
from gatechart.values.agents import Event, Snapshot, Status
from gatechart.values.commits import TurnRecord
from gatechart.values.effects import CancelAll, ChangeHandoff, Effect, Send
from gatechart.values.framework import (
    is_framework_id,
)
from gatechart.values.frozen import replaced, value
from gatechart.values.handoffs import HandoffStatus, Mode, Obstacle, OpenHandoff, Side
from gatechart.values.mail import Mail
from gatechart.values.names import WITHDRAWN, AgentId, Payload


@value
class RejectedOffer:
    """A rejected offer: the answer to the source agent, and the change of the handoff."""

    settle: ChangeHandoff
    event: str
    told: Payload
    asked_by: AgentId


@dataclass(frozen=True, slots=True)
class Void:
    """Mail about a handoff that no longer changes anything."""


def rejection(packet: HandoffPacket, obstacle: Obstacle, details: str) -> RejectedOffer:
    """Reject an offer."""
    reason = text(details)
    settle = ChangeHandoff(
        packet.handoff_id, HandoffStatus.PENDING, HandoffStatus.REJECTED, f"{obstacle.value}: {reason}"
    )
    payload = answer_payload(packet, HandoffStatus.REJECTED, reason, obstacle, is_choosing=awaits_choice(packet))
    return RejectedOffer(settle, REJECTED, payload, packet.source_agent)


def withdrawn(event: Event, late: str = "", before: HandoffStatus = HandoffStatus.PENDING) -> RejectedOffer:
    """Reject an offer that was withdrawn before it was accepted.

    late: the id of an offer that arrived after its deadline. before: the status of the handoff until now.
    """
    is_late = bool(late) or event.payload.get("expired", False)
    after = HandoffStatus.EXPIRED if is_late else HandoffStatus.CANCELLED
    reason = "" if late else event.payload.get("reason")
    details = reason or ("not accepted before its deadline" if is_late else "withdrawn")
    handoff = late or event.payload["handoff"]
    payload = {"handoff": handoff, "status": after.value, "details": details}
    settle = ChangeHandoff(handoff, before, after, details)
    return RejectedOffer(settle, EXPIRED if is_late else FAILED, payload, event.sender or "")


def readable(event: Event, migrations: Sequence[PacketMigration]) -> HandoffPacket | RejectedOffer:
    """Read the packet of an offer. Return a rejection that keeps the original data if the packet is unreadable.

    The handoff's id and its sender are taken from the mail, because a migration may have lost them.
    """
    mail = {"handoff_id": event.id or "", "source_agent": event.sender or ""}
    try:
        packet = read_packet(event.payload, migrations)
        is_so = (packet.handoff_id, packet.source_agent) == tuple(mail.values())
        return packet if is_so else packet.model_copy(update=mail)
    except PacketError as error:
        kept = unreadable(event.payload, str(error)).model_copy(update=mail)
        return rejection(kept, Obstacle.UNREADABLE, str(error))


def rejected(event: Event, migrations: Sequence[PacketMigration], obstacle: Obstacle, details: str) -> RejectedOffer:
    """Reject an offer: for this obstacle, or because its packet is unreadable."""
    packet = readable(event, migrations)
    return packet if isinstance(packet, RejectedOffer) else rejection(packet, obstacle, details)


async def begin_with_offer(
    graph: AnyGraph, agent_id: AgentId, event: Event, packet: HandoffPacket, services: Any = None
) -> TurnRecord | RejectedOffer:
    """Start an agent with the first turn that accepts an offer. Raises what `take_turn` raises."""
    started = perf_counter_ns()
    upgraded = _upgraded(event, packet)
    context = _context_or_rejection(graph, packet, event, upgraded, agent_id)
    if isinstance(context, RejectedOffer):
        return context
    entry = graph.entry_points[packet.entry_point]
    accepted = _accepted_handoff(packet, 1, event.time)
    macrostep = macrostep_of(graph, None, agent_id, context, upgraded, (accepted,), services)
    await macrostep.enter(plan_entry(graph, (entry.state,)))
    entry_point = packet.entry_point
    return await completed(
        macrostep, None, event, started, before=_acceptance(graph, packet, accepted), entry_point=entry_point
    )


async def take_offer(
    graph: AnyGraph,
    previous: Snapshot,
    event: Event,
    services: Any,
    migrations: Sequence[PacketMigration],
) -> TurnRecord | RejectedOffer:
    """Let an existing agent accept or reject an offer. Raises what `take_turn` raises."""
    started = perf_counter_ns()
    packet = readable(event, migrations)
    if isinstance(packet, RejectedOffer):
        return packet
    if previous.status is not Status.ACTIVE:
        return rejection(packet, Obstacle.ENDED, f"it is {previous.status.value}")
    upgraded = _upgraded(event, packet)
    context = _context_or_rejection(graph, packet, event, upgraded, previous)
    if isinstance(context, RejectedOffer):
        return context
    entry = graph.entry_points[packet.entry_point]
    accepted = _accepted_handoff(packet, previous.version + 1, event.time)
    renewed = replaced(previous, transfers=())  # another owner's choices do not count
    handoffs = (*previous.handoffs, accepted)
    macrostep = macrostep_of(graph, renewed, previous.agent_id, context, upgraded, handoffs, services)
    await macrostep.react()
    if not _leads_to(macrostep, entry):
        reason = f"nothing leads to {entry.state}" if macrostep.taken else str(macrostep.refusal())
        return rejection(packet, Obstacle.NO_TRANSITION, reason)
    entry_point = packet.entry_point
    return await completed(
        macrostep, previous, event, started, before=_acceptance(graph, packet, accepted), entry_point=entry_point
    )


async def take_withdrawal(
    graph: AnyGraph, previous: Snapshot, event: Event, services: Any, dead: Mail | None
) -> TurnRecord | RejectedOffer | Void:
    """Handle the withdrawal of an accepted or pending offer. Raises what `take_turn` raises."""
    if event.payload.get("choosing"):
        return _withdraw_choice(previous, event)
    taken = open_handoff(previous, event, Side.TOOK)
    if taken is None:
        return withdrawn(event)
    # An accepted transfer cannot be withdrawn, because the target owns the work now.
    if taken.mode is Mode.TRANSFER:
        return Void()
    is_late, is_asked = event.payload.get("expired", False), "reason" in event.payload
    details = event.payload.get("reason") or ("not completed before its deadline" if is_late else "withdrawn")
    settle, *_ = conclusion(taken, HandoffStatus.CANCELLED, details, None)
    payload = {"handoff": taken.id, "request": taken.request, "status": "cancelled", "details": details}
    answers = (Send(taken.peer, EXPIRED if is_late else FAILED, payload),) if is_late or is_asked else ()
    others = tuple(handoff for handoff in previous.handoffs if handoff is not taken)
    if taken.is_new:
        ended = (
            settle,
            *answers,
            CancelAll(),
            *failures(others, "the work that the agent was created for was withdrawn"),
        )
        return unmoved(previous, event, (), ended, Status.STOPPED)
    translated = replaced(event, name=CANCELLED)
    return await reacted(graph, previous, translated, others, (settle, *answers), services, dead=dead)


def _withdraw_choice(previous: Snapshot, event: Event) -> TurnRecord | RejectedOffer:
    """Withdraw an agent's own offer while its target is being chosen.

    If the target was chosen meanwhile, the target gets an operator's withdrawal. It observes the deadline itself.
    """
    known = open_handoff(previous, event, Side.ASKED)
    if known is None or known.is_choosing or "reason" not in event.payload:
        return withdrawn(event, before=HandoffStatus.CHOOSING)
    payload = {name: content for name, content in event.payload.items() if name != "choosing"}
    return unmoved(previous, event, previous.handoffs, (Send(known.peer, WITHDRAWN, payload),))


def _context_or_rejection(
    graph: AnyGraph, packet: HandoffPacket, event: Event, upgraded: Event, previous: Snapshot | AgentId
) -> AgentContext | RejectedOffer:
    """Return the context for the turn that accepts the packet.

    upgraded: the event as guards see it. previous: the agent's snapshot, or the id of an agent yet to be created.
    """
    objection = _objection(graph, packet, event, previous if isinstance(previous, str) else None)
    if objection is not None:
        return objection
    entry = graph.entry_points[packet.entry_point]
    current = None if isinstance(previous, str) else committed_context(graph, previous)
    try:
        fields = _fields(graph, entry, packet)
        context: AgentContext = beginning_context(graph, entry, fields) if current is None else current
        if entry.guard is not None:
            ask_entry_guard(graph, entry, context, upgraded)
    except PayloadError as error:
        return rejection(packet, Obstacle.PAYLOAD, str(with_remedy(error, graph, entry, packet)))
    except EntryGuardError as error:
        return rejection(packet, Obstacle.GUARD, str(error))
    return context


def _upgraded(event: Event, packet: HandoffPacket) -> Event:
    """Return the event as guards and actions see it, with an older packet upgraded to the current schema."""
    if event.payload.get("schema_version", SCHEMA_VERSION) == SCHEMA_VERSION:
        return event
    return replaced(event, payload=packet.model_dump(mode="json"))


def _objection(graph: AnyGraph, packet: HandoffPacket, event: Event, new_id: AgentId | None) -> RejectedOffer | None:
    """Return a rejection if the graph cannot accept the packet. new_id: the id of an agent yet to be created."""
    if packet.deadline is not None and packet.deadline <= event.time:
        return withdrawn(event, packet.handoff_id)
    if graph.is_framework or (new_id is not None and is_framework_id(new_id)):
        return rejection(packet, Obstacle.UNKNOWN_GRAPH, "the agent belongs to gatechart itself, which takes no work")
    if packet.target_graph != graph.name:
        return rejection(packet, Obstacle.UNKNOWN_GRAPH, f"the agent belongs to graph {graph.name!r}")
    if packet.entry_point not in graph.entry_points:
        names = ", ".join(graph.entry_points)
        return rejection(packet, Obstacle.NO_ENTRY, f"the entry points of {graph.name!r} are {names}")
    if (
        len(packet.path) > MOST_HOPS and not packet.evidence
    ):  # a packet with evidence is for a person, so its path may be longer
        return rejection(packet, Obstacle.LOOP, f"it has been handed on {len(packet.path)} times")
    unwanted = "" if graph.accepts.policy is None else graph.accepts.objection(packet)
    return rejection(packet, Obstacle.WRONG_SKILLS, unwanted) if unwanted else None


def _fields(graph: AnyGraph, entry: EntryPoint, packet: HandoffPacket) -> Mapping[str, Any]:
    """Return the context's fields that the packet fills; the entry point's fields override conversation fields.

    Raises PayloadError if the packet does not fit the entry point.
    """
    if entry.takes is None or (entry.takes is HandoffPacket and entry.maps is None):
        return fields_for(graph.context, packet, entry.entities)
    if issubclass(entry.takes, HandoffPacket):
        return entry_fields(graph, entry, _fit_packet(graph, entry, packet))
    content = filling_values(packet, entry.entities)
    contents = {name: content[name] for name in entry.takes.model_fields if name in content}
    is_conversation = issubclass(graph.context, ConversationContext)
    parts = fields_for(graph.context, packet, entry.entities) if is_conversation else {}
    return {**parts, **entry_fields(graph, entry, fit_payload(graph.name, entry, contents))}


def _fit_packet(graph: AnyGraph, entry: EntryPoint, packet: HandoffPacket) -> BaseModel | None:
    """Return the packet unchanged, or parsed as the entry point's type if that has secrets. Raises PayloadError."""
    takes = entry.takes
    is_plain = takes is None or not has_secrets(takes)
    return packet if is_plain else fit_payload(graph.name, entry, packet.model_dump(mode="json"))


def _leads_to(macrostep: Macrostep, entry: EntryPoint) -> bool:
    """Return whether a transition of the turn leads to the entry point."""
    plans = macrostep.plans
    return any(entry.state in plan.entries or any(entry.state in edge.targets for edge in plan.taken) for plan in plans)


def _accepted_handoff(packet: HandoffPacket, version: int, at: datetime) -> OpenHandoff:
    """Return the accepting agent's record of a handoff."""
    return OpenHandoff(
        id=packet.handoff_id,
        side=Side.TOOK,
        peer=packet.source_agent,
        mode=packet.mode,
        since=version,
        request=packet.request,
        is_accepted=True,
        is_new=packet.is_new,
        path=tuple(step.model_dump(mode="json") for step in packet.path),
        session=packet.session_id,
        reason=packet.reason,
        recipient=packet.recipient,
        work=work_of(packet, at.isoformat()) if _is_from_directory(packet) else None,
    )


def _is_from_directory(packet: HandoffPacket) -> bool:
    """Return whether the packet's target, or an earlier owner of the work, was chosen in the directory."""
    return bool(packet.recipient) or any(step.recipient for step in packet.path)


def _acceptance(graph: AnyGraph, packet: HandoffPacket, accepted: OpenHandoff) -> tuple[Effect, ...]:
    details = collision_details(graph, graph.entry_points[packet.entry_point], packet) if packet.entities else ""
    settle = ChangeHandoff(packet.handoff_id, HandoffStatus.PENDING, HandoffStatus.ACCEPTED, details)
    answer = Send(packet.source_agent, ACCEPTED, answer_payload(packet, HandoffStatus.ACCEPTED, details))
    return settle, answer, *(() if accepted.work is None else returns(packet))
