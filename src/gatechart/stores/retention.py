"""Rules that decide which turns and mail a pruning may delete, on values in memory."""

from __future__ import annotations

from collections.abc import Sequence

from gatechart.values.agents import Event, Status
from gatechart.values.commits import TurnRecord
from gatechart.values.mail import Mail, MailStatus
from gatechart.values.queries import Pruning


def may_be_erased(turns: Sequence[TurnRecord], pruning: Pruning) -> bool:
    """Whether an agent without waiting mail may be erased. turns: oldest first."""
    last = turns[-1]
    return (
        pruning.ended_before is not None
        and last.snapshot.status is not Status.ACTIVE
        and pruning.status in (None, last.snapshot.status)
        and last.event.time < pruning.ended_before
        and not any(_is_recognised(turn.event, pruning) for turn in turns)
    )


def droppable(turns: Sequence[TurnRecord], pruning: Pruning) -> int:
    """Return how many of an agent's oldest turns may be dropped."""
    newest = len(turns) - 1
    by_age = by_count = 0
    if pruning.turns_before is not None:
        young = (index for index, turn in enumerate(turns) if turn.event.time >= pruning.turns_before)
        by_age = next(young, newest)
    if pruning.keep_turns is not None:
        by_count = len(turns) - pruning.keep_turns
    count = min(max(by_age, by_count, 0), newest)
    return next((index for index, turn in enumerate(turns[:count]) if _is_recognised(turn.event, pruning)), count)


def is_mail_to_forget(mail: Mail, pruning: Pruning) -> bool:
    """Whether the mail was refused or is dead, and is old enough."""
    return (
        pruning.mail_before is not None
        and mail.status is not MailStatus.WAITING
        and mail.accepted < pruning.mail_before
        and (mail.id is None or mail.accepted < pruning.ids_since)
    )


def _is_recognised(event: Event, pruning: Pruning) -> bool:
    """Whether the store must still recognise a repeat of the event."""
    return event.id is not None and event.time >= pruning.ids_since
