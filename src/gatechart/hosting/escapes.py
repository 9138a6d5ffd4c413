"""Escapes of agents: collect the facts for an escape, outside the turn that takes its route."""

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
from gatechart.values.signal_reports import signal_report

logger = logging.getLogger(__name__)

_ATTEMPT: Final = (
    "escape attempt: strategy %(strategy)s of agent %(agent_id)s, graph %(graph)s, after signal %(signal)s: %(way)s"
)

MOST_PAST: Final = 2_000
"""Limit for the newest turns of an agent that strategies can read."""


class EscapeHost(Protocol):
    """The facts that a home has about an agent that needs an escape."""

    @property
    def services(self) -> Any:
        """The services of the home."""
        ...

    async def tools(self, graph: AnyGraph, snapshot: Snapshot) -> Mapping[str, ToolFacts]:
        """Return the tools of the services in their current state, by name."""
        ...

    async def past(self, snapshot: Snapshot, most: int) -> Sequence[PastTurn]:
        """Return the agent's newest turns, oldest first. most: the limit."""
        ...

    async def back_to(self, snapshot: Snapshot, version: int) -> Snapshot:
        """Return the agent at an earlier version. Raises as `rollback` does if it cannot be rolled back to it."""
        ...

    async def lessons(self, graph: AnyGraph) -> Lessons:
        """Return the lessons from escapes of the graph's agents."""
        ...


async def way_out(
    host: EscapeHost, graph: AnyGraph, before: Snapshot, event: Event, limit_s: float
) -> TurnRecord | Void:
    """Choose an escape route for an agent whose mail requests one, and return the turn that takes the route.

    Return Void if the agent no longer needs an escape, because it has made progress or has ended. limit_s: time limit
    of the turn, in seconds.
    """
    finding = finding_asked(before.trail.escapes, before.version, event)
    if finding is None:
        return Void()
    report = signal_report(event.payload)
    scene = Scene(graph, before, committed_context(graph, before), event, finding, event.payload, report, {})
    tactic = tactic_of(scene, host.services)
    if tactic is None:
        return Void()
    scene = replaced(scene, tools=await host.tools(graph, before), lessons=await _lessons(host, graph, tactic))
    if _looks_back(tactic):
        scene = replaced(scene, past=await host.past(before, MOST_PAST))
    turn = take_way_out(scene, tactic, lambda version: host.back_to(before, version), host.services)
    return await in_turn(graph, before.agent_id, event.name, turn, limit_s)


async def _lessons(host: EscapeHost, graph: AnyGraph, tactic: Tactic) -> Lessons:
    """Return the lessons that order the strategies of a plan; none if the plan keeps its written order."""
    lessons = await host.lessons(graph)  # read even if unused: the host also prepares to record new lessons
    return lessons if tactic.plan.learns else NO_LESSONS


def _looks_back(tactic: Tactic) -> bool:
    return any(strategy.looks_back for strategy in (*tactic.strategies, tactic.last) if strategy)


def attempt_of(turn: TurnRecord) -> Tried | None:
    """Return the escape attempt of a turn; None if the turn is not an attempt."""
    before, after = turn.previous, turn.snapshot.trail.escapes
    return None if before is None or after.count == before.trail.escapes.count else after.newest


def log_attempt(turn: TurnRecord, attempt: Tried) -> None:
    """Log an escape attempt, as a warning if the agent failed with this turn."""
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
    """Convert entries of a history to the form that strategies read."""
    return [PastTurn(entry.version, entry.event.name, entry.event.payload, entry.target) for entry in entries]
