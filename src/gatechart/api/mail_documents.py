"""Mail and handoffs as JSON objects with stable keys: each is made from a value, and returns the value again."""

from __future__ import annotations

from pydantic import JsonValue

from gatechart.api.documents import Document
from gatechart.handoff.packet import Time
from gatechart.values import (
    AgentId,
    HandoffChange,
    HandoffRecord,
    HandoffStatus,
    Mail,
    MailStatus,
    Mode,
    Origin,
    Reason,
    Receipt,
)


class MailDocument(Document):
    """Mail, or a timer, which has a `state` or a `key`."""

    number: int
    agent_id: AgentId  # the recipient
    event: str
    payload: dict[str, JsonValue]
    id: str | None
    sender: AgentId | None
    status: MailStatus
    accepted: Time
    due: Time | None
    state: str | None
    key: str | None
    attempts: int
    retry_at: Time | None
    reason: str
    epoch: int = 0
    origin: Origin = Origin.OUTSIDE
    operator_reason: str = ""

    @classmethod
    def of(cls, mail: Mail) -> MailDocument:
        """Make the document of mail."""
        return cls.model_construct(
            number=mail.number,
            agent_id=mail.recipient,
            event=mail.event,
            payload=dict(mail.payload),
            id=mail.id,
            sender=mail.sender,
            status=mail.status,
            accepted=mail.accepted,
            due=mail.due,
            state=mail.state,
            key=mail.key,
            attempts=mail.attempts,
            retry_at=mail.retry_at,
            reason=mail.reason,
            epoch=mail.epoch,
            origin=mail.origin,
            operator_reason=mail.operator_reason,
        )

    def value(self) -> Mail:
        """Return the mail."""
        return Mail(
            number=self.number,
            recipient=self.agent_id,
            event=self.event,
            payload=self.payload,
            accepted=self.accepted,
            id=self.id,
            sender=self.sender,
            due=self.due,
            key=self.key,
            state=self.state,
            epoch=self.epoch,
            status=self.status,
            attempts=self.attempts,
            retry_at=self.retry_at,
            reason=self.reason,
            operator_reason=self.operator_reason,
        )


class HandoffDocument(Document):
    """A stored handoff, with its packet."""

    handoff: str  # the handoff's id
    request: str
    number: int
    status: HandoffStatus
    mode: Mode
    reason: Reason
    source: AgentId
    source_graph: str
    target: AgentId
    target_graph: str
    entry_point: str
    is_new: bool
    deadline: Time | None
    changes: tuple[HandoffChange, ...]
    result: dict[str, JsonValue] | None
    packet: dict[str, JsonValue]

    @classmethod
    def of(cls, record: HandoffRecord) -> HandoffDocument:
        """Make the document of a handoff."""
        return cls.model_construct(
            handoff=record.id,
            request=record.request,
            number=record.number,
            status=record.status,
            mode=record.mode,
            reason=record.reason,
            source=record.source,
            source_graph=record.source_graph,
            target=record.target,
            target_graph=record.target_graph,
            entry_point=record.entry_point,
            is_new=record.is_new,
            deadline=record.deadline,
            changes=record.changes,
            result=None if record.result is None else dict(record.result),
            packet=dict(record.packet),
        )

    def value(self) -> HandoffRecord:
        """Return the handoff."""
        return HandoffRecord(
            id=self.handoff,
            request=self.request,
            source=self.source,
            source_graph=self.source_graph,
            target=self.target,
            target_graph=self.target_graph,
            entry_point=self.entry_point,
            is_new=self.is_new,
            mode=self.mode,
            reason=self.reason,
            packet=self.packet,
            deadline=self.deadline,
            status=self.status,
            changes=self.changes,
            result=self.result,
            number=self.number,
        )


class ReceiptDocument(Document):
    """The receipt for posted mail."""

    mail: int  # the number of the mail
    repeat: bool

    @classmethod
    def of(cls, receipt: Receipt) -> ReceiptDocument:
        """Make the document of a receipt."""
        return cls(mail=receipt.number, repeat=receipt.repeat)

    def value(self) -> Receipt:
        """Return the receipt."""
        return Receipt(self.mail, self.repeat)
