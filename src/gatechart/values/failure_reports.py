"""What is kept of an agent's failure, from the turn in which it failed and from its trail."""

from __future__ import annotations

from datetime import datetime

from gatechart.values.agents import Snapshot, why_given_up
from gatechart.values.frozen import value
from gatechart.values.names import AgentId, EventName, StateName
from gatechart.values.queries import HistoryEntry
from gatechart.values.trail import Called, entries_in


@value
class FailureReport:
    """What made an agent fail, and where it was before that. Empty texts and zeros: that is not known."""

    agent_id: AgentId
    version: int  # of the turn in which it failed; `retry_agent` goes back to the one before
    at: datetime
    event: EventName  # that led to the failure
    source: tuple[StateName, ...]  # where the agent was
    state: tuple[StateName, ...]  # where it failed
    type: str = ""  # of the exception
    message: str = ""
    traceback: str = ""
    code: str = ""  # of the failed tool call, or as the event has it
    attempts: int = 0
    tool: str = ""  # the last call that failed before, if the agent has a trail
    arguments: str = ""  # digest of its arguments
    reason: str = ""  # value of a Reason, such as "loop detected": from what it found no way out


def failure_report(entry: HistoryEntry, failed: Snapshot) -> FailureReport:
    """Return what is kept of a failure. entry: the turn in which the agent failed. failed: the agent after it."""
    told = entry.event.payload
    calls = [each for each in entries_in(failed.trail.text) if isinstance(each, Called) and not each.ok]
    call = calls[-1] if calls else None
    attempts = told.get("attempts")
    return FailureReport(
        agent_id=entry.agent_id,
        version=entry.version,
        at=entry.event.time,
        event=entry.event.name,
        source=entry.source,
        state=entry.target,
        type=str(told.get("type", "")),
        message=str(told.get("message", told.get("reason", ""))),
        traceback=str(told.get("traceback", "")),
        code=str(told.get("code", "") or ("" if call is None else call.error)),
        attempts=attempts if isinstance(attempts, int) else 0,
        tool=str(told.get("tool", "") or ("" if call is None else call.tool)),
        arguments="" if call is None else call.arguments,
        reason=why_given_up(failed),
    )
