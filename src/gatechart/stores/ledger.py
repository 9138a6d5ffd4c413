"""The handoffs and the places that they hold, as units leave them one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from gatechart.handoff import check_change, is_open
from gatechart.values import (
    ChangeHandoff,
    HandoffChange,
    HandoffRecord,
    HandoffStatus,
    Offer,
    Payload,
    ReserveSlot,
    TurnRecord,
    Verdict,
)


class Entry(NamedTuple):
    """What changes in the life of a handoff."""

    status: HandoffStatus
    changes: tuple[HandoffChange, ...]
    result: Payload | None = None

    def settled(self, settle: ChangeHandoff, time: datetime) -> Entry:
        """The entry after a change."""
        change = HandoffChange(settle.after, time, settle.details)
        return Entry(settle.after, (*self.changes, change), settle.result)


class Book:
    """Handoffs by id, and who holds a place with which graph. What is touched is to be written."""

    def __init__(self, entries: dict[str, Entry], places: dict[str, str], held: dict[str, int]) -> None:
        """places: the graphs with which handoffs hold one; held: how many are held with each graph. All are changed."""
        self.entries = entries
        self.offered: list[HandoffRecord] = []
        self.touched: dict[str, None] = {}
        self.reserved: dict[str, str] = {}  # the graphs of places that are taken now
        self.erased: dict[str, None] = {}  # handoffs that came to their end after they were erased with the other agent
        self._places = places
        self._held = held

    def takes(self, turn: TurnRecord) -> bool:
        """Whether each handoff that the turn would settle stands as the turn expects; then it is settled."""
        settles = settles_of(turn)
        if settles and not self.settle(settles, turn.event.time):
            return False
        self.offered += [effect.handoff for effect in turn.effects if isinstance(effect, Offer)]
        return True

    def settle(self, settles: Iterable[ChangeHandoff], time: datetime) -> bool:
        """Whether all can be settled, one after the other; then they are, and what is over gives its place back.

        An accepted handoff that was erased with the agent that asked for it may end: nobody is told. Raises
        HandoffStateError where one would go from a status to another that cannot follow.
        """
        after: dict[str, Entry] = {}
        erased: list[str] = []
        for each in settles:
            check_change(each.before, each.after, each.handoff)
            entry = after.get(each.handoff) or self.entries.get(each.handoff)
            if entry is None and each.before is HandoffStatus.ACCEPTED:
                erased.append(each.handoff)
            elif entry is None or entry.status is not each.before:
                return False
            else:
                after[each.handoff] = entry.settled(each, time)
        self.entries.update(after)
        self.touched.update(dict.fromkeys(after))
        self.erased.update(dict.fromkeys(erased))
        for handoff in (*erased, *(each for each, entry in after.items() if not is_open(entry.status))):
            self.release(handoff)
        return True

    def reserve(self, unit: ReserveSlot) -> Verdict:
        """Takes a place for a handoff that is not over, unless it has one."""
        if unit.handoff in self._places:
            return Verdict.COMMITTED
        entry = self.entries.get(unit.handoff)
        if entry is None or not is_open(entry.status):
            return Verdict.STALE
        held = self._held.get(unit.graph, 0)
        if held >= unit.most:
            return Verdict.STALE
        self._held[unit.graph] = held + 1
        self._places[unit.handoff] = self.reserved[unit.handoff] = unit.graph
        return Verdict.COMMITTED

    def release(self, handoff: str) -> None:
        """Gives the place back that a handoff holds, if it holds one."""
        graph = self._places.pop(handoff, None)
        self.reserved.pop(handoff, None)
        if graph is not None:
            self._held[graph] = self._held.get(graph, 0) - 1

    @property
    def over(self) -> list[str]:
        """The ids of handoffs that have come to their end, and so hold no place."""
        ended = [handoff for handoff in self.touched if not is_open(self.entries[handoff].status)]
        return [*ended, *self.erased]


def settles_of(turn: TurnRecord) -> list[ChangeHandoff]:
    """The changes of handoffs that a turn makes."""
    return [effect for effect in turn.effects if isinstance(effect, ChangeHandoff)]


def entry_of_record(record: HandoffRecord) -> Entry:
    """What changes in the life of the handoff."""
    return Entry(record.status, record.changes, record.result)


def with_entry(record: HandoffRecord, entry: Entry) -> HandoffRecord:
    """The handoff as it stands now."""
    return replace(record, status=entry.status, changes=entry.changes, result=entry.result)
