"""Mail that reports calls, notes and steps of an agent's invokes to its trail. The chart does not see it."""

from __future__ import annotations

from typing import Any, Final

from gatechart.values.agents import Event, Snapshot
from gatechart.values.mail import Invocation
from gatechart.values.names import TRAIL, EventName, Payload
from gatechart.values.texts import shortened
from gatechart.values.trail import LONGEST_TOLD, Called, Noted, Reasoned, TrailEntry, Waited

CALL: Final[EventName] = f"{TRAIL}call"
BEGAN: Final[EventName] = f"{TRAIL}began"
"""Event of a call that is about to be made, so that a return of the agent takes it into account."""
NOTE: Final[EventName] = f"{TRAIL}note"
STEP: Final[EventName] = f"{TRAIL}step"
WAIT: Final[EventName] = f"{TRAIL}wait"
DUE: Final[EventName] = f"{TRAIL}due"
"""Event of the timer that evaluates detectors again without another event; also the timer's key."""

EVENTS: Final = frozenset((CALL, BEGAN, NOTE, STEP, WAIT, DUE))
FIELDS: Final = ("tool", "measure", "action")
"""Fields of trail mail; each payload that describes an entry has exactly one of them."""


def payload_of(entry: Called | Noted | Reasoned | Waited) -> tuple[EventName, dict[str, Any]]:
    """Return the name and the payload, as JSON values, of the event that reports an entry."""
    match entry:
        case Called(tool, arguments, ok, outcome, error, attempts, task, time_ms, until_ms):
            call_fields = {"tool": tool, "arguments": arguments, "ok": ok, "outcome": outcome, "error": error}
            until = {"until_ms": until_ms} if until_ms else {}
            return CALL, {**call_fields, "attempts": attempts, "task": task, "time_ms": time_ms, **until}
        case Waited(tool, until_ms):
            return WAIT, {"tool": tool, "until_ms": until_ms}
        case Noted(measure, number):
            return NOTE, {"measure": measure, "number": number}
        case Reasoned(action, outcome, worker):
            return STEP, {"action": action, "outcome": outcome, "worker": worker}


def payload_during(
    entry: Called | Noted | Reasoned | Waited, invocation: Invocation
) -> tuple[EventName, dict[str, Any]]:
    """Return `payload_of` with the state of the invoke and the version of its entry added."""
    event, payload = payload_of(entry)
    return event, {**payload, "state": invocation.state, "epoch": invocation.epoch}


def is_late(event: Event, snapshot: Snapshot) -> bool:
    """Return whether the invoke that sent the event belongs to a state that the agent has left since."""
    payload = event.payload
    return "epoch" in payload and (payload["state"], payload["epoch"]) not in snapshot.entered


def entries_from(event: Event) -> tuple[TrailEntry, ...]:
    """Return the trail entries that an event reports; none if it is not trail mail."""
    payload = event.payload
    match event.name:
        case "trail.call":
            return (_called(payload),)
        case "trail.wait":
            return (Waited(payload["tool"], payload["until_ms"]),)
        case "trail.note":
            return (Noted(payload["measure"], payload["number"]),)
        case "trail.step":
            action, outcome = (shortened(str(payload[name]), LONGEST_TOLD) for name in ("action", "outcome"))
            return (Reasoned(action, outcome, payload.get("worker", "")),)
        case _:
            return ()


def _called(payload: Payload) -> Called:
    return Called(
        tool=payload["tool"],
        arguments=payload["arguments"],
        ok=payload["ok"],
        outcome=payload.get("outcome", ""),
        error=payload.get("error", ""),
        attempts=payload.get("attempts", 1),
        task=payload.get("task", ""),
        time_ms=payload.get("time_ms", 0),
        until_ms=payload.get("until_ms", 0),
    )
