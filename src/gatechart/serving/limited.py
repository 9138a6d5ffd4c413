"""Limits of tokens with a role: the calls that they allow, and the parts of answers and errors that they show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from gatechart.api.alarms import AlarmCommand
from gatechart.api.command import Command
from gatechart.api.directory import DeregisterEntryCommand, RegisterEntryCommand
from gatechart.errors.event import EventIdReusedError, UnknownFieldError, UnknownGraphError
from gatechart.errors.root import GatechartError
from gatechart.serving.access import Caller, CallerRole
from gatechart.serving.answers import NotServed, status_of
from gatechart.values.alarms import RaisedAlarm
from gatechart.values.directory import DirectoryEntry, Mark
from gatechart.values.frozen import replaced

ALLOWED: Final[Mapping[CallerRole, Sequence[type[Command]]]] = {
    CallerRole.REGISTRANT: (RegisterEntryCommand, DeregisterEntryCommand),
    CallerRole.ALARMIST: (AlarmCommand,),
}
"""The allowed calls of each role."""


def made_by(caller: Caller, call: Command) -> Command:
    """Return the call on behalf of the caller. A registrant can only change its own entries."""
    if isinstance(call, RegisterEntryCommand | DeregisterEntryCommand):
        return call.model_copy(update={"registrant": caller.name})
    return call


def answer_for(call: Command, answer: Any) -> Any:
    """Return an answer without the facts that the caller may not see.

    A registrant does not see which users and agents its entry worked for. A monitor does not see ids of agents that it
    did not send.
    """
    if isinstance(call, AlarmCommand) and isinstance(answer, RaisedAlarm):
        return replaced(answer, recipients=tuple(name for name in answer.recipients if name in call.to))
    return _own_entry(answer) if isinstance(answer, DirectoryEntry) else answer


def error_for(call: Command, error: GatechartError) -> Exception:
    """Return the error without facts that are not in the request."""
    match error:
        case UnknownGraphError():
            return _refusal(error, f"no graph is named {error.graph!r}")
        case UnknownFieldError():
            return _refusal(error, f"agents of {error.graph!r} cannot be found by {error.field!r}")
        case EventIdReusedError() if isinstance(call, AlarmCommand):
            problem = f"the alarm id {call.alarm_id!r} belongs to another alarm; use another id"
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
