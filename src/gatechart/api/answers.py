"""Documents of results other than single values: parts of lists, and plain success."""

from __future__ import annotations

from collections.abc import Sequence

from gatechart.api.documents import Document, EntryDocument, SnapshotDocument
from gatechart.api.mail_documents import HandoffDocument, MailDocument
from gatechart.values import AgentId, HandoffRecord, HistoryEntry, Mail, Page


class AskedDocument(Document):
    """The id of the handoff that was requested."""

    handoff: str

    @classmethod
    def of(cls, handoff_id: str) -> AskedDocument:
        """Make the document of a handoff's id."""
        return cls(handoff=handoff_id)

    def value(self) -> str:
        """Return the handoff's id."""
        return self.handoff


class DoneDocument(Document):
    """Success without a result."""

    @classmethod
    def of(cls, _: None) -> DoneDocument:
        """Make the document."""
        return cls()

    def value(self) -> None:
        """Return None."""


class PageDocument(Document):
    """Some of the agents found; pass `next` as `after` for the next page. It is null on the last page."""

    agents: tuple[SnapshotDocument, ...]
    next: AgentId | None

    @classmethod
    def of(cls, page: Page) -> PageDocument:
        """Make the document of a page."""
        return cls.model_construct(agents=tuple(map(SnapshotDocument.of, page.agents)), next=page.next)

    def value(self) -> Page:
        """Return the page."""
        return Page(tuple(each.value() for each in self.agents), self.next)


class HistoryDocument(Document):
    """Some of an agent's turns, oldest first; pass `next` as `after` for more. It is null if there are no more."""

    history: tuple[EntryDocument, ...]
    next: int | None

    @classmethod
    def of(cls, entries: Sequence[HistoryEntry]) -> HistoryDocument:
        """Make the document of all these turns."""
        return cls.model_construct(history=tuple(map(EntryDocument.of, entries)), next=None)

    def value(self) -> tuple[HistoryEntry, ...]:
        """Return the turns."""
        return tuple(each.value() for each in self.history)


class MailsDocument(Document):
    """Some mail, in the order accepted; pass `next` as `after` for more. It is null if there is no more."""

    mail: tuple[MailDocument, ...]
    next: int | None

    @classmethod
    def of(cls, mail: Sequence[Mail]) -> MailsDocument:
        """Make the document of all this mail."""
        return cls.model_construct(mail=tuple(map(MailDocument.of, mail)), next=None)

    def value(self) -> tuple[Mail, ...]:
        """Return the mail."""
        return tuple(each.value() for each in self.mail)


class HandoffsDocument(Document):
    """Some handoffs, in the order offered; pass `next` as `after` for more. It is null if there are no more."""

    handoffs: tuple[HandoffDocument, ...]
    next: int | None

    @classmethod
    def of(cls, records: Sequence[HandoffRecord]) -> HandoffsDocument:
        """Make the document of all these handoffs."""
        return cls.model_construct(handoffs=tuple(map(HandoffDocument.of, records)), next=None)

    def value(self) -> tuple[HandoffRecord, ...]:
        """Return the handoffs."""
        return tuple(each.value() for each in self.handoffs)
