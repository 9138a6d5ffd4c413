"""Replay a recorded turn: find from its record which function ran it, and run that again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gatechart.graph import AnyGraph
from gatechart.handoff import PacketMigration
from gatechart.turn.arguments import fit_payload
from gatechart.turn.choices import asks_for_choice
from gatechart.turn.handoff_acceptance import Rejection, Void, begin_with_offer, readable
from gatechart.turn.handoff_offers import ACCEPTED, ANSWERS, CANCELLED
from gatechart.turn.handoff_turns import reacted, unmoved
from gatechart.turn.mail import take_mail
from gatechart.turn.turns import begin
from gatechart.values import ESCAPE, OFFERED, STARTED, AgentId, Event, OpenHandoff, Outcome, Side, Snapshot, TurnRecord


async def replay_turn(
    graph: AnyGraph,
    before: Snapshot | None,
    event: Event,
    agent_id: AgentId,
    services: Any,
    migrations: Sequence[PacketMigration],
) -> TurnRecord | Outcome | Rejection | Void:
    """Replay the turn of a recorded event. Time, ids and random numbers come from the record.

    before: None for the turn that started the agent. Raises the errors of `begin` and `take_mail`.
    """
    if before is None:
        return await _begun(graph, event, agent_id, services, migrations)
    if asks_for_choice(event, agent_id) or event.name.startswith(
        ESCAPE
    ):  # the choice did not depend on the chart alone
        return unmoved(before, event, before.handoffs)
    told = _told_of(before, event)
    if told is None:
        return await take_mail(graph, before, event, services, migrations)
    others = tuple(handoff for handoff in before.handoffs if handoff is not told)
    return await reacted(graph, before, event, others, (), services)


async def _begun(
    graph: AnyGraph, event: Event, agent_id: AgentId, services: Any, migrations: Sequence[PacketMigration]
) -> TurnRecord | Rejection:
    if event.name.startswith(OFFERED):
        packet = readable(event, migrations)
        if isinstance(packet, Rejection):
            return packet
        return await begin_with_offer(graph, agent_id, event, packet, services)
    entry = graph.entry_point(event.name.removeprefix(STARTED))
    payload = fit_payload(graph.name, entry, event.payload if entry.takes is not None else event.payload or None)
    return await begin(graph, entry, payload, agent_id, event, services)


def _told_of(before: Snapshot, event: Event) -> OpenHandoff | None:
    """Return the handoff that an event of the chart reports, in the form that the history keeps.

    None for handoff mail between agents, which is processed as it was on arrival.
    """
    if event.sender is None or event.name == ACCEPTED or "packet" in event.payload:
        return None
    if event.name in ANSWERS or event.name == CANCELLED:
        wanted = event.payload.get("handoff")
        found = next((each for each in before.handoffs if wanted in (each.id, each.request)), None)
        is_withdrawn = found is not None and found.side is Side.ASKED and not found.states
        return None if is_withdrawn else found
    kind, _, invoke = event.name.partition(".invoke.")
    if not invoke or kind not in {"done", "error"}:
        return None
    return next((each for each in before.handoffs if each.side is Side.ASKED and each.invoke == invoke), None)
