"""What the unit tests share: a context that keeps a trail, actions that leave one, turns without a runtime."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

from pydantic import Field

from gatechart.context import AgentContext, read_context
from gatechart.graph.graph import StateTransitionGraph
from gatechart.turn.arguments import fit_payload, plain_payload
from gatechart.turn.turns import begin, take_turn
from gatechart.values.agents import Event, Outcome, Snapshot
from gatechart.values.commits import TurnRecord

T = TypeVar("T")

NOW = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)


class Trail(AgentContext):
    trail: list[str] = Field(default_factory=list)
    number: int = 0
    thing: Any = None


def leave(text: str, context: Trail, event: Event) -> None:
    context.trail.append(text)


def note(text: str) -> Callable[..., None]:
    """An action that adds the text to the trail."""
    return partial(leave, text)


def boom(context: Any, event: Event) -> None:
    raise LookupError("no luck")


def is_yes(context: Any, event: Event) -> bool:
    return True


def is_no(context: Any, event: Event) -> bool:
    return False


def is_broken(context: Any, event: Event) -> bool:
    raise ZeroDivisionError("a guard went wrong")


def happened(name: str, payload: Any = None) -> Event:
    return Event(name, plain_payload(payload, name), NOW)


async def started(graph: StateTransitionGraph, at: str = "", payload: Any = None, services: Any = None) -> TurnRecord:
    """The record of an agent that begins at the entry point, the first where none is named."""
    entry = graph.entry_point(at or next(iter(graph.entry_points)))
    fitted = fit_payload(graph.name, entry, payload)
    return await begin(graph, entry, fitted, "agent-1", happened(f"agent.started.{entry.name}", fitted), services)


async def applied(graph: StateTransitionGraph, at: Snapshot, name: str, payload: Any = None) -> TurnRecord:
    decided = await take_turn(graph, at, happened(name, payload))
    assert isinstance(decided, TurnRecord), decided
    return decided


async def refused(graph: StateTransitionGraph, at: Snapshot, name: str, payload: Any = None) -> Outcome:
    decided = await take_turn(graph, at, happened(name, payload))
    assert isinstance(decided, Outcome), decided
    return decided


def context_of(graph: StateTransitionGraph, after: TurnRecord | Snapshot) -> Any:
    snapshot = after.snapshot if isinstance(after, TurnRecord) else after
    return read_context(graph.context, snapshot.context_text)


def trail_of(graph: StateTransitionGraph, after: TurnRecord | Snapshot) -> list[str]:
    return context_of(graph, after).trail


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """The result of work that never suspends: property tests need no event loop."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError(f"{work!r} suspended")
