"""Turns that record the fate of a handoff, with or without a transition."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter_ns
from typing import Any

from gatechart.context import AgentContext
from gatechart.graph import AnyGraph
from gatechart.kernel import candidates, plan_microstep
from gatechart.turn.dead_letter_notices import noted
from gatechart.turn.macrostep import Macrostep
from gatechart.turn.payload import own_copy
from gatechart.turn.turn_context import Turn, TurnLog
from gatechart.turn.turns import committed_context, recorded
from gatechart.values import (
    AgentId,
    Effect,
    Event,
    Mail,
    Memory,
    OpenHandoff,
    Side,
    Snapshot,
    StateName,
    Status,
    TurnRecord,
)


async def reacted(
    graph: AnyGraph,
    previous: Snapshot,
    event: Event,
    handoffs: tuple[OpenHandoff, ...],
    before: tuple[Effect, ...],
    services: Any,
    *,
    replied: str = "",
    dead: Mail | None = None,
) -> TurnRecord:
    """Process the event in the chart; if the chart does not handle it, only record it.

    dead: the mail that brought the event, if the chart failed at it; the chart is then skipped.
    replied: see `standing_after`.
    """
    if dead is not None:
        return unmoved(previous, event, handoffs, (*before, *noted(previous, dead, event)))
    started = perf_counter_ns()
    is_read = _is_read(graph, previous, event, handoffs)
    context = committed_context(graph, previous) if is_read else None
    macrostep = macrostep_of(graph, previous, previous.agent_id, context, event, handoffs, services)
    if previous.status is Status.ACTIVE:
        await macrostep.react()
    if not macrostep.taken:
        return unmoved(previous, event, handoffs, before)
    return recorded(macrostep, previous, event, started, before=before, replied=replied)


def _is_read(graph: AnyGraph, previous: Snapshot, event: Event, handoffs: tuple[OpenHandoff, ...]) -> bool:
    """Tell whether the turn needs the context. Usually not: a waiting state is simply left."""
    groups = candidates(graph, previous.configuration, event.name)
    enabled = tuple(edges[0] for edges in groups)  # correct as long as no guard is evaluated
    if not enabled:
        return False
    if any(edge.ask for edge in enabled):
        return True
    plan = plan_microstep(graph, previous.configuration, previous.memory, enabled)
    return bool(plan.deeds or plan.has_eventless or plan.attended or (plan.is_final and handoffs))


def unmoved(
    previous: Snapshot,
    event: Event,
    handoffs: tuple[OpenHandoff, ...],
    effects: tuple[Effect, ...] = (),
    status: Status | None = None,
) -> TurnRecord:
    """Return a turn that only records the fate of a handoff; the agent stays where it is."""
    entered = previous.entered if status is None else ()
    after = replace(
        previous,
        version=previous.version + 1,
        handoffs=handoffs,
        status=status or previous.status,
        entered=entered,
    )
    return TurnRecord(previous, after, event, (), 0, (), effects)


def macrostep_of(
    graph: AnyGraph,
    previous: Snapshot | None,
    agent_id: AgentId,
    context: AgentContext | None,
    event: Event,
    handoffs: tuple[OpenHandoff, ...],
    services: Any,
) -> Macrostep:
    """Prepare the microsteps of a turn.

    previous: None for an agent's first turn. context: None if nothing in the turn needs it.
    """
    version, leaves, memory = (1, (), ()) if previous is None else _where(previous)
    turn = Turn(agent_id, version, own_copy(event), services, graph.name, handoffs, context, TurnLog(leaves))
    return Macrostep(graph, leaves, memory, context, turn)


def _where(previous: Snapshot) -> tuple[int, tuple[StateName, ...], Memory]:
    return previous.version + 1, previous.configuration, previous.memory


def open_handoff(previous: Snapshot, event: Event, side: Side) -> OpenHandoff | None:
    """Find the handoff that mail is about, in which the agent has this part. The peer or the agent itself sent it."""
    wanted, own = event.payload.get("handoff"), previous.agent_id
    known = (each for each in previous.handoffs if each.side is side and event.sender in (each.peer, own))
    return next((each for each in known if each.id == wanted), None)
