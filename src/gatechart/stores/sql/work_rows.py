"""Counts of the open work in a database: a full count, and the changes of a commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, func, literal_column, select

from gatechart.stores.held_work import HeldWork, Work, WorkChange, is_work, work_of
from gatechart.stores.operations import DirectHandoff, FreeSlot, InsertHandoff, Operation, TakeSlot, UpdateHandoff
from gatechart.stores.sql.load import SLOTS, LoadedRows
from gatechart.stores.sql.tables import IS_OPEN, handoffs, places

_ACCEPTED: Final = handoffs.c.status == literal_column("'accepted'")
_WORK: Final = (handoffs.c.target_graph, handoffs.c.entry_point, handoffs.c.recipient)
_TAKEN: Final = select(*_WORK, func.count()).where(_ACCEPTED, IS_OPEN).group_by(*_WORK)
_SLOTS_BY_GRAPH: Final = select(places.c.graph, func.count()).group_by(places.c.graph)


def held_work(connection: Connection) -> HeldWork:
    """Count the open work."""
    slots = {row[0]: row[1] for row in connection.execute(_SLOTS_BY_GRAPH)}
    taken = {(graph, door, to or ""): count for graph, door, to, count in connection.execute(_TAKEN)}
    work = HeldWork()
    work.change(WorkChange(taken, slots))
    return work


def changed_work(connection: Connection, stored: LoadedRows, operations: Sequence[Operation]) -> WorkChange:
    """Return the changes of the open work by operations. Call it before they are written."""
    offered = [change.handoff for change in operations if isinstance(change, InsertHandoff)]
    aimed = [*offered, *(change.handoff for change in operations if isinstance(change, DirectHandoff))]
    works = {**stored.works, **{handoff.id: work_of(handoff) for handoff in aimed}}
    after = {handoff.id: handoff.status for handoff in offered}
    after |= {change.handoff_id: change.state.status for change in operations if isinstance(change, UpdateHandoff)}
    accepted = Counter[Work]()
    for handoff_id, status in after.items():
        was = stored.handoff(handoff_id)
        accepted[works[handoff_id]] += is_work(status) - (was is not None and is_work(was.status))
    slots = Counter(change.graph for change in operations if isinstance(change, TakeSlot))
    freed = [change.handoff_id for change in operations if isinstance(change, FreeSlot)]
    if freed:
        slots.subtract(graph for _, graph in SLOTS.all(connection, freed))
    return WorkChange(accepted, slots)
