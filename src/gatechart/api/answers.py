"""What is answered beyond a single value: some of many, or that it was done."""

from __future__ import annotations

from collections.abc import Sequence

from gatechart.api.documents import Document, EntryDocument, SnapshotDocument
from gatechart.api.mail_documents import HandoffDocument, MailDocument
from gatechart.values import AgentId, HandoffRecord, HistoryEntry, Mail, Page


class AskedDocument(Document):
    """The handoff that was asked for, by its id."""

    handoff: str

    @classmethod
    def of(cls, handoff_id: str) -> AskedDocument:
        """Make the document of a handoff's id."""
        return cls(handoff=handoff_id)

    def value(self) -> str:
        """Return the handoff's id."""
        return self.handoff


class DoneDocument(Document):
    """Says only that it was done."""

    @classmethod
    def of(cls, _: None) -> DoneDocument:
        """Make the document."""
        return cls()

    def value(self) -> None:
        """Return nothing."""


class PageDocument(Document):
    """Some of the agents found; `next` is passed as `after` for the next page, null on the last."""

    agents: tuple[SnapshotDocument, ...]
    next: AgentId | None

    @classmethod
    def of(cls, page: Page) -> PageDocument:
        """The document of a page."""
        return cls.model_construct(agents=tuple(map(SnapshotDocument.of, page.agents)), next=page.next)

    def value(self) -> Page:
        """The page."""
        return Page(tuple(each.value() for each in self.agents), self.next)


class HistoryDocument(Document):
    """Some of an agent's turns, oldest first; `next` is passed as `after` for those behind, null where that is all."""

    history: tuple[EntryDocument, ...]
    next: int | None

    @classmethod
    def of(cls, entries: Sequence[HistoryEntry]) -> HistoryDocument:
        """The document of these turns, as all that there are."""
        return cls.model_construct(history=tuple(map(EntryDocument.of, entries)), next=None)

    def value(self) -> tuple[HistoryEntry, ...]:
        """The turns."""
        return tuple(each.value() for each in self.history)


class MailsDocument(Document):
    """Some mail, in the order accepted; `next` is passed as `after` for what is behind, null where that is all."""

    mail: tuple[MailDocument, ...]
    next: int | None

    @classmethod
    def of(cls, mail: Sequence[Mail]) -> MailsDocument:
        """The document of this mail, as all that there is."""
        return cls.model_construct(mail=tuple(map(MailDocument.of, mail)), next=None)

    def value(self) -> tuple[Mail, ...]:
        """The mail."""
        return tuple(each.value() for each in self.mail)


class HandoffsDocument(Document):
    """Some handoffs, in the order offered; `next` is passed as `after` for those behind, null where that is all."""

    handoffs: tuple[HandoffDocument, ...]
    next: int | None

    @classmethod
    def of(cls, records: Sequence[HandoffRecord]) -> HandoffsDocument:
        """The document of these handoffs, as all that there are."""
        return cls.model_construct(handoffs=tuple(map(HandoffDocument.of, records)), next=None)

    def value(self) -> tuple[HandoffRecord, ...]:
        """The handoffs."""
        return tuple(each.value() for each in self.handoffs)
