"""Names that callers may and may not use."""

RESERVED = (
    "done.state",
    "done.state.WAITING",
    "done.invoke",
    "done.invoke.scan",
    "error.execution",
    "error.execution.late",
    "error.communication",
    "error.platform",
    "error.invoke.scan",
    "error.mail",
    "error.refused",
    "after.5d.WAITING",
    "progress.invoke.scan",
    "handoff",
    "handoff.accepted",
    "handoff.offered.WAITING",
    "handoff.withdrawn",
    "agent.started.WAITING",
    "agent.stopped",
    "agent.rolled_back",
    "agent.forked",
    "agent.migrated",
    "signal.loop",
    "escape.Reroute",
    "alarm.tick",
    "plan.ready",
    "workspace.changed",
    "message.offer",
    "transfer.refunds",
)


FREE = ("done", "error", "error.tool", "agent.hired", "after", "signal", "plan", "transferred", "done.deal")
