"""Update the counts of transfers in a turn: choices made, choices refused, and their results. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from gatechart.graph.compile import Edge
from gatechart.graph.graph import AnyGraph
from gatechart.graph.transfer_edges import TransferRole
from gatechart.kernel.plan import Plan
from gatechart.kernel.select import matches
from gatechart.turn.turn_context import one_line
from gatechart.values.agents import Event
from gatechart.values.frozen import replaced
from gatechart.values.names import StateName
from gatechart.values.transfers import TRANSFER, TransferCount, TransferCounts, Visit

MOST_VISITS: Final = 8
"""Number of a state's choices that are kept, each with its reply."""

LONGEST_SAID: Final = 1_000  # characters of an event in a line

_TELLING: Final = ("result", "message", "details", "arguments")  # main fields of the framework's payloads


def counted(
    graph: AnyGraph, counts: TransferCounts, plan: Plan, event: Event, explanations: Sequence[str] = ()
) -> TransferCounts:
    """Return the counts after a microstep.

    explanations: given by guards that returned false. They are the reasons if a choice is refused.
    """
    after = {count_before.state: count_before for count_before in counts}
    for state in graph.choosing:
        count = before = after.get(state) or TransferCount(state)
        if plan.taken and _is_reset(graph, state, event):
            count = replaced(count, taken=0)
        for edge in plan.taken:
            if edge.role is not None and edge.source == state:
                count = _after_choice(count, edge, event, explanations)
        if state in plan.entries:
            count = _after_entry(count, event)
        if count is not before:
            after[state] = count
    return tuple(after.values())


def _is_reset(graph: AnyGraph, state: StateName, event: Event) -> bool:
    transfers = graph.nodes[state].transfers
    return transfers is not None and any(matches(pattern, event.name) for pattern in transfers.resets_on)


def _after_choice(count: TransferCount, edge: Edge, event: Event, explanations: Sequence[str]) -> TransferCount:
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


def _after_entry(count: TransferCount, event: Event) -> TransferCount:
    summary = told_by(event)
    visits = count.visits
    if visits and not visits[-1].said:
        visits = (*visits[:-1], replaced(visits[-1], said=summary))
    return replaced(count, entered_by=summary, refused="", why="", visits=visits)


def reentered(counts: TransferCounts) -> TransferCounts:
    """Return the counts of an agent whose states are entered again without an event, for example by a rollback."""
    return tuple(replaced(count, refused="", why="") for count in counts)


def told_by(event: Event) -> str:
    """Summarise an event in one line: its name, and the main part of its payload."""
    payload = event.payload
    about: Any = next((payload[name] for name in _TELLING if payload.get(name)), None)
    if about is None and not event.name.startswith(TRANSFER):
        about = dict(payload)
    text = about if isinstance(about, str) else json.dumps(about, ensure_ascii=False) if about else ""
    line = one_line(f"{event.name}: {text}" if text else event.name)
    return line if len(line) <= LONGEST_SAID else f"{line[: LONGEST_SAID - 1]}…"
