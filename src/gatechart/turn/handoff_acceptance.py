"""Turns of a new or existing agent that accepts an offer, or whose accepted offer is withdrawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from time import perf_counter_ns
from typing import Any

from pydantic import BaseModel

from gatechart.context import AgentContext
from gatechart.errors import EntryGuardError, PacketError, PayloadError
from gatechart.graph import AnyGraph, EntryPoint
from gatechart.handoff import (
    MOST_HOPS,
    SCHEMA_VERSION,
    ConversationContext,
    HandoffPacket,
    PacketMigration,
    awaits_choice,
    fields_for,
    filling_values,
    read_packet,
)
from gatechart.handoff.packet import readable as text
from gatechart.handoff.reading import unreadable
from gatechart.kernel import plan_entry
from gatechart.secrets import has_secrets
from gatechart.turn.arguments import fit_payload
from gatechart.turn.entities import collision_details, with_remedy
from gatechart.turn.handoff_offers import ACCEPTED, CANCELLED, EXPIRED, FAILED, REJECTED, answer_payload, conclusion
from gatechart.turn.handoff_state import failures
from gatechart.turn.handoff_turns import open_handoff, reacted, unmoved
from gatechart.turn.macrostep import Macrostep, macrostep_of
from gatechart.turn.outcomes import returns, work_of
from gatechart.turn.turns import ask_entry_guard, beginning_context, committed_context, completed, entry_fields
from gatechart.values import (
    WITHDRAWN,
    AgentId,
    CancelAll,
    ChangeHandoff,
    Effect,
    Event,
    HandoffStatus,
    Mail,
    Mode,
    Obstacle,
    OpenHandoff,
    Payload,
    Send,
    Side,
    Snapshot,
    Status,
    TurnRecord,
)
from gatechart.values.framework import (
    is_framework_id,
)
from gatechart.values.frozen import replaced, value


@value
class Rejection:
    """A rejected offer: the answer to the source agent, and the change of the handoff."""

    settle: ChangeHandoff
    event: str
    told: Payload
    asked_by: AgentId


@dataclass(frozen=True, slots=True)
class Void:
    """The result of handoff mail that no longer changes anything."""


def rejection(packet: HandoffPacket, obstacle: Obstacle, details: str) -> Rejection:
    """Reject an offer."""
    why = text(details)
    settle = ChangeHandoff(packet.handoff_id, HandoffStatus.PENDING, HandoffStatus.REJECTED, f"{obstacle.value}: {why}")
    told = answer_payload(packet, HandoffStatus.REJECTED, why, obstacle, is_choosing=awaits_choice(packet))
    return Rejection(settle, REJECTED, told, packet.source_agent)


def withdrawn(event: Event, late: str = "", before: HandoffStatus = HandoffStatus.PENDING) -> Rejection:
    """Reject an offer that was withdrawn before it was accepted. late: the id of an offer that arrived too late.

    before: the status of the handoff until now.
    """
    is_late = bool(late) or event.payload.get("expired", False)
    after = HandoffStatus.EXPIRED if is_late else HandoffStatus.CANCELLED
    told_why = "" if late else event.payload.get("reason")
    details = told_why or ("not accepted before its deadline" if is_late else "withdrawn")
    handoff = late or event.payload["handoff"]
    told = {"handoff": handoff, "status": after.value, "details": details}
    settle = ChangeHandoff(handoff, before, after, details)
    return Rejection(settle, EXPIRED if is_late else FAILED, told, event.sender or "")


def readable(event: Event, migrations: Sequence[PacketMigration]) -> HandoffPacket | Rejection:
    """Read the packet of an offer; if it is unreadable, return the rejection, which keeps the packet unchanged.

    The ids of the handoff and the sender come from the mail: a migration may have dropped them from the packet.
    """
    mail = {"handoff_id": event.id or "", "source_agent": event.sender or ""}
    try:
        packet = read_packet(event.payload, migrations)
        is_so = (packet.handoff_id, packet.source_agent) == tuple(mail.values())
        return packet if is_so else packet.model_copy(update=mail)
    except PacketError as error:
        kept = unreadable(event.payload, str(error)).model_copy(update=mail)
        return rejection(kept, Obstacle.UNREADABLE, str(error))


def rejected(event: Event, migrations: Sequence[PacketMigration], obstacle: Obstacle, details: str) -> Rejection:
    """Reject an offer before it is processed: for this obstacle, or because it is unreadable."""
    packet = readable(event, migrations)
    return packet if isinstance(packet, Rejection) else rejection(packet, obstacle, details)


async def begin_with_offer(
    graph: AnyGraph, agent_id: AgentId, event: Event, packet: HandoffPacket, services: Any = None
) -> TurnRecord | Rejection:
    """Start an agent with a first turn that accepts an offer. Raises the errors of `take_turn`."""
    started = perf_counter_ns()
    told = _as_read(event, packet)
    context = _checked(graph, packet, event, told, agent_id)
    if isinstance(context, Rejection):
        return context
    entry = graph.entry_points[packet.entry_point]
    taken = _taken(packet, 1, event.time)
    macrostep = macrostep_of(graph, None, agent_id, context, told, (taken,), services)
    await macrostep.enter(plan_entry(graph, (entry.state,)))
    door = packet.entry_point
    return await completed(macrostep, None, event, started, before=_acceptance(graph, packet, taken), entry_point=door)


async def take_offer(
    graph: AnyGraph,
    previous: Snapshot,
    event: Event,
    services: Any,
    migrations: Sequence[PacketMigration],
) -> TurnRecord | Rejection:
    """Let an existing agent accept or reject an offer. Raises what `take_turn` raises."""
    started = perf_counter_ns()
    packet = readable(event, migrations)
    if isinstance(packet, Rejection):
        return packet
    if previous.status is not Status.ACTIVE:
        return rejection(packet, Obstacle.ENDED, f"it is {previous.status.value}")
    told = _as_read(event, packet)
    context = _checked(graph, packet, event, told, previous)
    if isinstance(context, Rejection):
        return context
    entry = graph.entry_points[packet.entry_point]
    taken = _taken(packet, previous.version + 1, event.time)
    renewed = replaced(previous, transfers=())  # another owner's choices do not count
    macrostep = macrostep_of(graph, renewed, previous.agent_id, context, told, (*previous.handoffs, taken), services)
    await macrostep.react()
    if not _leads_to(macrostep, entry):
        reason = f"nothing leads to {entry.state}" if macrostep.taken else str(macrostep.refusal())
        return rejection(packet, Obstacle.NO_TRANSITION, reason)
    door = packet.entry_point
    return await completed(
        macrostep, previous, event, started, before=_acceptance(graph, packet, taken), entry_point=door
    )


async def take_withdrawal(
    graph: AnyGraph, previous: Snapshot, event: Event, services: Any, dead: Mail | None
) -> TurnRecord | Rejection | Void:
    """Handle the withdrawal of an offer, accepted or not. Raises what `take_turn` raises."""
    if event.payload.get("choosing"):
        return _unchosen(previous, event)
    taken = open_handoff(previous, event, Side.TOOK)
    if taken is None:
        return withdrawn(event)
    # An accepted transfer cannot be withdrawn: the work is the target's by now.
    if taken.mode is Mode.TRANSFER:
        return Void()
    is_late, is_asked = event.payload.get("expired", False), "reason" in event.payload
    details = event.payload.get("reason") or ("not completed before its deadline" if is_late else "withdrawn")
    settle, *_ = conclusion(taken, HandoffStatus.CANCELLED, details, None)
    told = {"handoff": taken.id, "request": taken.request, "status": "cancelled", "details": details}
    answers = (Send(taken.peer, EXPIRED if is_late else FAILED, told),) if is_late or is_asked else ()
    others = tuple(each for each in previous.handoffs if each is not taken)
    if taken.is_new:
        ended = (settle, *answers, CancelAll(), *failures(others, "the agent was ended with what it began for"))
        return unmoved(previous, event, (), ended, Status.STOPPED)
    happened = replaced(event, name=CANCELLED)
    return await reacted(graph, previous, happened, others, (settle, *answers), services, dead=dead)


def _unchosen(previous: Snapshot, event: Event) -> TurnRecord | Rejection:
    """Withdraw an agent's own offer while its target is being chosen.

    If the target was chosen meanwhile, an operator's withdrawal is passed on; a deadline is the target's to keep, too.
    """
    known = open_handoff(previous, event, Side.ASKED)
    if known is None or known.is_choosing or "reason" not in event.payload:
        return withdrawn(event, before=HandoffStatus.CHOOSING)
    told = {name: each for name, each in event.payload.items() if name != "choosing"}
    return unmoved(previous, event, previous.handoffs, (Send(known.peer, WITHDRAWN, told),))


def _checked(
    graph: AnyGraph, packet: HandoffPacket, event: Event, told: Event, previous: Snapshot | AgentId
) -> AgentContext | Rejection:
    """Return the context for the turn that accepts the packet.

    told: the event as guards see it. previous: the id of an agent that does not exist yet.
    """
    objection = _objection(graph, packet, event, previous if isinstance(previous, str) else None)
    if objection is not None:
        return objection
    entry = graph.entry_points[packet.entry_point]
    known = None if isinstance(previous, str) else committed_context(graph, previous)
    try:
        fields = _fields(graph, entry, packet)
        context: AgentContext = beginning_context(graph, entry, fields) if known is None else known
        if entry.guard is not None:
            ask_entry_guard(graph, entry, context, told)
    except PayloadError as error:
        return rejection(packet, Obstacle.PAYLOAD, str(with_remedy(error, graph, entry, packet)))
    except EntryGuardError as error:
        return rejection(packet, Obstacle.GUARD, str(error))
    return context


def _as_read(event: Event, packet: HandoffPacket) -> Event:
    """Return the event as guards and actions see it: with an older packet upgraded to today's form."""
    if event.payload.get("schema_version", SCHEMA_VERSION) == SCHEMA_VERSION:
        return event
    return replaced(event, payload=packet.model_dump(mode="json"))


