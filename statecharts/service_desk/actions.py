"""What the desk's chart does on the way."""

from __future__ import annotations

from gatechart import Event
from statecharts.service_desk.context import Act, Call, DeskContext, TurnBegun


def take_turn(context: DeskContext, event: Event) -> None:
    """Note who speaks; what was said within the turn before is not repeated if it is said again."""
    context.speaker = TurnBegun.model_validate(event.payload).speaker
    context.given = []
    if context.speaker == "system":
        context.asked = {}


def take_intent(context: DeskContext, event: Event) -> None:
    """Turn to what the user wants now; what is known of their wishes stays known."""
    _pursue(context, Act.model_validate(event.payload).value)


def note_slot(context: DeskContext, event: Event) -> None:
    """Note what the user wants; their word goes before what the service offered, suggested or read back."""
    act = Act.model_validate(event.payload)
    context.slots[act.slot] = act.value
    context.given.append(act.slot)
    for told in (context.offer, context.asked, context.read_back):
        told.pop(act.slot, None)


def ask(context: DeskContext, event: Event) -> None:
    """Note what the service asks for, and what it suggests."""
    act = Act.model_validate(event.payload)
    context.asked[act.slot] = act.values


def take_suggestions(context: DeskContext, _event: Event) -> None:
    """Make what the service suggested the user's wish."""
    context.slots.update({slot: values[0] for slot, values in context.asked.items() if len(values) == 1})
    context.asked = {}


def drop_suggestions(context: DeskContext, _event: Event) -> None:
    """Forget what the user does not want."""
    context.asked = {}


def search(context: DeskContext, event: Event) -> None:
    """Note what the service looks for, of which some may have been said to another one."""
    context.slots = {**Call.model_validate(event.payload).parameters, **context.slots}


def begin_offer(context: DeskContext, event: Event) -> None:
    """Replace the last offer by the first line of a new one."""
    context.offer, context.results = {}, None
    extend_offer(context, event)


def extend_offer(context: DeskContext, event: Event) -> None:
    """Add a line to the offer, which may answer a question."""
    act = Act.model_validate(event.payload)
    context.offer[act.slot] = act.values
    _answer(context, act.slot)


def note_count(context: DeskContext, event: Event) -> None:
    """Note how many results there are."""
    context.results = int(Act.model_validate(event.payload).value)


def take_offer(context: DeskContext, event: Event) -> None:
    """Make the offer the user's wish, with the value they chose where it left several."""
    act = Act.model_validate(event.payload)
    context.slots.update({slot: values[0] for slot, values in context.offer.items() if len(values) == 1})
    if act.slot and act.values:
        context.slots[act.slot] = act.value
    context.offer = {}


def take_counter_offer(context: DeskContext, event: Event) -> None:
    """Make the offer what the user wants and agrees to."""
    context.agreed.update({slot: values[0] for slot, values in context.offer.items() if len(values) == 1})
    take_offer(context, event)


def drop_offer(context: DeskContext, _event: Event) -> None:
    """Forget an offer that nobody can take any more."""
    context.offer = {}


def keep_proposal(context: DeskContext, event: Event) -> None:
    """Remember what the service proposed to do next."""
    context.proposal = Act.model_validate(event.payload).value


def take_proposal(context: DeskContext, _event: Event) -> None:
    """Turn to what the service proposed."""
    _pursue(context, context.proposal)


def drop_proposal(context: DeskContext, _event: Event) -> None:
    """Forget what the user declined."""
    context.proposal = ""


def read_back(context: DeskContext, event: Event) -> None:
    """Note what the service understood, until the user says whether it is right."""
    act = Act.model_validate(event.payload)
    context.asked[act.slot] = act.values
    context.read_back[act.slot] = act.value


def agree(context: DeskContext, _event: Event) -> None:
    """Make certain what was read back."""
    context.agreed = context.read_back
    context.slots.update(context.read_back)
    context.offer, context.read_back, context.asked = {}, {}, {}


def open_question(context: DeskContext, event: Event) -> None:
    """Note what the user wants to know."""
    context.questions.append(Act.model_validate(event.payload).slot)


def keep_answer(context: DeskContext, event: Event) -> None:
    """Note what the service told, and that the question is answered."""
    act = Act.model_validate(event.payload)
    context.answers[act.slot] = act.value
    _answer(context, act.slot)


def drop_questions(context: DeskContext, _event: Event) -> None:
    """Forget what was never answered: the talk has moved on."""
    context.questions = []


def count_success(context: DeskContext, _event: Event) -> None:
    """Count what was done for the user."""
    context.successes += 1


def count_failure(context: DeskContext, _event: Event) -> None:
    """Count what could not be done."""
    context.failures += 1


def _answer(context: DeskContext, asked: str) -> None:
    context.questions = [slot for slot in context.questions if slot != asked]


def _pursue(context: DeskContext, intent: str) -> None:
    context.intent, context.proposal = intent, ""
    context.asked, context.read_back, context.agreed = {}, {}, {}
