"""What the desk's chart does on the way."""

from __future__ import annotations

from gatechart import Event
from statecharts.service_desk.context import Asked, Choice, Count, DeskContext, Intent, Told


def take_intent(context: DeskContext, event: Event) -> None:
    """Turns to what the user wants now; what is known of their wishes stays known."""
    _pursue(context, Intent.model_validate(event.payload))


def note_slot(context: DeskContext, event: Event) -> None:
    """Notes what the user wants; their word goes before what the service offered or read back."""
    told = Told.model_validate(event.payload)
    context.slots[told.slot] = told.value
    context.offer.pop(told.slot, None)
    context.unconfirmed.pop(told.slot, None)


def begin_offer(context: DeskContext, event: Event) -> None:
    """Replaces the last offer by the first line of a new one."""
    context.offer, context.results = {}, None
    extend_offer(context, event)


def extend_offer(context: DeskContext, event: Event) -> None:
    """Adds a line to the offer."""
    told = Told.model_validate(event.payload)
    context.offer[told.slot] = told.values


def note_count(context: DeskContext, event: Event) -> None:
    """Notes how many results there are."""
    context.results = Count.model_validate(event.payload).values[0]


def take_offer(context: DeskContext, event: Event) -> None:
    """Makes the offer the user's wish, with the value they chose where it left several."""
    choice = Choice.model_validate(event.payload)
    context.slots.update({slot: values[0] for slot, values in context.offer.items() if len(values) == 1})
    if choice.slot and choice.values:
        context.slots[choice.slot] = choice.values[0]
    context.offer = {}


def keep_proposal(context: DeskContext, event: Event) -> None:
    """Remembers what the service proposed to do next."""
    context.proposal = Intent.model_validate(event.payload)


def take_proposal(context: DeskContext, _event: Event) -> None:
    """Turns to what the service proposed."""
    if context.proposal is not None:
        _pursue(context, context.proposal)


def drop_proposal(context: DeskContext, _event: Event) -> None:
    """Forgets what the user declined."""
    context.proposal = None


def _pursue(context: DeskContext, intent: Intent) -> None:
    context.intent, context.required_slots = intent.intent, intent.required_slots
    context.proposal = None
    context.unconfirmed = {}


def read_back(context: DeskContext, event: Event) -> None:
    """Notes what the service understood, until the user says whether it is right."""
    told = Told.model_validate(event.payload)
    context.unconfirmed[told.slot] = told.value


def settle_slots(context: DeskContext, _event: Event) -> None:
    """Makes certain what the user agreed to."""
    context.slots.update(context.unconfirmed)
    context.unconfirmed = {}


def open_question(context: DeskContext, event: Event) -> None:
    """Notes what the user wants to know."""
    slot = Asked.model_validate(event.payload).slot
    if slot not in context.questions:
        context.questions.append(slot)


def keep_answer(context: DeskContext, event: Event) -> None:
    """Notes what the service told, and that the question is answered."""
    told = Told.model_validate(event.payload)
    context.answers[told.slot] = told.value
    context.questions = [slot for slot in context.questions if slot != told.slot]


def drop_questions(context: DeskContext, _event: Event) -> None:
    """Forgets what was never answered: the talk has moved on."""
    context.questions = []


def drop_offer(context: DeskContext, _event: Event) -> None:
    """Forgets an offer that nobody can take any more."""
    context.offer = {}


def count_success(context: DeskContext, _event: Event) -> None:
    """Counts what was done for the user."""
    context.successes += 1


def count_failure(context: DeskContext, _event: Event) -> None:
    """Counts what could not be done."""
    context.failures += 1
