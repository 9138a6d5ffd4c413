"""How much open work there is: counted once, and kept true by what commits change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final, TypeAlias

from gatechart.values.directory import counted_under
from gatechart.values.frozen import value
from gatechart.values.handoffs import HandoffRecord, HandoffStatus

Work: TypeAlias = tuple[str, str, str]
"""Where a handoff counts as open work: its graph, its entry point, and its recipient, "" if none was chosen."""


@value
class WorkChange:
    """What a commit changes about open work. Numbers may be below 0."""

    accepted: Mapping[Work, int]
    slots: Mapping[str, int]  # by graph


UNCHANGED: Final = WorkChange({}, {})


class HeldWork:
    """The open work, by graph, entry point and recipient. See `Store.held`."""

    __slots__ = ("_accepted", "_held", "_slots")

    def __init__(self) -> None:
        self._accepted: Counter[str] = Counter()
        self._slots: Counter[str] = Counter()
        self._held: dict[str, int] = {}

    def counts(self) -> dict[str, int]:
        """Return how many pieces of work there are, by name."""
        return self._held.copy()

    def slots(self, graph: str) -> int:
        """Return how many slots of a graph are taken."""
        return self._slots[graph]

    def change(self, change: WorkChange) -> None:
        """Count what a commit changed."""
        for work, by in change.accepted.items():
            self.accept(work, by)
        for graph, by in change.slots.items():
            self.take(graph, by)

    def accept(self, work: Work, by: int) -> None:
        """Count handoffs that were accepted, or are over: then the number is below 0."""
        for name in counted_under(*work):
            self._count(self._accepted, name, by)

    def take(self, graph: str, by: int) -> None:
        """Count slots that were taken, or freed: then the number is below 0. Those of an entry have its agent's id."""
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
    """Whether a handoff of this status is open work: accepted, and not over."""
    return status is HandoffStatus.ACCEPTED


def work_of(record: HandoffRecord) -> Work:
    """Return where a handoff counts as open work."""
    return record.target_graph, record.entry_point, str(record.packet.get("recipient", ""))
