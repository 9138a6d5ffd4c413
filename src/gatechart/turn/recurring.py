"""Recurring timers: the turn that handles one sets the next one in the same commit."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from gatechart.graph.compile import Node
from gatechart.graph.graph import AnyGraph
from gatechart.turn.macrostep import Macrostep
from gatechart.values.agents import Event
from gatechart.values.effects import Timer
from gatechart.values.names import EventName, StateName
from gatechart.values.recurrence import Every

DUE = "due"
"""Key in the payload of a recurring timer: its due time, from which the next one is computed."""


def first_timers(node: Node, now: datetime) -> list[Timer]:
    """Return the recurring timers that start when a state is entered."""
    occurrences = ((event, every.next_after(now)) for event, every in node.recurring)
    return [_timer(event, due, node.name) for event, due in occurrences if due is not None]


def recurrence_of(graph: AnyGraph, active: Iterable[StateName], event: Event) -> tuple[StateName, Every] | None:
    """Return the active state with a recurring timer for this event, and the recurrence; None if there is none.

    active: the active leaves.
    """
    states = (state for leaf in active for state in (leaf, *graph.nodes[leaf].ancestors))
    matches = ((state, every) for state in states for name, every in graph.nodes[state].recurring if name == event.name)
    return next(matches, None)


def is_skipped(every: Every, event: Event) -> bool:
    """Return whether the timer was missed, and its recurrence skips missed runs."""
    return every.is_skipped(_due_of(event), event.time)


def set_next(macrostep: Macrostep, state: StateName, every: Every) -> None:
    """Set the next timer, unless the turn left the state; entering it again starts a new series."""
    event = macrostep.turn.event
    if not macrostep.is_final and state not in macrostep.left:
        due = every.following(_due_of(event), event.time)
        if due is not None:
            macrostep.log.asked.append(_timer(event.name, due, state))


def _timer(event: EventName, due: datetime, state: StateName) -> Timer:
    return Timer(event, due, {DUE: due.isoformat()}, state)


def _due_of(event: Event) -> datetime:
    due = event.payload.get(DUE)
    return (
        event.time if due is None else datetime.fromisoformat(due)
    )  # a rehearsal may send the event without a due time
