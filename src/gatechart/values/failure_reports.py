"""Reports of agents' failures, built from the failing turn and the trail."""

from __future__ import annotations

from datetime import datetime

from gatechart.values.agents import Snapshot, why_given_up
from gatechart.values.frozen import value
from gatechart.values.names import AgentId, EventName, StateName
from gatechart.values.queries import HistoryEntry
from gatechart.values.trail import Called, entries_in


@value
class FailureReport:
    """The cause of an agent's failure, and its state before. Empty texts and zeros mean unknown."""

    agent_id: AgentId
    version: int  # of the failing turn; `retry_agent` rolls back to the one before
    at: datetime
    event: EventName  # the event that led to the failure
    source: tuple[StateName, ...]  # active leaves before the failure
    state: tuple[StateName, ...]  # active leaves after it
    type: str = ""  # of the exception
    message: str = ""
    traceback: str = ""
    code: str = ""  # from the event, or of the failed tool call
    attempts: int = 0
    tool: str = ""  # of the last failed call before, if the agent has a trail
    arguments: str = ""  # digest of its arguments
    reason: str = ""  # value of a Reason, such as "loop detected": the condition that it could not escape


def failure_report(entry: HistoryEntry, failed: Snapshot) -> FailureReport:
    """Build the report of a failure. entry: the failing turn. failed: the agent after it."""
    payload = entry.event.payload
    calls = [call for call in entries_in(failed.trail.text) if isinstance(call, Called) and not call.ok]
    last_call = calls[-1] if calls else None
    attempts = payload.get("attempts")
    return FailureReport(
        agent_id=entry.agent_id,
        version=entry.version,
        at=entry.event.time,
        event=entry.event.name,
        source=entry.source,
        state=entry.target,
        type=str(payload.get("type", "")),
        message=str(payload.get("message", payload.get("reason", ""))),
        traceback=str(payload.get("traceback", "")),
        code=str(payload.get("code", "") or ("" if last_call is None else last_call.error)),
        attempts=attempts if isinstance(attempts, int) else 0,
        tool=str(payload.get("tool", "") or ("" if last_call is None else last_call.tool)),
        arguments="" if last_call is None else last_call.arguments,
        reason=why_given_up(failed),
    )
