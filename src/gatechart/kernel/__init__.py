"""What happens next, as pure functions: selection and routing after W3C SCXML, Appendix D."""

from gatechart.kernel.legal import misfit, path_of
from gatechart.kernel.plan import Block, Done, Plan, plan_entry, plan_microstep, plan_start
from gatechart.kernel.select import (
    Candidates,
    Configuration,
    accepted_events,
    awaited_events,
    candidates,
    defers,
    enabled,
    matches,
    passes_over,
    sendable,
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
    "defers",
    "enabled",
    "matches",
    "misfit",
    "passes_over",
    "path_of",
    "plan_entry",
    "plan_microstep",
    "plan_start",
    "sendable",
    "without_unasked",
]
