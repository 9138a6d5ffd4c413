"""The questions that the desk's chart asks: whether what is said fits the service, and what was said before."""

from __future__ import annotations

from gatechart import Event
from statecharts.service_desk.context import Act, Call, DeskContext, TurnBegun
from statecharts.service_desk.schema import DONT_CARE


def is_next_speaker(context: DeskContext, event: Event) -> bool:
    """Whether the other one spoke last, and left no question of the user open."""
    return TurnBegun.model_validate(event.payload).speaker != context.speaker and not (
        context.speaker == "system" and context.questions
    )


def has_required_slots(context: DeskContext, _event: Event) -> bool:
    """Whether all that the intent cannot do without is known."""
    return set(context.goal.required_slots) <= set(context.slots)


# What the user says.


def is_new_detail(context: DeskContext, event: Event) -> bool:
    """Whether the service takes this value, and the user did not fill the slot in this turn already."""
    act = Act.model_validate(event.payload)
    return bool(act.values) and context.service.takes(act.slot, act.value) and act.slot not in context.given


def is_last_required_detail(context: DeskContext, event: Event) -> bool:
    """Whether nothing that the search needs is missing any more, once this new detail is noted."""
    filled = {*context.slots, Act.model_validate(event.payload).slot}
    return is_new_detail(context, event) and set(context.goal.required_slots) <= filled


def has_suggestion(context: DeskContext, _event: Event) -> bool:
    """Whether the service suggested something, to which the user may say yes or no."""
    return any(len(values) == 1 for values in context.asked.values())


def is_last_suggestion(context: DeskContext, event: Event) -> bool:
    """Whether nothing that the search needs is missing any more, if the user agrees to what is suggested."""
    filled = {*context.slots, *(slot for slot, values in context.asked.items() if len(values) == 1)}
    return has_suggestion(context, event) and set(context.goal.required_slots) <= filled


def is_transactional(context: DeskContext, event: Event) -> bool:
    """Whether the service has this intent, and it changes something."""
    intent = context.service.intents.get(Act.model_validate(event.payload).value)
    return intent is not None and intent.is_transactional


def is_search(context: DeskContext, event: Event) -> bool:
    """Whether the service has this intent, and it only looks something up."""
    intent = context.service.intents.get(Act.model_validate(event.payload).value)
    return intent is not None and not intent.is_transactional


def is_search_without_gaps(context: DeskContext, event: Event) -> bool:
    """Whether all that the new search needs is known from what was said before."""
    intent = context.service.intents.get(Act.model_validate(event.payload).value)
    return intent is not None and not intent.is_transactional and set(intent.required_slots) <= set(context.slots)


def is_on_offer(context: DeskContext, event: Event) -> bool:
    """Whether there is an offer, and the value that the user chose is part of it, where they name one."""
    act = Act.model_validate(event.payload)
    return bool(context.offer) and set(act.values) <= set(context.offer.get(act.slot, ()))


def is_last_choice(context: DeskContext, event: Event) -> bool:
    """Whether nothing that the search needs is missing any more, if the user takes what is on offer."""
    filled = {*context.slots, *context.offer}
    return is_on_offer(context, event) and set(context.goal.required_slots) <= filled


def is_question(context: DeskContext, event: Event) -> bool:
    """Whether the service can know this, and the user did not ask it a moment ago."""
    act = Act.model_validate(event.payload)
    return (
        act.slot in context.service.slots
        and act.slot not in context.questions
        and all(context.service.takes(act.slot, value) for value in act.values)
    )


# What the service says.


def is_demand(context: DeskContext, event: Event) -> bool:
    """Whether the intent takes what is asked for, it is asked once, and what is suggested can be."""
    act = Act.model_validate(event.payload)
    return act.slot in context.goal.slots and act.slot not in context.asked and _can_be_suggested(context, act)


def is_new_line(context: DeskContext, event: Event) -> bool:
    """Whether the service can offer this, and it is not in the offer yet."""
    return _is_tellable(context, event) and Act.model_validate(event.payload).slot not in context.offer


def is_offer(context: DeskContext, event: Event) -> bool:
    """Whether the service can offer this."""
    return _is_tellable(context, event)


def is_first_count(context: DeskContext, event: Event) -> bool:
    """Whether the results were not counted yet."""
    return context.results is None and Act.model_validate(event.payload).value.isdecimal()


def is_open_question(context: DeskContext, event: Event) -> bool:
    """Whether the user asked for this, and it can be the answer."""
    return _is_tellable(context, event) and Act.model_validate(event.payload).slot in context.questions


def is_last_answer(context: DeskContext, event: Event) -> bool:
    """Whether the user has no question open, once this one is answered."""
    return is_open_question(context, event) and len(context.questions) == 1


def has_questions(context: DeskContext, _event: Event) -> bool:
    """Whether the user waits for an answer."""
    return bool(context.questions)


def is_as_said(context: DeskContext, event: Event) -> bool:
    """Whether what is read back is what was said, and is read back once."""
    act = Act.model_validate(event.payload)
    return (
        act.slot not in context.asked
        and act.slot in context.goal.slots
        and context.service.takes(act.slot, act.value)
        and context.is_known(act.slot, act.value)
    )


def is_read_back(context: DeskContext, _event: Event) -> bool:
    """Whether all that the intent cannot do without was read back to the user."""
    return set(context.goal.required_slots) <= set(context.read_back)


def is_sound_search(context: DeskContext, event: Event) -> bool:
    """Whether the service looks for what the user wants, with all that the search needs and nothing unsaid."""
    call = Call.model_validate(event.payload)
    left_open = {slot for slot, value in context.slots.items() if value == DONT_CARE}
    return (
        call.method == context.intent
        and set(context.goal.required_slots) <= {*call.parameters, *left_open}
        and all(
            context.service.takes(slot, value) and context.is_known(slot, value)
            for slot, value in call.parameters.items()
        )
    )


def is_as_agreed(context: DeskContext, event: Event) -> bool:
    """Whether the service does what the user agreed to, with all that it needs.

    Details that may be anything are not read back; they are as said.
    """
    call, goal = Call.model_validate(event.payload), context.goal
    return (
        call.method == context.intent
        and set(goal.required_slots) <= set(call.parameters)
        and all(
            value == context.agreed[slot]
            if slot in context.agreed
            else goal.optional_slots.get(slot) == DONT_CARE and context.is_known(slot, value)
            for slot, value in call.parameters.items()
        )
    )


def _can_be_suggested(context: DeskContext, act: Act) -> bool:
    """Whether the user may choose among the values; a single one, to which they only say yes, is not made up."""
    slot = context.service.slots[act.slot]
    if not all(slot.takes(value) for value in act.values):
        return False
    is_made_up = len(act.values) == 1 and act.value not in (*slot.values, *slot.examples)
    return not is_made_up or context.is_known(act.slot, act.value)


def _is_tellable(context: DeskContext, event: Event) -> bool:
    act = Act.model_validate(event.payload)
    return bool(act.values) and all(context.service.takes(act.slot, value) for value in act.values)
