"""Mail that reports events of an agent's invokes to its trail. The chart does not see it."""

from __future__ import annotations

from typing import Any, Final

from gatechart.values import (
    LONGEST_TOLD,
    TRAIL,
    Called,
    Event,
    EventName,
    Invocation,
    Noted,
    Payload,
    Reasoned,
    Snapshot,
    TrailEntry,
    Waited,
)
from gatechart.values.texts import shortened

CALL: Final[EventName] = f"{TRAIL}call"
BEGAN: Final[EventName] = f"{TRAIL}began"
"""Event of a call that is about to be made, so that a rollback past the call takes it into account."""
NOTE: Final[EventName] = f"{TRAIL}note"
STEP: Final[EventName] = f"{TRAIL}step"
WAIT: Final[EventName] = f"{TRAIL}wait"
DUE: Final[EventName] = f"{TRAIL}due"
"""Event of the timer that evaluates detectors when nothing else happens; also its key."""

EVENTS: Final = frozenset((CALL, BEGAN, NOTE, STEP, WAIT, DUE))
FIELDS: Final = ("tool", "measure", "action")
"""Each payload with a trail entry has one of these fields."""


def payload_of(entry: Called | Noted | Reasoned | Waited) -> tuple[EventName, dict[str, Any]]:
    """Return the name and the payload, as JSON values, of the event that reports an entry."""
    match entry:
        case Called(tool, arguments, ok, outcome, error, attempts, task, time_ms, until_ms):
            told = {"tool": tool, "arguments": arguments, "ok": ok, "outcome": outcome, "error": error}
            until = {"until_ms": until_ms} if until_ms else {}
            return CALL, {**told, "attempts": attempts, "task": task, "time_ms": time_ms, **until}
        case Waited(tool, until_ms):
            return WAIT, {"tool": tool, "until_ms": until_ms}
        case Noted(measure, number):
            return NOTE, {"measure": measure, "number": number}
        case Reasoned(action, outcome, worker):
            return STEP, {"action": action, "outcome": outcome, "worker": worker}


def payload_during(
    entry: Called | Noted | Reasoned | Waited, invocation: Invocation
) -> tuple[EventName, dict[str, Any]]:
    """Return the result of `payload_of`, with the invoke's state and the epoch of its entry in the payload."""
    event, payload = payload_of(entry)
    return event, {**payload, "state": invocation.state, "epoch": invocation.epoch}


def is_late(event: Event, snapshot: Snapshot) -> bool:
    """Return whether an event is from an invoke of a state that the agent has since left."""
    told = event.payload
    return "epoch" in told and (told["state"], told["epoch"]) not in snapshot.entered


def entries_told(event: Event) -> tuple[TrailEntry, ...]:
    """Return the trail entries in an event; empty if the event is not for the trail."""
    told = event.payload
    match event.name:
        case "trail.call":
            return (_called(told),)
        case "trail.wait":
            return (Waited(told["tool"], told["until_ms"]),)
        case "trail.note":
            return (Noted(told["measure"], told["number"]),)
        case "trail.step":
            action, outcome = (shortened(str(told[name]), LONGEST_TOLD) for name in ("action", "outcome"))
            return (Reasoned(action, outcome, told.get("worker", "")),)
        case _:
            return ()


def _called(told: Payload) -> Called:
    return Called(
        tool=told["tool"],
        arguments=told["arguments"],
        ok=told["ok"],
        outcome=told.get("outcome", ""),
        error=told.get("error", ""),
        attempts=told.get("attempts", 1),
        task=told.get("task", ""),
        time_ms=told.get("time_ms", 0),
        until_ms=told.get("until_ms", 0),
    )
