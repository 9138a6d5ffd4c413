"""What calls return: values that the framework makes and users read."""

from gatechart.values import (
    Fate,
    Forgotten,
    HandoffChange,
    HandoffRecord,
    HistoryEntry,
    Mail,
    Migrated,
    Origin,
    Outcome,
    Page,
    Receipt,
    Refusal,
    RefusalReason,
    Snapshot,
    Stored,
)

__all__ = [
    "Fate",
    "Forgotten",
    "HandoffChange",
    "HandoffRecord",
    "HistoryEntry",
    "Mail",
    "Migrated",
    "Origin",
    "Outcome",
    "Page",
    "Receipt",
    "Refusal",
    "RefusalReason",
    "Snapshot",
    "Stored",
]
