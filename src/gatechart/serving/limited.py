"""Tokens for one role: their calls, and the parts of answers and errors that they may see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from gatechart.api import Command
from gatechart.api.alarms import AlarmCommand
from gatechart.api.directory import DeregisterEntryCommand, RegisterEntryCommand
from gatechart.errors import EventIdReusedError, GatechartError, UnknownFieldError, UnknownGraphError
from gatechart.serving.access import Caller, CallerRole
from gatechart.serving.answers import NotServed, status_of
from gatechart.values import DirectoryEntry, Mark, RaisedAlarm
from gatechart.values.frozen import replaced

ALLOWED: Final[Mapping[CallerRole, Sequence[type[Command]]]] = {
    CallerRole.REGISTRANT: (RegisterEntryCommand, DeregisterEntryCommand),
    CallerRole.ALARMIST: (AlarmCommand,),
}
"""The calls of each role."""


def made_by(caller: Caller, call: Command) -> Command:
    """Return the call in the name of the caller: a registrant changes only its own entries."""
    if isinstance(call, RegisterEntryCommand | DeregisterEntryCommand):
        return call.model_copy(update={"registrant": caller.name})
    return call


def answer_for(call: Command, answer: Any) -> Any:
    """Return an answer reduced to facts that the caller sent or needs.

    A registrant learns nothing of the users and agents whose work its entry had; a monitor, no ids of agents that it
    did not name.
    """
    if isinstance(call, AlarmCommand) and isinstance(answer, RaisedAlarm):
        return replaced(answer, recipients=tuple(name for name in answer.recipients if name in call.to))
    return _own_entry(answer) if isinstance(answer, DirectoryEntry) else answer


def error_for(call: Command, error: GatechartError) -> Exception:
    """Return an error that only repeats facts from the request."""
    match error:
        case UnknownGraphError():
            return _refusal(error, f"no graph is named {error.graph!r}")
        case UnknownFieldError():
            return _refusal(error, f"agents of {error.graph!r} cannot be found by {error.field!r}")
        case EventIdReusedError() if isinstance(call, AlarmCommand):
            problem = f"the alarm id {call.alarm_id!r} belongs to another alarm; give each alarm an id of its own"
            return _refusal(error, problem)
    return error


def _refusal(error: GatechartError, message: str) -> NotServed:
    return NotServed(status_of(error, "POST"), type(error).__name__, message)


def _own_entry(entry: DirectoryEntry) -> DirectoryEntry:
    candidate = replaced(entry.candidate, users=(), mark_reason="", open_breakers=())
    unavailable = entry.unavailable
    if entry.mark in (Mark.CLOSED, Mark.EXCLUDED):
        unavailable = entry.mark.value
    elif entry.candidate.open_breakers and unavailable:
        unavailable = "open circuit breakers"
    return replaced(
        entry,
        candidate=candidate,
        unavailable=unavailable,
        mark_reason="",
        outcomes=(),
        former_registrant=None,
        changed_hands=None,
    )
