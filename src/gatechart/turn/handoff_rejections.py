"""Rejections of offers, and mail that no longer changes anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gatechart.errors import PacketError
from gatechart.handoff import HandoffPacket, PacketMigration, read_packet
from gatechart.handoff.packet import readable as text
from gatechart.handoff.reading import unreadable
from gatechart.turn.handoff_offers import EXPIRED, FAILED, REJECTED, answer_payload
from gatechart.values import AgentId, ChangeHandoff, Event, HandoffStatus, Obstacle, Payload


@dataclass(frozen=True, slots=True)
class Rejection:
    """A rejected offer: the answer to the source agent, and the change of the handoff."""

    settle: ChangeHandoff
    event: str
    told: Payload
    asked_by: AgentId


@dataclass(frozen=True, slots=True)
class Void:
    """Mail about a handoff that no longer changes anything."""


def rejection(packet: HandoffPacket, obstacle: Obstacle, details: str) -> Rejection:
    """Reject an offer."""
    why = text(details)
    settle = ChangeHandoff(packet.handoff_id, HandoffStatus.PENDING, HandoffStatus.REJECTED, f"{obstacle.value}: {why}")
    told = answer_payload(packet, HandoffStatus.REJECTED, why, obstacle)
    return Rejection(settle, REJECTED, told, packet.source_agent)


def withdrawn(event: Event, late: str = "") -> Rejection:
    """Reject an offer that was withdrawn before it was accepted. late: the id of one that came after its deadline."""
    is_late = bool(late) or event.payload.get("expired", False)
    after = HandoffStatus.EXPIRED if is_late else HandoffStatus.CANCELLED
    told_why = "" if late else event.payload.get("reason")
    details = told_why or ("not accepted before its deadline" if is_late else "withdrawn")
    handoff = late or event.payload["handoff"]
    told = {"handoff": handoff, "status": after.value, "details": details}
    settle = ChangeHandoff(handoff, HandoffStatus.PENDING, after, details)
    return Rejection(settle, EXPIRED if is_late else FAILED, told, event.sender or "")


def readable(event: Event, migrations: Sequence[PacketMigration]) -> HandoffPacket | Rejection:
    """Read the packet of an offer; if it cannot be read, return the rejection, which keeps it as it came.

    The mail decides which handoff it is and who sent it: a migration may have lost that.
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
    """Reject an offer as it came: for this obstacle, or because nobody can read it."""
    packet = readable(event, migrations)
    return packet if isinstance(packet, Rejection) else rejection(packet, obstacle, details)
