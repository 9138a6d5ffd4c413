"""The history entry that a turn leaves behind."""

from __future__ import annotations

from gatechart.context import difference
from gatechart.values.commits import TurnRecord
from gatechart.values.queries import HistoryEntry


def entry_of(turn: TurnRecord) -> HistoryEntry:
    """Return the history entry that a store keeps of a committed turn."""
    before, after = turn.previous, turn.snapshot
    told = difference(before.context_text if before else None, after.context_text)
    return HistoryEntry(
        agent_id=after.agent_id,
        version=after.version,
        event=turn.event,
        source=before.configuration if before else (),
        target=after.configuration,
        taken=turn.taken,
        changed=told.changed,
        status=after.status,
        took_us=turn.took_us,
        guard_errors=turn.guard_errors,
        appended=told.appended,
        fired=turn.fired,
    )
