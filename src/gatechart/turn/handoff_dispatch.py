"""Turns about handoffs.

Only mail between agents leads to them: an event of such a name from a person is an ordinary event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from time import perf_counter_ns
from typing import Any

from gatechart.errors import EventRefusedError
from gatechart.graph import AnyGraph
from gatechart.handoff import PacketMigration
from gatechart.handoff.fallbacks import longest_wait_s
from gatechart.turn.dead_letter_notices import is_noted
from gatechart.turn.handoff_acceptance import take_offer, take_withdrawal
from gatechart.turn.handoff_offers import ANSWERS, asked
from gatechart.turn.handoff_rejections import Rejection, Void
from gatechart.turn.handoff_replies import take_answer
from gatechart.turn.handoff_state import Standing
from gatechart.turn.handoff_turns import macrostep_of, reacted
from gatechart.turn.payload import own_copy
from gatechart.turn.turn_context import Turn, TurnLog
from gatechart.turn.turns import committed_context, delegate, recorded, take_turn
from gatechart.values import (
    ERROR_MAIL,
    OFFERED,
    WITHDRAWN,
    Event,
    Mail,
    Offer,
    Outcome,
    Snapshot,
    StateName,
    Status,
    TurnRecord,
)

REQUESTED = "handoff.requested"
PROGRESS = "progress.invoke."


def is_about_handoff(mail: Mail | Event) -> bool:
    """Tell whether it is an agent's offer or its withdrawal; these also reach agents that do not exist yet."""
    name = mail.event if isinstance(mail, Mail) else mail.name
    return mail.sender is not None and (name.startswith(OFFERED) or name == WITHDRAWN)


def is_word_of_handoff(mail: Mail) -> bool:
    """Tell whether mail reports the fate of a handoff to one of its agents: an answer, or a withdrawal."""
    is_word = mail.event == WITHDRAWN or mail.event in ANSWERS
    is_told = mail.sender is not None and "handoff" in mail.payload
    return is_word and is_told and not is_noted(mail.event, mail.payload, mail.sender)


def no_later(mail: Mail, now: datetime) -> Mail:
    """Move the due time of a handoff's next attempt to at most the longest wait of its fallbacks from now.

    The clock may have been wrong in the turn that offered it.
    """
    if mail.due is None or mail.sender is None or not mail.event.startswith(OFFERED):
        return mail
    longest_s = longest_wait_s(mail.payload)
    is_far = (mail.due - now).total_seconds() > longest_s
    return replace(mail, due=now + timedelta(seconds=longest_s)) if is_far else mail


def is_awaited(mail: Mail) -> bool:
    """Tell whether an agent may be waiting for mail, because it caused the mail itself.

    That holds for timers, results of invokes, news of its handoffs, and mail to itself. It does not hold for what
    people or other agents send on their own, for progress of an invoke, whose result is yet to come, or for news of
    dead mail.
    """
    if mail.event == ERROR_MAIL or mail.event.startswith(PROGRESS):
        return False
    is_own = mail.state is not None or mail.sender == mail.recipient
    return is_own or is_noted(mail.event, mail.payload, mail.sender) or is_word_of_handoff(mail)


async def take_mail(
    graph: AnyGraph,
    previous: Snapshot,
    event: Event,
    services: Any = None,
    migrations: Sequence[PacketMigration] = (),
    *,
    dead: Mail | None = None,
) -> TurnRecord | Outcome | Rejection | Void:
    """Process an event that came as mail. Raises what `take_turn` raises.

    dead: the mail, if the chart failed at it; an answer or a withdrawal is then recorded without the chart.
    """
    if event.name == ERROR_MAIL and event.sender == previous.agent_id:
        return await _take_loss(graph, previous, event, services)
    if event.sender is not None and event.name.startswith("handoff."):
        if event.name.startswith(OFFERED):
            return await take_offer(graph, previous, event, services, migrations)
        if event.name == WITHDRAWN:
            return await take_withdrawal(graph, previous, event, services, dead)
        if _is_answer(event):
            return await take_answer(graph, previous, event, services, migrations, dead)
    return await take_turn(graph, previous, event, services)


def _is_answer(event: Event) -> bool:
    """Tell whether the event is the answer to a handoff, and not one that a chart raises or has yet to handle."""
    is_told = event.name in ANSWERS and "handoff" in event.payload
    return is_told and not is_noted(event.name, event.payload, event.sender)


async def _take_loss(graph: AnyGraph, previous: Snapshot, event: Event, services: Any) -> TurnRecord | Void:
    """Tell the agent of dead mail in a turn. If the chart does not handle it, the turn only records it."""
    if previous.status is not Status.ACTIVE:
        return Void()
    return await reacted(graph, previous, event, previous.handoffs, (), services)


def requested(
    graph: AnyGraph, previous: Snapshot, event: Event, ask: Callable[[Turn], object], services: Any = None
) -> TurnRecord:
    """Let an outside caller have the agent hand on its work, in a turn without actions; the agent waits where it is.

    Raises PayloadError, and EventRefusedError if the agent has ended.
    """
    if previous.status is not Status.ACTIVE:
        raise EventRefusedError(previous.agent_id, event.name, f"the agent is {previous.status.value}")
    context = committed_context(graph, previous)
    macrostep = macrostep_of(graph, previous, previous.agent_id, context, event, previous.handoffs, services)
    ask(macrostep.turn)
    return recorded(macrostep, previous, event, perf_counter_ns())


def delegated(
    graph: AnyGraph, after: Snapshot, states: Sequence[StateName], event: Event, services: Any = None
) -> Standing:
    """Offer work to the agents that the given states invoke, if the states became active outside a turn.

    Offers that an invoke has made already stay. Raises what the functions that make packets raise.
    """
    context, log = committed_context(graph, after), TurnLog(after.configuration)
    turn = Turn(after.agent_id, after.version, own_copy(event), services, graph.name, after.handoffs, context, log)
    under_way = frozenset(each.invoke for each in after.handoffs)
    for state in states:
        delegate(graph, state, turn, under_way)
    offers = [each for each in log.asked if isinstance(each, Offer)]
    new = [asked(offer, after.version, *log.awaits[offer.handoff.id]) for offer in offers]
    return Standing((*after.handoffs, *new), tuple(log.asked))
