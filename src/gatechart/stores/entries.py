"""The history entry of a turn."""

from __future__ import annotations

from gatechart.context import difference
from gatechart.values.commits import TurnRecord
from gatechart.values.queries import HistoryEntry


def entry_of(turn: TurnRecord) -> HistoryEntry:
    """Build the history entry of a committed turn."""
    before, after = turn.previous, turn.snapshot
    delta = difference(before.context_text if before else None, after.context_text)
    return HistoryEntry(
        agent_id=after.agent_id,
        version=after.version,
        event=turn.event,
        source=before.configuration if before else (),
        target=after.configuration,
        taken=turn.taken,
        changed=delta.changed,
        status=after.status,
        took_us=turn.took_us,
        guard_errors=turn.guard_errors,
        appended=delta.appended,
        fired=turn.fired,
    )
