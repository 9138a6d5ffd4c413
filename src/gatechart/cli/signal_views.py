"""An agent's trail and signals as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

from gatechart.cli.output import Cell, Document, in_zone, moment_text, print_hint, print_line, print_table
from gatechart.drawing.text import visible
from gatechart.values.agents import Event
from gatechart.values.detectors import Evidence
from gatechart.values.escapes import ESCAPE_DUE, NO_ESCAPES, Escapes, Tried
from gatechart.values.fired_signals import FiredSignal, Reaction
from gatechart.values.names import Payload
from gatechart.values.trail import REFUSED, Called, Moved, Noted, Progressed, Reasoned, Said, TrailEntry, Waited

_REACTIONS: Final = {
    Reaction.TAKEN: "",
    Reaction.ESCAPING: "; the agent tries to escape",
    Reaction.UNTAKEN: "; no transition handled it",
    Reaction.UNDONE: "; its answer was undone",
}
_MOST_SHOWN: Final = 6  # elements of a list in evidence


def fired_lines(fired: FiredSignal) -> Iterator[str]:
    """Yield the signals that a turn fired, one line for each signal and for each piece of evidence."""
    problem = f": {fired.problem}" if fired.problem else ""
    yield f"signal {fired.signal} ({fired.reason.value}){_REACTIONS[fired.reaction]}{problem}"
    yield from (f"  {evidence_text(each)}" for each in fired.evidence)
    for other in fired.others:
        yield f"and {_other(other)}"


def evidence_text(evidence: Evidence) -> str:
    """Return the evidence of a detector in one line.

    >>> evidence_text({"detector": "ToolFailures", "failures": 2, "threshold": 2, "tool": "search"})
    'ToolFailures: failures 2, threshold 2, tool search'
    """
    text = ", ".join(f"{name} {_plain(value)}" for name, value in evidence.items() if name != "detector")
    return visible(f"{evidence.get('detector', 'found')}: {text}")


def trail_document(agent_id: str, entries: Sequence[TrailEntry], escapes: Escapes = NO_ESCAPES) -> Document:
    """Describe a trail, oldest entry first, with the kind of each entry, and the agent's escapes."""
    trail = [{"kind": type(each).__name__.lower(), **asdict(each)} for each in entries]
    return {"agent_id": agent_id, "trail": trail, "escapes": escapes_document(escapes)}


def escapes_document(escapes: Escapes) -> Document | None:
    """Describe an agent's attempts to escape and its open findings; None if it never had to escape."""
    if not escapes.findings:
        return None
    return {
        "attempts": escapes.count,
        "attempts_on": {escapes.day: escapes.today} if escapes.day else {},
        "tried": [asdict(attempt) for attempt in escapes.tried],
        "open": [asdict(finding) for finding in escapes.open],
        "switched": dict(escapes.switched),
        "awaited": [asdict(call) for call in escapes.awaited],
    }


def print_escapes(escapes: Escapes) -> None:
    """Print an agent's attempts to escape from what its signals found, if any."""
    if escapes.tried:
        print_line()
        columns = ("ATTEMPT", in_zone("TIME"), "SIGNAL", "STRATEGY", "OUTCOME", "HOW")
        print_table(columns, map(_tried_row, escapes.tried), whole=columns[:2])
    for finding in escapes.open:
        names = ", ".join(finding.tried)
        what = "an escape is due" if finding.is_due else f"tried or passed over: {names}"
        print_hint(f"the agent still has to escape from {finding.signal}; {what}")
    for tool, other in escapes.switched:
        print_hint(f"{other} is called in place of {tool}")
    for call in escapes.awaited:
        print_hint(f"calls of {call.tool} wait for its circuit breaker, until {moment_text(call.until)} at the latest")


def _tried_row(tried: Tried) -> Sequence[Cell]:
    return str(tried.number), moment_text(tried.time), tried.signal, tried.strategy, tried.came_to.value, tried.way


def attempt_lines(event: Event) -> Iterator[str]:
    """Yield the action of an escape attempt, and why other strategies were passed over."""
    text = event.payload
    if event.name == ESCAPE_DUE or "finding" not in text or "way" not in text:
        return
    yield f"escape from {text.get('signal')} (finding {text['finding']}): {visible(str(text['way']))}"
    for each in text.get("passed", ()):
        yield f"  {each.get('strategy')} was passed over: {visible(str(each.get('why')))}"


def print_trail(entries: Sequence[TrailEntry]) -> None:
    """Print a trail, one entry per row."""
    if not entries:
        print_hint("the trail is empty: the graph has no signals, or nothing has happened since the trail started")
        return
    print_table(("KIND", "WHAT"), ((type(entry).__name__.lower(), entry_text(entry)) for entry in entries))


def entry_text(entry: TrailEntry) -> str:
    """Return a trail entry as text.

    >>> entry_text(Moved(("CHECKING",), "ORDER_PLACED"))
    'to CHECKING by ORDER_PLACED'
    """
    match entry:
        case Moved(states, event):
            return visible(f"to {', '.join(states)} by {event}")
        case Called():
            return visible(_call_text(entry))
        case Waited(tool, until_ms):
            return visible(f"{tool} waits for its circuit breaker, until {_moment(until_ms)} at the latest")
        case Said(text):
            return visible(text)
        case Reasoned(action, outcome, worker):
            return visible(f"{f'{worker}: ' if worker else ''}{action} → {outcome}")
        case Noted(measure, number):
            return visible(f"{measure} is {number:g}")
        case Progressed(by):
            return visible(f"by {by}" if by else "work went forward")


def _call_text(call: Called) -> str:
    text = f"{call.tool}({call.arguments})"
    outcome = "answered" if call.ok else f"failed with {call.error or 'an error'}"
    if call.error == REFUSED:
        until = f" until {_moment(call.until_ms)}" if call.until_ms else ""
        outcome = f"was refused by a circuit breaker{until}"
    has_several = call.attempts > 1 or (call.error == REFUSED and call.attempts)
    attempts = f" after {call.attempts} attempt{'s' * (call.attempts > 1)}" if has_several else ""
    at = f" at {_moment(call.time_ms)}" if call.time_ms else ""
    return f"{text} {outcome}{attempts}{at}"


def _moment(ms: int) -> str:
    return moment_text(datetime.fromtimestamp(ms / 1000, UTC))


def _other(signal: Payload) -> str:
    evidence = "; ".join(evidence_text(each) for each in signal.get("evidence", ()))
    return f"{signal.get('signal')} ({signal.get('reason')}): {evidence}"


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(_plain(each) for each in value.values())
    if isinstance(value, list | tuple):
        shown = ", ".join(_plain(each) for each in value[:_MOST_SHOWN])
        return f"[{shown}{f' and {len(value) - _MOST_SHOWN} more' if len(value) > _MOST_SHOWN else ''}]"
    return f"{value:g}" if isinstance(value, float) else str(value)