def _objection(graph: AnyGraph, packet: HandoffPacket, event: Event, new_id: AgentId | None) -> Rejection | None:
    """Return the rejection if the graph does not accept the packet at all. new_id: of an agent that does not exist."""
    if packet.deadline is not None and packet.deadline <= event.time:
        return withdrawn(event, packet.handoff_id)
    if graph.is_framework or (new_id is not None and is_framework_id(new_id)):
        return rejection(packet, Obstacle.UNKNOWN_GRAPH, "the agent belongs to gatechart itself, which takes no work")
    if packet.target_graph != graph.name:
        return rejection(packet, Obstacle.UNKNOWN_GRAPH, f"the agent is of {graph.name!r}")
    if packet.entry_point not in graph.entry_points:
        doors = ", ".join(graph.entry_points)
        return rejection(packet, Obstacle.NO_ENTRY, f"the entry points of {graph.name!r} are {doors}")
    if len(packet.path) > MOST_HOPS and not packet.evidence:  # with evidence, it goes to a person, and may be longer
        return rejection(packet, Obstacle.LOOP, f"it has been handed on {len(packet.path)} times")
    unwanted = "" if graph.accepts.policy is None else graph.accepts.objection(packet)
    return rejection(packet, Obstacle.WRONG_SKILLS, unwanted) if unwanted else None


