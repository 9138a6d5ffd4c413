"""Turns without an event of the chart: stopping an agent, rolling it back, and beginning another from its past."""

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
"""Returns the agent as it was at a version to which it may go back. Raises what says why it may not."""


def stopped(before: Snapshot, now: datetime) -> TurnRecord:
    """Return the turn that ends the agent in its current state."""
    after = replace(before, version=before.version + 1, status=Status.STOPPED, entered=(), handoffs=(), changed=now)
    told = failures(before.handoffs, "the agent was stopped")
    return TurnRecord(before, after, Event(STOPPED, {}, now), (), 0, effects=(CancelAll(), *told))


def rollback_event(version: int, reason: str, now: datetime, idempotency_key: str | None = None) -> Event:
    """Return the event that records a rollback to this version in the history."""
    return Event(ROLLED_BACK, {"version": version, "reason": reason}, now, idempotency_key)


def rolled_back(graph: AnyGraph, before: Snapshot, target: Snapshot, event: Event, services: Any = None) -> TurnRecord:
    """Return the turn that restores the agent as it was at an earlier version. No action runs.

    Timers and invokes of the restored states start again; keyed timers are cancelled. Handoffs and the counts of
    transfers stay as they are, and an agent is invoked again only if it is not at work. The trail begins anew,
    and the record of escapes stays, but that no way out is due any more. Raises RollbackError if another version of the
    graph drove the agent then, TakingBackError if it was taking calls back, and OpenHandoffError if an open handoff
    began after the target version, or was withdrawn and has not been answered.
    """
    _check_not_undoing(graph, target)
    if (target.graph_version, target.fingerprint) != (before.graph_version, before.fingerprint):
        raise RollbackError(before.agent_id, target.version, target.graph_version, before.graph_version)
    passed = tuple(each.id for each in before.handoffs if each.since > target.version or _is_withdrawn(each))
    if passed:
        raise OpenHandoffError(before.agent_id, target.version, passed)
    counts = reentered(before.transfers)
    restored = replace(
        target, version=before.version + 1, handoffs=before.handoffs, changed=event.time, transfers=counts
    )
    restored = replace(restored, trail=_kept_trail(graph, before, target))
    after, begun = _attended(graph, restored, event, services)
    return TurnRecord(before, after, event, (), 0, effects=(CancelAll(), *begun))


def _kept_trail(graph: AnyGraph, before: Snapshot, target: Snapshot) -> Trail:
    """Return a new trail with what a rollback keeps: the record of escapes, and the recently entered states.

    The record has the version of the rollback if models of the graph remember more than the context has then.
    """
    escapes = before.trail.escapes
    kept = escapes if escapes is NO_ESCAPES else escapes.interrupted
    if states_with_talk(graph):
        kept = replaced(kept, rolled_back=before.version + 1)
    begun = begun_at(target.trail.entry_point, kept)
    return begun if begun is NO_TRAIL else replaced(begun, recent=before.trail.recent)


def fork_event(source: AgentId, version: int, now: datetime, idempotency_key: str | None = None) -> Event:
    """Return the event that records in the history of a new agent where it comes from."""
    return Event(FORKED, {"agent": source, "version": version}, now, idempotency_key)


def forked(graph: AnyGraph, target: Snapshot, agent_id: AgentId, event: Event, services: Any = None) -> TurnRecord:
    """Return the first turn of another agent, which begins as the target was. No action runs.

    target: a snapshot that this graph can drive. Timers and invokes of its states start for the new agent as well.
    Mail, keyed timers, handoffs, the counts of transfers and the record of escapes stay with the agent that has them.
    Raises TakingBackError.
    """
    _check_not_undoing(graph, target)
    own = replace(target, agent_id=agent_id, fingerprint=graph.fingerprint, version=1, handoffs=(), transfers=())
    own = replace(own, started=event.time, changed=event.time, trail=begun_at(target.trail.entry_point))
    after, begun = _attended(graph, own, event, services)
    return TurnRecord(None, after, event, (), 0, effects=begun)


def _attended(graph: AnyGraph, restored: Snapshot, event: Event, services: Any) -> tuple[Snapshot, tuple[Effect, ...]]:
    """Return the snapshot with the timers, invokes and delegations of its states, and the effects that start them."""
    states = attended(graph, restored.configuration) if restored.status is Status.ACTIVE else ()
    after = replace(restored, entered=tuple((state, restored.version) for state in states))
    standing = delegated(graph, after, states, event, services)
    begun = [effect for state in states for effect in beginnings(graph, state, event.time)]
    noticing, timer = with_trail_of(graph, replace(after, handoffs=standing.handoffs), event.time)
    return noticing, (*begun, *timer, *standing.effects)


def _check_not_undoing(graph: AnyGraph, target: Snapshot) -> None:
    """Raise TakingBackError if an agent was taking calls back, for a way out that nobody would go on with.

    A graph whose plans take no calls back may have a state of that name.
    """
    if UNDOING in target.configuration and UNDOING in graph.escape_states:
        raise TakingBackError(target.agent_id, target.version)


def _is_withdrawn(each: OpenHandoff) -> bool:
    return each.side is Side.ASKED and not each.states


def attended(graph: AnyGraph, leaves: Sequence[StateName]) -> tuple[StateName, ...]:
    """Return the active states with timers or invokes, outer ones first."""
    active = {state for leaf in leaves for state in (leaf, *graph.nodes[leaf].ancestors)}
    return tuple(name for name, node in graph.nodes.items() if name in active and node.is_attended)
