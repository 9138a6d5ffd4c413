"""Turns that no event makes: an agent is ended, or goes back to what it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from gatechart.graph import StateTransitionGraph
from gatechart.turn import beginnings
from gatechart.values import CancelAll, Effect, Event, Snapshot, StateName, Status, TurnRecord

STOPPED: Final = "agent.stopped"
ROLLED_BACK: Final = "agent.rolled_back"


def stopped(before: Snapshot, now: datetime) -> TurnRecord:
    """The turn that ends the agent where it is."""
    after = replace(before, version=before.version + 1, status=Status.STOPPED, entered=())
    return TurnRecord(before, after, Event(STOPPED, {}, now), (), 0, effects=(CancelAll(),))


def rolled_back(
    graph: StateTransitionGraph, before: Snapshot, target: Snapshot, reason: str, now: datetime
) -> TurnRecord:
    """The turn that restores what the agent was at an earlier version. No action runs.

    Timers and invokes of the states restored begin anew; keyed timers are cancelled.
    """
    version = before.version + 1
    states = attended(graph, target.configuration) if target.status is Status.ACTIVE else ()
    after = replace(target, version=version, entered=tuple((state, version) for state in states))
    begun: list[Effect] = [effect for state in states for effect in beginnings(graph, state, now)]
    event = Event(ROLLED_BACK, {"version": target.version, "reason": reason}, now)
    return TurnRecord(before, after, event, (), 0, effects=(CancelAll(), *begun))


def attended(graph: StateTransitionGraph, leaves: Sequence[StateName]) -> tuple[StateName, ...]:
    """The active states with timers or invokes, outer ones first."""
    active = {state for leaf in leaves for state in (leaf, *graph.nodes[leaf].ancestors)}
    return tuple(name for name, node in graph.nodes.items() if name in active and node.is_attended)
