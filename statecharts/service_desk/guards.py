"""The questions that the desk's chart asks."""

from __future__ import annotations

from gatechart import Event
from statecharts.service_desk.context import DeskContext, Intent, Told


def has_required_slots(context: DeskContext, _event: Event) -> bool:
    """Whether all that the intent cannot do without is known, or was read back to the user."""
    return all(slot in context.slots or slot in context.unconfirmed for slot in context.required_slots)


def is_last_required_slot(context: DeskContext, event: Event) -> bool:
    """Whether nothing is missing any more, once this slot is noted."""
    return set(context.required_slots) <= {*context.slots, Told.model_validate(event.payload).slot}


def is_transactional(_context: DeskContext, event: Event) -> bool:
    """Whether the intent changes something, rather than only looking something up."""
    return Intent.model_validate(event.payload).is_transactional


def is_search_without_gaps(context: DeskContext, event: Event) -> bool:
    """Whether all that the new search needs is known from what was said before."""
    intent = Intent.model_validate(event.payload)
    return not intent.is_transactional and set(intent.required_slots) <= set(context.slots)


def is_last_answer(context: DeskContext, event: Event) -> bool:
    """Whether the user has no question open, once this one is answered."""
    return set(context.questions) <= {Told.model_validate(event.payload).slot}


def has_counter_offer(context: DeskContext, _event: Event) -> bool:
    """Whether the service suggests something else in place of what failed."""
    return bool(context.offer)
