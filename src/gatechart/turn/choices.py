"""The turn that offers the agent's work to a chosen target. It runs no code of the chart."""

from __future__ import annotations

from collections.abc import Sequence

from gatechart.handoff.fallbacks import told_of_nobody
from gatechart.handoff.packet import HandoffPacket
from gatechart.handoff.reading import PacketMigration
from gatechart.selection.explaining import explanation_json
from gatechart.turn.handoff_acceptance import RejectedOffer, Void, readable, rejection, withdrawn
from gatechart.turn.handoff_offers import new_id, record_of, source_of
from gatechart.turn.handoff_turns import unmoved
from gatechart.values.agents import Event, Snapshot, Status
from gatechart.values.commits import TurnRecord
from gatechart.values.directory import CHOSEN
from gatechart.values.effects import OfferChosen, Send
from gatechart.values.framework import ENTRY_AGENT
from gatechart.values.frozen import replaced
from gatechart.values.handoffs import HandoffStatus, Obstacle, OpenHandoff, Side
from gatechart.values.mail import Mail
from gatechart.values.names import CHOOSING, Payload
from gatechart.values.profiles import Candidate, Choice


def asks_for_choice(mail: Mail | Event, agent_id: str) -> bool:
    """Return whether an agent sent this mail to itself to have its handoff's target chosen."""
    name = mail.event if isinstance(mail, Mail) else mail.name
    return name == CHOOSING and mail.sender == agent_id


def undecided(
    previous: Snapshot, event: Event, migrations: Sequence[PacketMigration]
) -> HandoffPacket | RejectedOffer | Void:
    """Return the packet whose target is to be chosen now; a rejection if it is unreadable or expired.

    For a withdrawn handoff, return Void: the agent's mail contains the withdrawal next.
    """
    if _awaiting_choice(previous, event) is None:
        return Void()
    packet = readable(event, migrations)
    if isinstance(packet, RejectedOffer):
        return _from_choosing(packet)
    if packet.deadline is not None and packet.deadline <= event.time:
        return withdrawn(event, packet.handoff_id, HandoffStatus.CHOOSING)
    return packet


def take_choice(
    previous: Snapshot, event: Event, packet: HandoffPacket, choice: Choice
) -> TurnRecord | RejectedOffer | Void:
    """Offer the work to the chosen target, and store the explanation. If nothing matched, reject the handoff.

    packet: as `undecided` returned it for this snapshot.
    """
    pending = _awaiting_choice(previous, event)
    if pending is None:
        return Void()
    explanation = explanation_json(choice.explanation)
    if choice.candidate is None:
        return unmatched(packet, choice.explanation.details or "no candidate fits", explanation)
    record = record_of(_addressed(packet, choice.candidate, previous, event), event.time)
    offered = replaced(
        pending, peer=record.target, recipient=choice.candidate.id, reason=record.reason, is_choosing=False
    )
    handoffs = tuple(offered if handoff is pending else handoff for handoff in previous.handoffs)
    effect = OfferChosen(replaced(record, choice=explanation), choice.explanation.details)
    return unmoved(previous, event, handoffs, (effect, *_choice_notice(choice, packet.handoff_id)))


def _choice_notice(choice: Choice, handoff: str) -> tuple[Send, ...]:
    """Return the mail that informs the chosen directory entry, if choices are recorded."""
    if choice.candidate is None or choice.noted is None:
        return ()
    return (Send(f"{ENTRY_AGENT}{choice.candidate.id}", CHOSEN, choice.noted, f"chosen:{handoff}"),)


def unmatched(packet: HandoffPacket, details: str, choice: Payload | None = None) -> RejectedOffer:
    """Reject a handoff that no candidate matched. choice: the explanation as JSON values."""
    unaddressed = _from_choosing(rejection(packet, Obstacle.NO_MATCH, details))
    return replaced(unaddressed, settle=replaced(unaddressed.settle, choice=choice))


def unchosen(event: Event, migrations: Sequence[PacketMigration], details: str) -> RejectedOffer:
    """Reject a handoff whose target could not be chosen, because every attempt at it failed."""
    packet = readable(event, migrations)
    return _from_choosing(packet) if isinstance(packet, RejectedOffer) else unmatched(packet, details)


def _awaiting_choice(previous: Snapshot, event: Event) -> OpenHandoff | None:
    """Return the handoff that waits for a choice; None if it no longer waits."""
    if previous.status is not Status.ACTIVE:
        return None
    known = (handoff for handoff in previous.handoffs if handoff.id == event.id and handoff.side is Side.ASKED)
    return next((handoff for handoff in known if handoff.is_choosing and handoff.states), None)


def _from_choosing(given: RejectedOffer) -> RejectedOffer:
    return replaced(given, settle=replaced(given.settle, before=HandoffStatus.CHOOSING))


def _addressed(packet: HandoffPacket, chosen: Candidate, previous: Snapshot, event: Event) -> HandoffPacket:
    ids = source_of(previous.agent_id, previous.version + 1, event.time)
    return packet.model_copy(
        update={
            "target_graph": chosen.graph,
            "entry_point": chosen.entry_point,
            "target_agent": chosen.agent or new_id(ids),
            "is_new": not chosen.agent,
            "recipient": chosen.id,
            **(told_of_nobody(packet) if chosen.is_person else {}),
        }
    )
