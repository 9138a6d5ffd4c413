"""Update the counts of transfers in a turn: choices made, choices refused, and their results. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from gatechart.graph import AnyGraph, Edge, TransferRole
from gatechart.kernel import Plan, matches
from gatechart.turn.turn_context import one_line
from gatechart.values import TRANSFER, Event, StateName, TransferCount, TransferCounts, Visit
from gatechart.values.frozen import replaced

MOST_VISITS: Final = 8
"""Maximum number of choices that are kept for a state, each with its result."""

LONGEST_SAID: Final = 1_000  # characters of an event in a line

_TELLING: Final = ("result", "message", "details", "arguments")  # the main fields of the framework's payloads


def counted(
    graph: AnyGraph, counts: TransferCounts, plan: Plan, event: Event, explanations: Sequence[str] = ()
) -> TransferCounts:
    """Return the counts after a microstep.

    explanations: by the guards that denied a transition; they are the reasons for a refused choice.
    """
    after = {count.state: count for count in counts}
    for state in graph.choosing:
        count = before = after.get(state) or TransferCount(state)
        if plan.taken and _is_reset(graph, state, event):
            count = replaced(count, taken=0)
        for edge in plan.taken:
            if edge.role is not None and edge.source == state:
                count = _chosen(count, edge, event, explanations)
        if state in plan.entries:
            count = _entered(count, event)
        if count is not before:
            after[state] = count
    return tuple(after.values())


def _is_reset(graph: AnyGraph, state: StateName, event: Event) -> bool:
    transfers = graph.nodes[state].transfers
    return transfers is not None and any(matches(pattern, event.name) for pattern in transfers.resets_on)


def _chosen(count: TransferCount, edge: Edge, event: Event, explanations: Sequence[str]) -> TransferCount:
    match edge.role:
        case TransferRole.CHOSEN:
            visits = (*count.visits, Visit(edge.to, event.time))[-MOST_VISITS:]
            return replaced(count, taken=count.taken + 1, visits=visits)
        case TransferRole.REPLACED:
            return replaced(count, taken=count.taken + 1)
        case TransferRole.REFUSED:
            return replaced(count, refused=edge.to, why="; ".join(dict.fromkeys(explanations)))
        case _:
            return count


def _entered(count: TransferCount, event: Event) -> TransferCount:
    told = told_by(event)
    visits = count.visits
    if visits and not visits[-1].said:
        visits = (*visits[:-1], replaced(visits[-1], said=told))
    return replaced(count, entered_by=told, refused="", why="", visits=visits)


def reentered(counts: TransferCounts) -> TransferCounts:
    """Return the counts of an agent whose states are re-entered without an event, as by a rollback."""
    return tuple(replaced(count, refused="", why="") for count in counts)


def told_by(event: Event) -> str:
    """Describe an event in a line: its name, and the main field of its payload."""
    payload = event.payload
    about: Any = next((payload[name] for name in _TELLING if payload.get(name)), None)
    if about is None and not event.name.startswith(TRANSFER):
        about = dict(payload)
    text = about if isinstance(about, str) else json.dumps(about, ensure_ascii=False) if about else ""
    line = one_line(f"{event.name}: {text}" if text else event.name)
    return line if len(line) <= LONGEST_SAID else f"{line[: LONGEST_SAID - 1]}…"
