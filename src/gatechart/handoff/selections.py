"""Selections in packets: the criteria for the target, in the form of JSON values."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from gatechart.graph.selection import Best
from gatechart.handoff.packet import Attempt, HandoffPacket, SelectionTerms, readable
from gatechart.values.handoffs import Obstacle
from gatechart.values.profiles import Needs


def best_of(terms: SelectionTerms) -> Best:
    """Read a selection from its form in a packet. The user's own functions stay names."""
    return Best(
        terms.needs,
        scorers=None if terms.order else terms.weights,
        order=terms.order,
        filters=terms.filters,
        least=terms.least,
        entries=terms.entries,
    )


def declared_terms(best: Best) -> SelectionTerms:
    """Convert a selection whose needs no packet changes. Raises ValueError for one with rules or a function."""
    if best.rules or callable(best.needs):
        raise ValueError("the needs depend on the packet; give the needs themselves")
    return terms_with(best, best.needs or Needs())


def terms_with(best: Best, needs: Needs) -> SelectionTerms:
    """Return the terms of a selection for work with these needs."""
    return SelectionTerms(
        capabilities=needs.capabilities,
        domains=needs.domains,
        tier=needs.tier,
        languages=needs.languages,
        all=needs.all,
        weights=best.weights,
        order=best.order_names,
        filters=best.filter_names,
        least=best.least,
        entries=best.entries,
    )


def awaits_choice(packet: HandoffPacket) -> bool:
    """Return whether the target of a packet is still to be chosen."""
    return packet.selection is not None and not packet.recipient


def with_selection(packet: HandoffPacket, terms: SelectionTerms, **changes: Any) -> HandoffPacket:
    """Return a packet whose target is to be chosen by these terms; until then its source is its target."""
    source = {"target_agent": packet.source_agent, "target_graph": packet.source_graph, "entry_point": ""}
    return packet.model_copy(update={**source, "is_new": False, "selection": terms, "recipient": "", **changes})


def chosen_again(packet: HandoffPacket, obstacle: Obstacle, details: str, now: datetime) -> HandoffPacket | None:
    """Return a rejected packet whose target is to be chosen again, from other candidates; None if it is fixed.

    Its `handoff_id` is "" for the caller to fill in.
    """
    if packet.selection is None or obstacle in (Obstacle.LOOP, Obstacle.NO_MATCH):
        return None
    tried = with_attempt(packet, obstacle, details, now)
    return with_selection(tried, packet.selection, handoff_id="", request=packet.request or packet.handoff_id)


def with_attempt(packet: HandoffPacket, obstacle: Obstacle, details: str, now: datetime) -> HandoffPacket:
    """Add the packet's own failed attempt to its attempts. An attempt without a match names no target."""
    is_nobody = awaits_choice(packet)
    attempt = Attempt(
        handoff_id=packet.handoff_id,
        graph="" if is_nobody else packet.target_graph,
        entry_point=packet.entry_point,
        agent="" if is_nobody else packet.target_agent,
        recipient=packet.recipient,
        obstacle=obstacle,
        details=readable(details),
        time=now,
    )
    return packet.model_copy(update={"attempts": (*packet.attempts, attempt)})
