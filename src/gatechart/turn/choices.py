"""The turn in which an agent offers its work to the target that was chosen for it. The chart takes no part."""

from __future__ import annotations

from collections.abc import Sequence

from gatechart.handoff.fallbacks import told_of_nobody
from gatechart.handoff.packet import HandoffPacket
from gatechart.handoff.reading import PacketMigration
from gatechart.selection.explaining import explanation_json
from gatechart.turn.handoff_acceptance import Rejection, Void, readable, rejection, withdrawn
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
    """Tell whether it is an agent's own mail that has the target of its handoff chosen."""
    name = mail.event if isinstance(mail, Mail) else mail.name
    return name == CHOOSING and mail.sender == agent_id


def undecided(
    previous: Snapshot, event: Event, migrations: Sequence[PacketMigration]
) -> HandoffPacket | Rejection | Void:
    """Return the packet whose target is to be chosen now, or what becomes of the handoff without a choice.

    A handoff that was withdrawn is left to the withdrawal, which follows in the agent's mail.
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
    """Offer the work to the target that was chosen, and keep why; if nothing matched, reject the handoff.

    packet: as `undecided` returned it for this snapshot.
    """
    asked = _chosen_for(previous, event)
    if asked is None:
        return Void()
    told = explanation_json(choice.explanation)
    if choice.candidate is None:
        return unmatched(packet, choice.explanation.details or "nobody is right for it", told)
    made = record_of(_addressed(packet, choice.candidate, previous, event), event.time)
    offered = replaced(asked, peer=made.target, recipient=choice.candidate.id, reason=made.reason, is_choosing=False)
    handoffs = tuple(offered if each is asked else each for each in previous.handoffs)
    effect = OfferChosen(replaced(made, choice=told), choice.explanation.details)
    return unmoved(previous, event, handoffs, (effect, *_noted(choice, packet.handoff_id)))


def _noted(choice: Choice, handoff: str) -> tuple[Send, ...]:
    """Return what tells the entry of the directory that it was chosen, if choices are recorded."""
    if choice.candidate is None or choice.noted is None:
        return ()
    return (Send(f"{ENTRY_AGENT}{choice.candidate.id}", CHOSEN, choice.noted, f"chosen:{handoff}"),)


def unmatched(packet: HandoffPacket, details: str, choice: Payload | None = None) -> Rejection:
    """Reject a handoff for which nobody was found. choice: the explanation as JSON values."""
    given = _of_choice(rejection(packet, Obstacle.NO_MATCH, details))
    return replaced(given, settle=replaced(given.settle, choice=choice))


def unchosen(event: Event, migrations: Sequence[PacketMigration], details: str) -> Rejection:
    """Reject a handoff whose target could not be chosen, because every attempt at it failed."""
    packet = readable(event, migrations)
    return _of_choice(packet) if isinstance(packet, Rejection) else unmatched(packet, details)


def _chosen_for(previous: Snapshot, event: Event) -> OpenHandoff | None:
    """Return the handoff that waits for a choice; None if it does no longer."""
    if previous.status is not Status.ACTIVE:
        return None
    known = (each for each in previous.handoffs if each.id == event.id and each.side is Side.ASKED)
    return next((each for each in known if each.is_choosing and each.states), None)


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
