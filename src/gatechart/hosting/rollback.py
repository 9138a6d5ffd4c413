"""Check that a rollback does not take back work that another agent holds."""

from __future__ import annotations

from collections.abc import Sequence

from gatechart.errors.event import OpenHandoffError
from gatechart.handoff.lifecycle import is_open
from gatechart.ports import Store
from gatechart.turn.handoff_offers import ACCEPTED
from gatechart.values.agents import Snapshot
from gatechart.values.handoffs import HandoffQuery, HandoffRecord, HandoffStatus, Mode
from gatechart.values.names import HIGHEST_NUMBER, AgentId


async def check_given_away(store: Store, before: Snapshot, target: Snapshot) -> None:
    """Raise OpenHandoffError if the rollback would return work to the agent that another agent holds or is offered."""
    known = {handoff.id for handoff in before.handoffs}
    rows = [row for row in await _transfers(store, before.agent_id) if row.id not in known]
    active = [row for row in rows if await _is_at_work(store, row)]
    if not active:
        return
    history = await store.history(before.agent_id)
    known |= {
        entry.event.payload.get("handoff", "")
        for entry in history
        if entry.event.name == ACCEPTED and entry.version <= target.version
    }
    oldest = history[0].event.time  # the agent already knew of the handoffs before this time
    undone = tuple(row.id for row in active if row.id not in known and row.changes[0].time >= oldest)
    if undone:
        raise OpenHandoffError(before.agent_id, target.version, undone)


async def _transfers(store: Store, source: AgentId, after: int = 0) -> Sequence[HandoffRecord]:
    rows = await store.handoffs(HandoffQuery(source=source, after=after, limit=HIGHEST_NUMBER))
    return [row for row in rows if row.mode is Mode.TRANSFER]


async def _is_at_work(store: Store, row: HandoffRecord) -> bool:
    """Return whether the receiver of the work still has it, or a later receiver that it was passed on to."""
    if row.status is not HandoffStatus.COMPLETED:
        return is_open(row.status)
    return any([await _is_at_work(store, later) for later in await _transfers(store, row.target, row.number)])
