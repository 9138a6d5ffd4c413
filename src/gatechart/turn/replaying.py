"""Replay of a recorded turn: infers from the record which function took the turn, and calls it again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gatechart.graph.graph import AnyGraph
from gatechart.handoff.reading import PacketMigration
from gatechart.turn.arguments import fit_payload
from gatechart.turn.choices import asks_for_choice
from gatechart.turn.handoff_acceptance import RejectedOffer, Void, begin_with_offer, readable
from gatechart.turn.handoff_offers import ACCEPTED, ANSWERS, CANCELLED
from gatechart.turn.handoff_turns import reacted, unmoved
from gatechart.turn.mail import take_mail
from gatechart.turn.turns import begin
from gatechart.values.agents import Event, Outcome, Snapshot
from gatechart.values.commits import TurnRecord
from gatechart.values.escapes import ESCAPE
from gatechart.values.handoffs import OpenHandoff, Side
from gatechart.values.names import OFFERED, STARTED, AgentId


async def replay_turn(
    graph: AnyGraph,
    before: Snapshot | None,
    event: Event,
    agent_id: AgentId,
    services: Any,
    migrations: Sequence[PacketMigration],
) -> TurnRecord | Outcome | RejectedOffer | Void:
    """Replay the turn of a recorded event, with the recorded time, ids and random numbers.

    before: None for the turn that started the agent. Raises what `begin` and `take_mail` raise.
    """
    if before is None:
        return await _first_turn(graph, event, agent_id, services, migrations)
    if asks_for_choice(event, agent_id) or event.name.startswith(
        ESCAPE
    ):  # the choice did not depend on the chart alone
        return unmoved(before, event, before.handoffs)
    reported = _handoff_reported(before, event)
    if reported is None:
        return await take_mail(graph, before, event, services, migrations)
    others = tuple(handoff for handoff in before.handoffs if handoff is not reported)
    return await reacted(graph, before, event, others, (), services)


async def _first_turn(
    graph: AnyGraph, event: Event, agent_id: AgentId, services: Any, migrations: Sequence[PacketMigration]
) -> TurnRecord | RejectedOffer:
    if event.name.startswith(OFFERED):
        packet = readable(event, migrations)
        if isinstance(packet, RejectedOffer):
            return packet
        return await begin_with_offer(graph, agent_id, event, packet, services)
    entry = graph.entry_point(event.name.removeprefix(STARTED))
    payload = fit_payload(graph.name, entry, event.payload if entry.takes is not None else event.payload or None)
    return await begin(graph, entry, payload, agent_id, event, services)


def _handoff_reported(before: Snapshot, event: Event) -> OpenHandoff | None:
    """Return the handoff that the event reports in the form for the chart, which the history keeps.

    None for mail in the form that agents exchange, which is processed as it was when it arrived.
    """
    if event.sender is None or event.name == ACCEPTED or "packet" in event.payload:
        return None
    if event.name in ANSWERS or event.name == CANCELLED:
        wanted = event.payload.get("handoff")
        match = next((handoff for handoff in before.handoffs if wanted in (handoff.id, handoff.request)), None)
        is_withdrawn = match is not None and match.side is Side.ASKED and not match.states
        return None if is_withdrawn else match
    outcome, _, invoke = event.name.partition(".invoke.")
    if not invoke or outcome not in {"done", "error"}:
        return None
    asked = (handoff for handoff in before.handoffs if handoff.side is Side.ASKED)
    return next((handoff for handoff in asked if handoff.invoke == invoke), None)
