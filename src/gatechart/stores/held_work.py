"""Counts of open work: counted once, then updated by every commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final, TypeAlias

from gatechart.values.directory import counted_under
from gatechart.values.frozen import value
from gatechart.values.handoffs import HandoffRecord, HandoffStatus

Work: TypeAlias = tuple[str, str, str]
"""The counter of a handoff: its graph, its entry point, and its recipient ("" if none was chosen)."""


@value
class WorkChange:
    """The changes of open work by a commit. Numbers may be negative."""

    accepted: Mapping[Work, int]
    slots: Mapping[str, int]  # by graph


UNCHANGED: Final = WorkChange({}, {})


class HeldWork:
    """Counters of open work, by graph, entry point and recipient. See `Store.held`."""

    __slots__ = ("_accepted", "_held", "_slots")

    def __init__(self) -> None:
        self._accepted: Counter[str] = Counter()
        self._slots: Counter[str] = Counter()
        self._held: dict[str, int] = {}

    def counts(self) -> dict[str, int]:
        """Return the number of pieces of open work, by name."""
        return self._held.copy()

    def slots(self, graph: str) -> int:
        """Return the number of taken slots of a graph."""
        return self._slots[graph]

    def change(self, change: WorkChange) -> None:
        """Apply the changes of a commit."""
        for work, by in change.accepted.items():
            self.accept(work, by)
        for graph, by in change.slots.items():
            self.take(graph, by)

    def accept(self, work: Work, by: int) -> None:
        """Count accepted handoffs; a negative number counts handoffs that ended."""
        for name in counted_under(*work):
            self._count(self._accepted, name, by)

    def take(self, graph: str, by: int) -> None:
        """Count taken slots; a negative number counts freed ones. Slots of an entry use its agent's id as graph."""
        self._count(self._slots, graph, by)

    def _count(self, counted: Counter[str], name: str, by: int) -> None:
        counted[name] += by
        if not counted[name]:
            del counted[name]
        most = max(self._accepted[name], self._slots[name])
        if most:
            self._held[name] = most
        else:
            self._held.pop(name, None)


def is_work(status: HandoffStatus) -> bool:
    """Whether a handoff of this status is open work: accepted, and not ended."""
    return status is HandoffStatus.ACCEPTED


def work_of(record: HandoffRecord) -> Work:
    """Return the counter of a handoff."""
    return record.target_graph, record.entry_point, str(record.packet.get("recipient", ""))
