"""The questions that the chart asks, and what it does on the way."""

from __future__ import annotations

from typing import Final

from gatechart import Event
from statecharts.customer_service.context import (
    CaseFile,
    Chat,
    CustomerInput,
    Failure,
    Feedback,
    Finding,
    FollowUp,
    Reason,
    Review,
    SupportContext,
    Ticket,
)

LONGEST_TOO_SHORT: Final = 5  # characters; "help!" says nothing that could be searched for
MOST_REJECTIONS: Final = 2  # solutions that a customer may turn down before a person takes over


def is_input_long_enough(context: SupportContext, _event: Event) -> bool:
    """Whether there is something to search for."""
    return len(context.query) > LONGEST_TOO_SHORT


def is_patience_exhausted(context: SupportContext, _event: Event) -> bool:
    """Whether this rejection is one too many."""
    return len(context.solutions_rejected) >= MOST_REJECTIONS


def is_solution_found(_context: SupportContext, event: Event) -> bool:
    """Whether the search came to something."""
    return event.payload["result"] is not None


def welcome_customer(context: SupportContext, event: Event) -> None:
    """Note who the customer is."""
    context.customer_name = Chat.model_validate(event.payload).customer_name


def take_case(context: SupportContext, event: Event) -> None:
    """Take over what the previous agent knows."""
    case = CaseFile.model_validate(event.payload)
    context.case_id, context.customer_name, context.query = case.case_id, case.customer_name, case.query
    context.notes.extend(case.notes)


def take_follow_up(context: SupportContext, event: Event) -> None:
    """Remembers the case that is followed up."""
    past = FollowUp.model_validate(event.payload)
    context.case_id, context.customer_name, context.solution = past.case_id, past.customer_name, past.solution


def note_input(context: SupportContext, event: Event) -> None:
    """Keep the customer's last words, without surrounding blanks."""
    context.query = CustomerInput.model_validate(event.payload).text.strip()


def reject_input(context: SupportContext, _event: Event) -> None:
    """Drop words that say too little."""
    context.query = ""
    context.inputs_rejected += 1


def note_review(context: SupportContext, event: Event) -> None:
    """Add the result of the review."""
    note = Review.model_validate(event.payload).note
    if note:
        context.notes.append(note)


def keep_solution(context: SupportContext, event: Event) -> None:
    """Keep what a colleague found in the knowledge base."""
    context.solution = Finding.model_validate(event.payload).solution


def keep_found_solution(context: SupportContext, event: Event) -> None:
    """Keep the result of the search."""
    context.solution = event.payload["result"]


def note_nothing_found(context: SupportContext, _event: Event) -> None:
    """Tells the person who takes over that the knowledge base is no help."""
    context.escalation_reason = f"Nothing is known of {context.query!r}"


def note_search_failure(context: SupportContext, event: Event) -> None:
    """Tells the person who takes over why nothing was found."""
    context.escalation_reason = f"The search failed: {event.payload['message']}"


def count_solution(context: SupportContext, _event: Event) -> None:
    """Count one more solution presented to the customer."""
    context.times_provided += 1


def drop_solution(context: SupportContext, _event: Event) -> None:
    """Remembers what did not help, so that it is not offered again."""
    context.solutions_rejected.append(context.solution or "")
    context.solution = None


def note_reason(context: SupportContext, event: Event) -> None:
    """Tells the person who takes over why; without a reason given, by the name of the event."""
    context.escalation_reason = Reason.model_validate(event.payload).reason or event.name


def note_ticket(context: SupportContext, event: Event) -> None:
    """Remembers where the issue went."""
    context.ticket = Ticket.model_validate(event.payload).ticket


def note_feedback(context: SupportContext, event: Event) -> None:
    """Keep the customer's feedback."""
    feedback = Feedback.model_validate(event.payload)
    context.rating, context.comment = feedback.rating, feedback.comment


def note_failure(context: SupportContext, event: Event) -> None:
    """Keep what happened, with all its details."""
    context.failure = Failure(event=event.name, details=dict(event.payload))
