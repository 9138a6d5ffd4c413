"""The history entry that a turn leaves behind."""

from __future__ import annotations

from gatechart.context import changed_fields
from gatechart.values import HistoryEntry, TurnRecord


def entry_of(turn: TurnRecord) -> HistoryEntry:
    """What a store remembers of a committed turn."""
    before, after = turn.previous, turn.snapshot
    return HistoryEntry(
        agent_id=after.agent_id,
        version=after.version,
        event=turn.event,
        source=before.configuration if before else (),
        target=after.configuration,
        taken=turn.taken,
        changed=changed_fields(before.context if before else None, after.context),
        status=after.status,
        took_us=turn.took_us,
        guard_errors=turn.guard_errors,
    )
