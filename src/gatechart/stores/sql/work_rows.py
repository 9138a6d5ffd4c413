"""The open work in a database: counted anew, and what a commit changes about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, func, literal_column, select

from gatechart.stores.held_work import HeldWork, Work, WorkChange, is_work, work_of
from gatechart.stores.operations import DirectHandoff, FreeSlot, InsertHandoff, Operation, TakeSlot, UpdateHandoff
from gatechart.stores.sql.load import SLOTS, Stored
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


def changed_work(connection: Connection, stored: Stored, operations: Sequence[Operation]) -> WorkChange:
    """Return what operations change about the open work. Call it before they are written."""
    offered = [each.handoff for each in operations if isinstance(each, InsertHandoff)]
    aimed = [*offered, *(each.handoff for each in operations if isinstance(each, DirectHandoff))]
    works = {**stored.works, **{each.id: work_of(each) for each in aimed}}
    after = {each.id: each.status for each in offered}
    after |= {each.handoff_id: each.state.status for each in operations if isinstance(each, UpdateHandoff)}
    accepted = Counter[Work]()
    for handoff_id, status in after.items():
        was = stored.handoff(handoff_id)
        accepted[works[handoff_id]] += is_work(status) - (was is not None and is_work(was.status))
    slots = Counter(each.graph for each in operations if isinstance(each, TakeSlot))
    freed = [each.handoff_id for each in operations if isinstance(each, FreeSlot)]
    if freed:
        slots.subtract(graph for _, graph in SLOTS.all(connection, freed))
    return WorkChange(accepted, slots)
