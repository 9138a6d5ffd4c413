"""Ways out of what agents notice: what is looked at before one is taken, outside the turn that takes it."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from gatechart.escape.attempts import Tactic
from gatechart.escape.restarts import finding_asked
from gatechart.escape.scene import Scene, ToolFacts
from gatechart.graph.graph import AnyGraph
from gatechart.hosting.turn_guard import in_turn
from gatechart.turn.escape_turns import tactic_of, take_way_out
from gatechart.turn.handoff_acceptance import Void
from gatechart.turn.turns import committed_context
from gatechart.values.agents import Event, Snapshot, Status
from gatechart.values.commits import TurnRecord
from gatechart.values.escapes import PastTurn, Tried
from gatechart.values.frozen import replaced
from gatechart.values.lessons import NO_LESSONS, Lessons
from gatechart.values.queries import HistoryEntry

logger = logging.getLogger(__name__)

_ATTEMPT: Final = (
    "an agent tries to get out: %(strategy)s of agent %(agent_id)s, graph %(graph)s, for %(signal)s: %(way)s"
)

MOST_PAST: Final = 2_000
"""How many of an agent's newest turns strategies look back at."""


class EscapeHost(Protocol):
    """What a home knows about an agent in need of a way out."""

    @property
    def services(self) -> Any:
        """The services of the home."""
        ...

    async def tools(self, graph: AnyGraph, snapshot: Snapshot) -> Mapping[str, ToolFacts]:
        """Return the tools of the services as things stand, by name."""
        ...

    async def past(self, snapshot: Snapshot, most: int) -> Sequence[PastTurn]:
        """Return the agent's newest turns, oldest first, at most so many."""
        ...

    async def back_to(self, snapshot: Snapshot, version: int) -> Snapshot:
        """Return the agent as it was at a version. Raises as `rollback` if it may not go back there."""
        ...

    async def lessons(self, graph: AnyGraph) -> Lessons:
        """Return what agents of the graph have learned from their escapes."""
        ...


async def way_out(
    host: EscapeHost, graph: AnyGraph, before: Snapshot, event: Event, limit_s: float
) -> TurnRecord | Void:
    """Find a way out for an agent that asks for one by its own mail, and return the turn that takes it.

    limit_s: of the turn.

    Void if it needs none any more: it has made progress, or has ended.
    """
    finding = finding_asked(before.trail.escapes, before.version, event)
    if finding is None:
        return Void()
    scene = Scene(graph, before, committed_context(graph, before), event, finding, event.payload, {})
    tactic = tactic_of(scene, host.services)
    if tactic is None:
        return Void()
    seen = replaced(scene, tools=await host.tools(graph, before), lessons=await _lessons(host, graph, tactic))
    if _looks_back(tactic):
        seen = replaced(seen, past=await host.past(before, MOST_PAST))
    turn = take_way_out(seen, tactic, lambda version: host.back_to(before, version), host.services)
    return await in_turn(graph, before.agent_id, event.name, turn, limit_s)


async def _lessons(host: EscapeHost, graph: AnyGraph, tactic: Tactic) -> Lessons:
    """Return what a plan goes by: without any lessons every order stays as it was written."""
    known = await host.lessons(graph)  # in any case, for they are kept as well where nothing goes by them
    return known if tactic.plan.learns else NO_LESSONS


def _looks_back(tactic: Tactic) -> bool:
    return any(strategy.looks_back for strategy in (*tactic.strategies, tactic.last) if strategy)


def attempt_of(turn: TurnRecord) -> Tried | None:
    """Return the attempt to get out that a turn is; None if it is none."""
    before, after = turn.previous, turn.snapshot.trail.escapes
    return None if before is None or after.count == before.trail.escapes.count else after.newest


def log_attempt(turn: TurnRecord, attempt: Tried) -> None:
    """Log an attempt to get out, as a warning if the agent ended as failed with it."""
    after = turn.snapshot
    facts: dict[str, Any] = {
        "agent_id": after.agent_id,
        "graph": after.graph,
        "signal": attempt.signal,
        "reason": attempt.reason,
    }
    facts |= {"strategy": attempt.strategy, "way": attempt.way, "attempt": attempt.number}
    level = logging.WARNING if after.status is Status.FAILED else logging.INFO
    logger.log(level, _ATTEMPT, facts, extra=facts)


def past_turns(entries: Sequence[HistoryEntry]) -> Sequence[PastTurn]:
    """Return entries of a history as strategies look at them."""
    return [PastTurn(each.version, each.event.name, each.event.payload, each.target) for each in entries]
