"""What an agent's trail and its signals tell, in words and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

from gatechart.cli.output import Document, moment_text, print_hint, print_table
from gatechart.drawing.text import visible
from gatechart.values import (
    Called,
    Evidence,
    FiredSignal,
    Moved,
    Noted,
    Payload,
    Progressed,
    Reaction,
    Reasoned,
    Said,
    TrailEntry,
)

_REACTIONS: Final = {
    Reaction.TAKEN: "",
    Reaction.UNTAKEN: "; nothing took it",
    Reaction.UNDONE: "; the answer to it was undone",
}
_MOST_SHOWN: Final = 6  # elements of a list in evidence


def fired_lines(fired: FiredSignal) -> Iterator[str]:
    """Yield what a turn noticed about its agent, a line for each signal and for each thing that was found."""
    problem = f": {fired.problem}" if fired.problem else ""
    yield f"signal {fired.signal} ({fired.reason.value}){_REACTIONS[fired.reaction]}{problem}"
    yield from (f"  {evidence_text(each)}" for each in fired.evidence)
    for other in fired.others:
        yield f"and {_other(other)}"


def evidence_text(evidence: Evidence) -> str:
    """Return what a detector found, in one line.

    >>> evidence_text({"detector": "ToolFailures", "failures": 2, "threshold": 2, "tool": "search"})
    'ToolFailures: failures 2, threshold 2, tool search'
    """
    told = ", ".join(f"{name} {_plain(value)}" for name, value in evidence.items() if name != "detector")
    return visible(f"{evidence.get('detector', 'found')}: {told}")


def trail_document(agent_id: str, entries: Sequence[TrailEntry]) -> Document:
    """Describe a trail, oldest entry first, each with its kind."""
    return {"agent_id": agent_id, "trail": [{"kind": type(each).__name__.lower(), **asdict(each)} for each in entries]}


def print_trail(entries: Sequence[TrailEntry]) -> None:
    """Print a trail, an entry each."""
    if not entries:
        print_hint("no trail is kept: the graph has no signals, or nothing has happened since it was begun")
        return
    print_table(("KIND", "WHAT"), ((type(each).__name__.lower(), entry_text(each)) for each in entries))


def entry_text(entry: TrailEntry) -> str:
    """Return an entry of a trail in words.

    >>> entry_text(Moved(("CHECKING",), "ORDER_PLACED"))
    'to CHECKING by ORDER_PLACED'
    """
    match entry:
        case Moved(states, event):
            return visible(f"to {', '.join(states)} by {event}")
        case Called():
            return visible(_call_text(entry))
        case Said(text):
            return visible(text)
        case Reasoned(action, outcome, worker):
            return visible(f"{f'{worker}: ' if worker else ''}{action} → {outcome}")
        case Noted(measure, number):
            return visible(f"{measure} is {number:g}")
        case Progressed(by):
            return visible(f"by {by}" if by else "work went forward")


def _call_text(call: Called) -> str:
    told = f"{call.tool}({call.arguments})"
    came = "answered" if call.ok else f"failed with {call.error or 'an error'}"
    attempts = f" after {call.attempts} attempts" if call.attempts > 1 else ""
    when = f" at {moment_text(datetime.fromtimestamp(call.time_ms / 1000, UTC))}" if call.time_ms else ""
    return f"{told} {came}{attempts}{when}"


def _other(signal: Payload) -> str:
    found = "; ".join(evidence_text(each) for each in signal.get("evidence", ()))
    return f"{signal.get('signal')} ({signal.get('reason')}): {found}"


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(_plain(each) for each in value.values())
    if isinstance(value, list | tuple):
        shown = ", ".join(_plain(each) for each in value[:_MOST_SHOWN])
        return f"[{shown}{f' and {len(value) - _MOST_SHOWN} more' if len(value) > _MOST_SHOWN else ''}]"
    return f"{value:g}" if isinstance(value, float) else str(value)
