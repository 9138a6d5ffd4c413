"""Turns without an event of the chart: stop an agent, roll it back, or fork another agent from its past."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from gatechart.errors.event import OpenHandoffError
from gatechart.errors.operation import RollbackError, TakingBackError
from gatechart.graph.escape import UNDOING
from gatechart.graph.graph import AnyGraph
from gatechart.turn.handoff_state import failures
from gatechart.turn.handoff_turns import delegated
from gatechart.turn.noticing import with_trail_of
from gatechart.turn.talk import states_with_talk
from gatechart.turn.transfers import reentered
from gatechart.turn.turns import beginnings
from gatechart.values.agents import Event, Snapshot, Status
from gatechart.values.commits import TurnRecord
from gatechart.values.effects import CancelAll, Effect
from gatechart.values.escapes import NO_ESCAPES
from gatechart.values.frozen import replaced
from gatechart.values.handoffs import OpenHandoff, Side
from gatechart.values.names import AgentId, StateName
from gatechart.values.trail import NO_TRAIL, Trail, begun_at

STOPPED: Final = "agent.stopped"
ROLLED_BACK: Final = "agent.rolled_back"
FORKED: Final = "agent.forked"

GoingBack = Callable[[int], Awaitable[Snapshot]]
"""Loads the agent as of a version that it may return to. Raises an error with the reason if it may not."""


def stopped(before: Snapshot, now: datetime) -> TurnRecord:
    """Return the turn that ends the agent in its current state."""
    after = replace(before, version=before.version + 1, status=Status.STOPPED, entered=(), handoffs=(), changed=now)
    ends = failures(before.handoffs, "the agent was stopped")
    return TurnRecord(before, after, Event(STOPPED, {}, now), (), 0, effects=(CancelAll(), *ends))


def rollback_event(version: int, reason: str, now: datetime, idempotency_key: str | None = None) -> Event:
    """Return the event that records a rollback to this version in the history."""
    return Event(ROLLED_BACK, {"version": version, "reason": reason}, now, idempotency_key)


def rolled_back(graph: AnyGraph, before: Snapshot, target: Snapshot, event: Event, services: Any = None) -> TurnRecord:
    """Return the turn that restores the agent as it was at an earlier version. No action runs.

    Timers and invokes of the restored states start again; keyed timers are cancelled. Handoffs and the counts of
    transfers are unchanged, and an agent is invoked again only if it is not running. The trail is reset. The record of
    escapes is kept, without pending escapes. Raises RollbackError if another version of the graph drove the agent at
    the target version, TakingBackError if it was undoing calls there, and OpenHandoffError if an open handoff began
    after the target version, or was withdrawn and has not been answered.
    """
    _check_not_undoing(graph, target)
    if (target.graph_version, target.fingerprint) != (before.graph_version, before.fingerprint):
        raise RollbackError(before.agent_id, target.version, target.graph_version, before.graph_version)
    later = (handoff for handoff in before.handoffs if handoff.since > target.version or _is_withdrawn(handoff))
    blocking = tuple(handoff.id for handoff in later)
    if blocking:
        raise OpenHandoffError(before.agent_id, target.version, blocking)
    counts = reentered(before.transfers)
    restored = replace(
        target, version=before.version + 1, handoffs=before.handoffs, changed=event.time, transfers=counts
    )
    restored = replace(restored, trail=_kept_trail(graph, before, target))
    after, begun = _restarted(graph, restored, event, services)
    return TurnRecord(before, after, event, (), 0, effects=(CancelAll(), *begun))


def _kept_trail(graph: AnyGraph, before: Snapshot, target: Snapshot) -> Trail:
    """Reset the trail, except for the agent's escapes and known states, which no rollback removes.

    If models of the graph speak, the escapes also record the version of the rollback: their transcripts keep more than
    the restored context.
    """
    escapes = before.trail.escapes
    kept = escapes if escapes is NO_ESCAPES else escapes.interrupted
    if states_with_talk(graph):
        kept = replaced(kept, rolled_back=before.version + 1)
    begun = begun_at(target.trail.entry_point, kept)
    return begun if begun is NO_TRAIL else replaced(begun, recent=before.trail.recent)


def fork_event(source: AgentId, version: int, now: datetime, idempotency_key: str | None = None) -> Event:
    """Return the event that records the source of a fork in the history of the new agent."""
    return Event(FORKED, {"agent": source, "version": version}, now, idempotency_key)


def forked(graph: AnyGraph, target: Snapshot, agent_id: AgentId, event: Event, services: Any = None) -> TurnRecord:
    """Return the first turn of a new agent that starts in the state of the target. No action runs.

    target: a snapshot that this graph can drive. Timers and invokes of its states start for the new agent as well.
    Mail, keyed timers, handoffs, the counts of transfers and the record of escapes stay with the source agent.
    Raises TakingBackError.
    """
    _check_not_undoing(graph, target)
    own = replace(target, agent_id=agent_id, fingerprint=graph.fingerprint, version=1, handoffs=(), transfers=())
    own = replace(own, started=event.time, changed=event.time, trail=begun_at(target.trail.entry_point))
    after, begun = _restarted(graph, own, event, services)
    return TurnRecord(None, after, event, (), 0, effects=begun)


def _restarted(graph: AnyGraph, restored: Snapshot, event: Event, services: Any) -> tuple[Snapshot, tuple[Effect, ...]]:
    """Return the snapshot with the timers, invokes and delegations of its states, and the effects that start them."""
    states = attended(graph, restored.configuration) if restored.status is Status.ACTIVE else ()
    after = replace(restored, entered=tuple((state, restored.version) for state in states))
    standing = delegated(graph, after, states, event, services)
    begun = [effect for state in states for effect in beginnings(graph, state, event.time)]
    noticing, timer = with_trail_of(graph, replace(after, handoffs=standing.handoffs), event.time)
    return noticing, (*begun, *timer, *standing.effects)


def _check_not_undoing(graph: AnyGraph, target: Snapshot) -> None:
    """Raise TakingBackError if the agent was undoing calls at the target: its escape would never resume from there.

    A graph whose plans undo no calls may have a state of that name.
    """
    if UNDOING in target.configuration and UNDOING in graph.escape_states:
        raise TakingBackError(target.agent_id, target.version)


def _is_withdrawn(handoff: OpenHandoff) -> bool:
    return handoff.side is Side.ASKED and not handoff.states


def attended(graph: AnyGraph, leaves: Sequence[StateName]) -> tuple[StateName, ...]:
    """Return the active states with timers or invokes, outer ones first."""
    active = {state for leaf in leaves for state in (leaf, *graph.nodes[leaf].ancestors)}
    return tuple(name for name, node in graph.nodes.items() if name in active and node.is_attended)
