"""Decide mail by a turn, or at the agent's home where no turn can (full graphs, choices of targets, escapes)."""

from __future__ import annotations

from collections.abc import Callable, Collection

from gatechart.graph.graph import AnyGraph
from gatechart.hosting.escapes import way_out
from gatechart.hosting.turn_guard import in_turn
from gatechart.runtime.choices import chosen
from gatechart.runtime.core import Core
from gatechart.runtime.escapes import StoredPast
from gatechart.runtime.offers import answer, no_place
from gatechart.turn.choices import asks_for_choice
from gatechart.turn.escape_turns import asks_for_way_out
from gatechart.turn.handoff_acceptance import RejectedOffer, Void
from gatechart.turn.mail import take_mail, unchanged
from gatechart.values.agents import Event, Outcome, Snapshot
from gatechart.values.commits import TurnRecord
from gatechart.values.framework import WATCHDOG_AGENT
from gatechart.values.mail import Mail
from gatechart.values.names import OFFERED


async def decide_mail(
    core: Core,
    graph: AnyGraph,
    before: Snapshot,
    event: Event,
    number: int,
    waiting: Collection[Mail],
    accept: Callable[[Mail], None],
) -> TurnRecord | Outcome:
    """Return the turn of an event from mail, or its outcome if there is no turn. Commits only answers to senders.

    number: the mail's. waiting: mail of the agent that is not yet applied. accept: delivers committed mail.
    """
    decided: TurnRecord | Outcome | RejectedOffer | Void | None = None
    if event.sender in (before.agent_id, WATCHDOG_AGENT) or event.name.startswith(OFFERED):
        decided = await _decide_with_home(core, graph, before, event, waiting)
    if decided is None:
        turn = take_mail(graph, before, event, core.services, core.packet_migrations)
        decided = await in_turn(graph, before.agent_id, event.name, turn, core.limits.turn_s)
    if isinstance(decided, RejectedOffer | Void):
        await answer(core, before.agent_id, decided, number, accept)
        return unchanged(event)
    return decided


async def _decide_with_home(
    core: Core, graph: AnyGraph, before: Snapshot, event: Event, waiting: Collection[Mail]
) -> TurnRecord | Outcome | RejectedOffer | Void | None:
    """Return the decision on an event that only the agent's home can decide; None for others.

    waiting: mail of the agent that is not yet applied.
    """
    if event.sender is not None and event.name.startswith(OFFERED):
        return await no_place(core, graph, event)
    if asks_for_choice(event, before.agent_id):
        return await chosen(core, before, event, waiting)
    if asks_for_way_out(event, before.agent_id):
        return await way_out(StoredPast(core), graph, before, event, core.limits.turn_s)
    return None
