"""The rules of a commit for handoffs and their slots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import starmap

from gatechart.handoff.lifecycle import FINAL, LEGAL, illegal_change, is_open
from gatechart.stores.operations import (
    DirectHandoff,
    ExplainHandoff,
    FreeSlot,
    HandoffState,
    InsertHandoff,
    Loaded,
    Operation,
    TakeSlot,
    UpdateHandoff,
)
from gatechart.values.commits import ReserveSlot, Verdict
from gatechart.values.effects import ChangeHandoff
from gatechart.values.frozen import replaced
from gatechart.values.handoffs import HandoffChange, HandoffRecord, HandoffStatus
from gatechart.values.names import Payload


class HandoffLedger:
    """The state of the handoffs of a batch after the units so far."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._offered: dict[str, HandoffRecord] = {}
        self._directed: dict[str, HandoffRecord] = {}
        self._explained: dict[str, Payload] = {}
        self._changed: dict[str, HandoffState] = {}
        self._slots: dict[str, str | None] = {}  # by handoff, the graph of its new slot; None if the slot was freed
        self._held: dict[str, int] = {}  # by graph, where it differs from the loaded number

    def offer(self, handoff: HandoffRecord) -> None:
        """Add a handoff that a turn offers."""
        self._offered[handoff.id] = handoff

    def direct(self, handoff: HandoffRecord) -> None:
        """Set the chosen target of a handoff. Its change from CHOOSING to PENDING was applied before."""
        self._directed[handoff.id] = handoff

    def change(self, changes: Sequence[ChangeHandoff], time: datetime) -> bool:
        """Apply all changes in order, or none of them. Return whether they were applied.

        A handoff that has ended frees its slot. An accepted handoff that was erased with its source may still end; no
        agent is notified. Raises HandoffStateError if a status cannot follow another.
        """
        after: dict[str, HandoffState] = {}
        erased: list[str] = []
        for change in changes:
            if change.after not in LEGAL[change.before]:
                raise illegal_change(change.before, change.after, change.handoff)
            state = after.get(change.handoff) or self._state(change.handoff, change)
            if state is None and change.before is HandoffStatus.ACCEPTED:
                erased.append(change.handoff)
            elif state is None or state.status is not change.before:
                return False
            else:
                entry = HandoffChange(change.after, time, change.details)
                after[change.handoff] = HandoffState(change.after, (*state.changes, entry), change.result)
        self._changed |= after
        self._explained |= {change.handoff: change.choice for change in changes if change.choice is not None}
        closed = [handoff_id for handoff_id, state in after.items() if state.status in FINAL]
        for handoff_id in (*erased, *closed):
            self._free(handoff_id)
        return True

    def reserve(self, unit: ReserveSlot) -> Verdict:
        """Assign a slot to a handoff that has not ended, unless it already has one."""
        if self._slot(unit.handoff) is not None:
            return Verdict.COMMITTED
        state = self._state(unit.handoff)
        held = self._slots_held(unit.graph)
        if state is None or not is_open(state.status) or held >= unit.most:
            return Verdict.STALE
        self._held[unit.graph] = held + 1
        self._slots[unit.handoff] = unit.graph
        return Verdict.COMMITTED

    def operations(self) -> Iterator[Operation]:
        """Yield the operations that update the stored handoffs. They free slots before they take any."""
        yield from map(InsertHandoff, self._offered.values())
        yield from map(DirectHandoff, self._directed.values())
        yield from starmap(ExplainHandoff, self._explained.items())
        yield from starmap(UpdateHandoff, self._changed.items())
        for handoff_id, graph in self._slots.items():
            if graph is None:
                yield FreeSlot(handoff_id)
        for handoff_id, graph in self._slots.items():
            if graph is not None:
                yield TakeSlot(handoff_id, graph)

    def _state(self, handoff_id: str, change: ChangeHandoff | None = None) -> HandoffState | None:
        if handoff_id in self._changed:
            return self._changed[handoff_id]
        if handoff_id in self._offered:
            return state_of(self._offered[handoff_id])
        return self._loaded.handoff(handoff_id, None if change is None else change.before)

    def _slot(self, handoff_id: str) -> str | None:
        return self._slots[handoff_id] if handoff_id in self._slots else self._loaded.slot(handoff_id)

    def _slots_held(self, graph: str) -> int:
        return self._held[graph] if graph in self._held else self._loaded.slots_held(graph)

    def _free(self, handoff_id: str) -> None:
        graph = self._slot(handoff_id)
        self._slots[handoff_id] = None
        if graph is not None:
            self._held[graph] = self._slots_held(graph) - 1


def state_of(record: HandoffRecord) -> HandoffState:
    """Return the mutable part of a handoff."""
    return HandoffState(record.status, record.changes, record.result)


def with_state(record: HandoffRecord, state: HandoffState) -> HandoffRecord:
    """Return the handoff with this state."""
    return replaced(record, status=state.status, changes=state.changes, result=state.result)


def directed(record: HandoffRecord, chosen: HandoffRecord) -> HandoffRecord:
    """Return a handoff with its chosen target. chosen: the handoff as offered to that target."""
    return replaced(
        record,
        target=chosen.target,
        target_graph=chosen.target_graph,
        entry_point=chosen.entry_point,
        is_new=chosen.is_new,
        reason=chosen.reason,
        packet=chosen.packet,
        choice=chosen.choice,
    )