def _fields(graph: AnyGraph, entry: EntryPoint, packet: HandoffPacket) -> Mapping[str, Any]:
    """Return the context's fields that the packet fills; the entry point's own fields override the conversation's.

    Raises PayloadError if the packet does not fit the entry point.
    """
    if entry.takes is None or (entry.takes is HandoffPacket and entry.maps is None):
        return fields_for(graph.context, packet, entry.entities)
    if issubclass(entry.takes, HandoffPacket):
        return entry_fields(graph, entry, _as_taken(graph, entry, packet))
    content = filling_values(packet, entry.entities)
    known = {name: content[name] for name in entry.takes.model_fields if name in content}
    is_conversation = issubclass(graph.context, ConversationContext)
    parts = fields_for(graph.context, packet, entry.entities) if is_conversation else {}
    return {**parts, **entry_fields(graph, entry, fit_payload(graph.name, entry, known))}


def _as_taken(graph: AnyGraph, entry: EntryPoint, packet: HandoffPacket) -> BaseModel | None:
    """Return the packet as the entry point's own type if that has secrets, else as it is. Raises PayloadError."""
    takes = entry.takes
    is_plain = takes is None or not has_secrets(takes)
    return packet if is_plain else fit_payload(graph.name, entry, packet.model_dump(mode="json"))


def _leads_to(macrostep: Macrostep, entry: EntryPoint) -> bool:
    """Return whether a transition of the turn leads to the entry point."""
    plans = macrostep.plans
    return any(entry.state in plan.entries or any(entry.state in edge.targets for edge in plan.taken) for plan in plans)


def _taken(packet: HandoffPacket, version: int, at: datetime) -> OpenHandoff:
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
        path=tuple(each.model_dump(mode="json") for each in packet.path),
        session=packet.session_id,
        reason=packet.reason,
        recipient=packet.recipient,
        work=work_of(packet, at.isoformat()) if _is_from_directory(packet) else None,
    )


def _is_from_directory(packet: HandoffPacket) -> bool:
    """Return whether the directory chose the target, or an agent that had the work before."""
    return bool(packet.recipient) or any(step.recipient for step in packet.path)


def _acceptance(graph: AnyGraph, packet: HandoffPacket, taken: OpenHandoff) -> tuple[Effect, ...]:
    details = collision_details(graph, graph.entry_points[packet.entry_point], packet) if packet.entities else ""
    settle = ChangeHandoff(packet.handoff_id, HandoffStatus.PENDING, HandoffStatus.ACCEPTED, details)
    told = Send(packet.source_agent, ACCEPTED, answer_payload(packet, HandoffStatus.ACCEPTED, details))
    return settle, told, *(() if taken.work is None else returns(packet))
