"""What the shop's charts do on the way."""

from __future__ import annotations

import re

from gatechart import Event, HandoffPacket, Turn
from statecharts.online_shop.context import Question, ShopContext
from statecharts.online_shop.guards import FROM_THE_WORKSHOP

OPENING_HOURS = "We are open from 8 to 20, on Sundays from 10"
POLICY = "You may send back anything within 30 days, and have your money a week later"


def hear(context: ShopContext, event: Event, turn: Turn) -> None:
    """Keep what the customer said, and an order number mentioned in it."""
    text = Question.model_validate(event.payload).text
    context.say("customer", text, turn.now)
    context.initial_query = context.initial_query or text
    context.current_problem = text
    if number := re.search(r"\b[A-Z]-\d+\b", text):
        context.entities["order_id"] = number.group()


def hear_wish(context: ShopContext, _event: Event) -> None:
    """Keep what the customer wants to have made."""
    context.entities["wish"] = context.current_problem


def tell_hours(context: ShopContext, _event: Event, turn: Turn) -> None:
    """Answers without asking anybody."""
    _answer(context, turn, OPENING_HOURS)


def ask_again(context: ShopContext, _event: Event, turn: Turn) -> None:
    """Says that nobody takes it just now."""
    _answer(context, turn, "I am sorry, nobody can help with that just now; may I do something else for you?")


def tell_that_somebody_is_asked(context: ShopContext, _event: Event, turn: Turn) -> None:
    """Says that somebody else is asked."""
    _answer(context, turn, "I ask somebody who can help with that")


def tell_status(context: ShopContext, event: Event, turn: Turn) -> None:
    """Says how the order stands."""
    order, status = context.entities.get("order_id", ""), str(event.payload["result"])
    context.entities["status"] = status
    context.note("look up the order", details=str(order), outcome=status)
    _answer(context, turn, f"Your order {order} is {status}")


def ask_for_number(context: ShopContext, event: Event, turn: Turn) -> None:
    """Says that there is no such order."""
    order = context.entities.pop("order_id", "")
    context.note("look up the order", details=str(order), outcome=str(event.payload["message"]))
    _answer(context, turn, "I do not find that order; what number has it?")


def note_workshop_failure(context: ShopContext, event: Event) -> None:
    """Keep what was tried without success: what a call raised, or what a signal tells of several."""
    wish = str(context.entities.get("wish", ""))
    evidence = event.payload.get("evidence", [{}])[0]
    outcome = f"failed {evidence['failures']} times by now" if "failures" in evidence else "failed"
    context.note(FROM_THE_WORKSHOP, details=wish, outcome=outcome)


def tell_special(context: ShopContext, event: Event, turn: Turn) -> None:
    """Says that it is ordered."""
    number = str(event.payload["result"])
    context.entities["special_order"] = number
    context.decisions.append(f"ordered as wished: {number}")
    _answer(context, turn, f"What you wish is ordered: {number}")


def take_over(context: ShopContext, _event: Event, turn: Turn) -> None:
    """Answers at once, from what the agent before knew: what is wanted, and what was tried in vain."""
    wish, failed = context.entities.get("wish", context.current_problem), _failures(context)
    tried = f"; the workshop failed {failed} times, so I ask the manufacturer" if failed else ""
    _answer(context, turn, f"I have read all: {wish!r}{tried}")


def tell_what_is_known(context: ShopContext, _event: Event, turn: Turn) -> None:
    """Answers a further question from what the packet brought, and asks the customer nothing again."""
    known = {"order": "order_id", "status": "status", "wish": "wish", "special order": "special_order"}
    told = [f"{what}: {context.entities[name]}" for what, name in known.items() if name in context.entities]
    _answer(context, turn, "; ".join(told) or "I know of no order yet; what number has it?")


def explain_policy(context: ShopContext, _event: Event, turn: Turn) -> None:
    """Answers at once what refunds there are, and for which order, where that is known."""
    order = context.entities.get("order_id")
    context.note("explain refunds", outcome=POLICY)
    _answer(context, turn, f"{POLICY}; that goes for {order}, too" if order else POLICY)


def take_back(context: ShopContext, event: Event, turn: Turn) -> None:
    """Goes on with a talk that a person had meanwhile."""
    context.take(HandoffPacket.model_validate(event.payload))
    _answer(context, turn, "I am back; what else may I do for you?")


def what_was_done(context: ShopContext, _event: Event) -> str:
    """Describe this agent's result in words; empty if it has none."""
    return "; ".join(f"{step.action}: {step.outcome}" for step in context.reasoning)


def _failures(context: ShopContext) -> int:
    return sum(step.action == FROM_THE_WORKSHOP for step in context.reasoning)


def _answer(context: ShopContext, turn: Turn, text: str) -> None:
    context.answer = text
    context.say("agent", text, turn.now)
