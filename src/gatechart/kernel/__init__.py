"""Pure functions that select transitions and plan microsteps, after W3C SCXML, Appendix D."""

from gatechart.kernel.legal import misfit, path_of
from gatechart.kernel.plan import Block, Done, Plan, plan_entry, plan_microstep, plan_start
from gatechart.kernel.select import (
    Candidates,
    Configuration,
    accepted_events,
    awaited_events,
    candidates,
    deferred_events,
    defers,
    enabled,
    matches,
    may_defer,
    passes_over,
    sendable,
    without_hidden,
    without_unasked,
)

__all__ = [
    "Block",
    "Candidates",
    "Configuration",
    "Done",
    "Plan",
    "accepted_events",
    "awaited_events",
    "candidates",
    "deferred_events",
    "defers",
    "enabled",
    "matches",
    "may_defer",
    "misfit",
    "passes_over",
    "path_of",
    "plan_entry",
    "plan_microstep",
    "plan_start",
    "sendable",
    "without_hidden",
    "without_unasked",
]
