"""Handoffs in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from gatechart.handoff import is_open
from gatechart.stores.ledger import Book, entry_of_record, with_entry
from gatechart.values import (
    AgentId,
    ChangeHandoff,
    HandoffQuery,
    HandoffRecord,
    HandoffStatus,
    ReserveSlot,
    TurnRecord,
    Verdict,
)


class Handoffs:
    """The handoffs of a MemoryStore, in the order offered."""

    def __init__(self) -> None:
        self._records: dict[str, HandoffRecord] = {}
        self._offered = 0  # so far
        self._book = Book({}, {}, {})

    def takes(self, turn: TurnRecord) -> bool:
        """See Book."""
        is_taken = self._book.takes(turn)
        self._note()
        return is_taken

    def settle(self, settle: ChangeHandoff, time: datetime) -> bool:
        """See Book."""
        is_settled = self._book.settle((settle,), time)
        self._note()
        return is_settled

    def reserve(self, unit: ReserveSlot) -> Verdict:
        """See Book."""
        return self._book.reserve(unit)

    def find(self, query: HandoffQuery) -> Sequence[HandoffRecord]:
        """Those that fit."""
        found = (
            record
            for record in self._records.values()
            if record.number > query.after
            and query.id in (None, record.id)
            and query.request in (None, record.request)
            and query.source in (None, record.source)
            and query.target in (None, record.target)
            and query.status in (None, record.status)
        )
        return list(islice(found, query.limit))

    def is_offered(self, agent_id: AgentId) -> bool:
        """Whether an offer to the agent is neither taken nor answered."""
        return bool(self.find(HandoffQuery(target=agent_id, status=HandoffStatus.PENDING, limit=1)))

    def at_work(self) -> set[AgentId]:
        """The agents that have a part in a handoff that is not over."""
        standing = [each for each in self._records.values() if is_open(each.status)]
        return {agent_id for each in standing for agent_id in (each.source, each.target)}

    def forget(self, agent_id: AgentId) -> None:
        """Forgets those in which the agent has a part. One that another agent has taken keeps its place."""
        for record in [each for each in self._records.values() if agent_id in (each.source, each.target)]:
            del self._records[record.id], self._book.entries[record.id]
            if record.target == agent_id or record.status is not HandoffStatus.ACCEPTED:
                self._book.release(record.id)

    def _note(self) -> None:
        book = self._book
        for record in book.offered:
            self._offered += 1
            self._records[record.id] = replace(record, number=self._offered)
            book.entries[record.id] = entry_of_record(record)
        for handoff in book.touched:
            self._records[handoff] = with_entry(self._records[handoff], book.entries[handoff])
        book.offered.clear()
        book.touched.clear()
        book.erased.clear()
