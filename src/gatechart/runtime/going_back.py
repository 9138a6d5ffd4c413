"""Turns that no event makes: an agent is ended, or goes back to what it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from gatechart.errors import OpenHandoffError
from gatechart.graph import StateTransitionGraph
from gatechart.turn import beginnings, failures
from gatechart.values import CancelAll, Effect, Event, Snapshot, StateName, Status, TurnRecord

STOPPED: Final = "agent.stopped"
ROLLED_BACK: Final = "agent.rolled_back"


def stopped(before: Snapshot, now: datetime) -> TurnRecord:
    """The turn that ends the agent where it is."""
    after = replace(before, version=before.version + 1, status=Status.STOPPED, entered=(), handoffs=())
    told = failures(before.handoffs, "the agent was stopped")
    return TurnRecord(before, after, Event(STOPPED, {}, now), (), 0, effects=(CancelAll(), *told))


def rolled_back(
    graph: StateTransitionGraph, before: Snapshot, target: Snapshot, reason: str, now: datetime
) -> TurnRecord:
    """The turn that restores what the agent was at an earlier version. No action runs.

    Timers and invokes of the states restored begin anew; keyed timers are cancelled. Handoffs stay as they are: raises
    OpenHandoffError where one that is open began later.
    """
    passed = tuple(each.id for each in before.handoffs if each.since > target.version)
    if passed:
        raise OpenHandoffError(before.agent_id, target.version, passed)
    version = before.version + 1
    states = attended(graph, target.configuration) if target.status is Status.ACTIVE else ()
    entered = tuple((state, version) for state in states)
    after = replace(target, version=version, entered=entered, handoffs=before.handoffs)
    begun: list[Effect] = [effect for state in states for effect in beginnings(graph, state, now)]
    event = Event(ROLLED_BACK, {"version": target.version, "reason": reason}, now)
    return TurnRecord(before, after, event, (), 0, effects=(CancelAll(), *begun))


def attended(graph: StateTransitionGraph, leaves: Sequence[StateName]) -> tuple[StateName, ...]:
    """The active states with timers or invokes, outer ones first."""
    active = {state for leaf in leaves for state in (leaf, *graph.nodes[leaf].ancestors)}
    return tuple(name for name, node in graph.nodes.items() if name in active and node.is_attended)
