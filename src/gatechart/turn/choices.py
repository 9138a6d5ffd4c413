"""The turn that offers an agent's work to the chosen target. The chart takes no part."""

from __future__ import annotations

from collections.abc import Sequence

from gatechart.handoff import HandoffPacket, PacketMigration, told_of_nobody
from gatechart.selection import explanation_json
from gatechart.turn.handoff_acceptance import Rejection, Void, readable, rejection, withdrawn
from gatechart.turn.handoff_offers import new_id, record_of, source_of
from gatechart.turn.handoff_turns import unmoved
from gatechart.values import (
    CHOOSING,
    CHOSEN,
    ENTRY_AGENT,
    Candidate,
    Choice,
    Event,
    HandoffStatus,
    Mail,
    Obstacle,
    OfferChosen,
    OpenHandoff,
    Payload,
    Send,
    Side,
    Snapshot,
    Status,
    TurnRecord,
)
from gatechart.values.frozen import replaced


def asks_for_choice(mail: Mail | Event, agent_id: str) -> bool:
    """Return whether mail is the agent's own request to choose the target of its handoff."""
    name = mail.event if isinstance(mail, Mail) else mail.name
    return name == CHOOSING and mail.sender == agent_id


def undecided(
    previous: Snapshot, event: Event, migrations: Sequence[PacketMigration]
) -> HandoffPacket | Rejection | Void:
    """Return the packet whose target is to be chosen now, or the outcome of a handoff that needs no choice.

    The withdrawal of a handoff follows in the agent's mail, and settles it.
    """
    if _chosen_for(previous, event) is None:
        return Void()
    packet = readable(event, migrations)
    if isinstance(packet, Rejection):
        return _of_choice(packet)
    if packet.deadline is not None and packet.deadline <= event.time:
        return withdrawn(event, packet.handoff_id, HandoffStatus.CHOOSING)
    return packet


def take_choice(
    previous: Snapshot, event: Event, packet: HandoffPacket, choice: Choice
) -> TurnRecord | Rejection | Void:
    """Offer the work to the chosen target, and record the explanation; if no target matched, reject the handoff.

    packet: as `undecided` returned it for this snapshot.
    """
    asked = _chosen_for(previous, event)
    if asked is None:
        return Void()
    explanation = explanation_json(choice.explanation)
    if choice.candidate is None:
        return unmatched(packet, choice.explanation.details or "nobody is right for it", explanation)
    record = record_of(_addressed(packet, choice.candidate, previous, event), event.time)
    offered = replaced(
        asked, peer=record.target, recipient=choice.candidate.id, reason=record.reason, is_choosing=False
    )
    handoffs = tuple(offered if handoff is asked else handoff for handoff in previous.handoffs)
    effect = OfferChosen(replaced(record, choice=explanation), choice.explanation.details)
    return unmoved(previous, event, handoffs, (effect, *_noted(choice, packet.handoff_id)))


def _noted(choice: Choice, handoff: str) -> tuple[Send, ...]:
    """Return the mail that notifies the chosen entry of the directory, if choices are recorded."""
    if choice.candidate is None or choice.noted is None:
        return ()
    return (Send(f"{ENTRY_AGENT}{choice.candidate.id}", CHOSEN, choice.noted, f"chosen:{handoff}"),)


def unmatched(packet: HandoffPacket, details: str, choice: Payload | None = None) -> Rejection:
    """Reject a handoff without a matching target. choice: the explanation as JSON values."""
    given = _of_choice(rejection(packet, Obstacle.NO_MATCH, details))
    return replaced(given, settle=replaced(given.settle, choice=choice))


def unchosen(event: Event, migrations: Sequence[PacketMigration], details: str) -> Rejection:
    """Reject a handoff whose target could not be chosen because every attempt failed."""
    packet = readable(event, migrations)
    return _of_choice(packet) if isinstance(packet, Rejection) else unmatched(packet, details)


def _chosen_for(previous: Snapshot, event: Event) -> OpenHandoff | None:
    """Return the handoff that waits for a choice; None if it no longer waits."""
    if previous.status is not Status.ACTIVE:
        return None
    known = (handoff for handoff in previous.handoffs if handoff.id == event.id and handoff.side is Side.ASKED)
    return next((handoff for handoff in known if handoff.is_choosing and handoff.states), None)


def _of_choice(given: Rejection) -> Rejection:
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
