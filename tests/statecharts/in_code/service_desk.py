"""The chart of a service's desk: search first, or come with a transaction; both may follow each other."""

from __future__ import annotations

from gatechart import EntryPoint, State, StateTransitionGraph, Transition
from statecharts.service_desk.actions import (
    begin_offer,
    count_failure,
    count_success,
    drop_offer,
    drop_proposal,
    drop_questions,
    extend_offer,
    keep_answer,
    keep_proposal,
    note_count,
    note_slot,
    open_question,
    read_back,
    settle_slots,
    take_intent,
    take_offer,
    take_proposal,
)
from statecharts.service_desk.context import DeskContext, Request
from statecharts.service_desk.guards import (
    has_counter_offer,
    has_required_slots,
    is_last_answer,
    is_last_required_slot,
    is_search_without_gaps,
    is_transactional,
)

_STATES = (
    State(
        "SEARCH",
        description="The user looks for something.",
        states=(
            State("ELICITING_CRITERIA", description="Something that the search needs is still missing."),
            State("SEARCHING", description="All that is needed is known; the service looks."),
            State("OFFERING", description="The user considers what was found."),
            State("ANSWERING_ABOUT_OFFER", description="The user asked for details.", on_exit=drop_questions),
            State("CHOICE_MADE", description="The user has taken an offer."),
            State("PROPOSING_TRANSACTION", description="The service proposes to book what was chosen."),
        ),
    ),
    State(
        "TRANSACTION",
        description="The user wants something done.",
        states=(
            State("ELICITING_DETAILS", description="The details of what is to be done are gathered."),
            State("CONFIRMING", description="The details are read back; the user agrees or corrects."),
            State("EXECUTING", description="The service does it.", on_exit=drop_questions),
            State("COUNTER_OFFERING", description="It failed; the service suggests something close to it."),
            State("DONE", description="It worked, and the user was told."),
            State("ANSWERING_AFTERWARDS", description="The user asks about what was done.", on_exit=drop_questions),
        ),
    ),
    State(
        "CLOSING",
        description="The conversation comes to its end, unless there is more to do.",
        states=(
            State("GIVEN_UP", description="Nothing was found, or it failed, and nothing comes close to it."),
            State("WRAPPING_UP", description="The user has thanked, or declined; who speaks the last word?"),
            State("ASKING_FOR_MORE", description="The service asks whether there is anything else."),
            State("PARTING", description="The user wants nothing more."),
        ),
    ),
    State("ENDED", final=True, description="The service has said goodbye."),
)


def _new_intents(source: str) -> tuple[Transition, ...]:
    """Where a user goes who says, in this state, what they want now."""
    event = "USER_STATED_INTENT"
    return (
        Transition(source, event, "ELICITING_DETAILS", guard=is_transactional, actions=take_intent),
        Transition(source, event, "SEARCHING", guard=is_search_without_gaps, actions=take_intent),
        Transition(source, event, "ELICITING_CRITERIA", actions=take_intent),
    )


_SEARCH = (
    Transition("ELICITING_CRITERIA", "USER_GAVE_DETAIL", "SEARCHING", guard=is_last_required_slot, actions=note_slot),
    Transition("ELICITING_CRITERIA", "USER_GAVE_DETAIL", actions=note_slot),
    Transition("ELICITING_CRITERIA", "USER_CHOSE_OFFER", actions=take_offer),
    Transition("ELICITING_CRITERIA", "SERVICE_ASKED_FOR_DETAIL"),
    Transition("SEARCHING", "USER_GAVE_DETAIL", actions=note_slot),
    Transition("SEARCHING", "USER_CHOSE_OFFER", actions=take_offer),
    Transition("SEARCHING", "SERVICE_OFFERED", "OFFERING", actions=begin_offer),
    Transition("SEARCHING", "SERVICE_FAILED", "GIVEN_UP", actions=count_failure),
    Transition("OFFERING", "SERVICE_OFFERED", actions=extend_offer),
    Transition("OFFERING", "SERVICE_COUNTED_RESULTS", actions=note_count),
    Transition("OFFERING", "USER_ASKED_QUESTION", "ANSWERING_ABOUT_OFFER", actions=open_question),
    Transition("OFFERING", "USER_GAVE_DETAIL", actions=note_slot),
    Transition("OFFERING", "USER_ASKED_FOR_ALTERNATIVES", "SEARCHING"),
    Transition("OFFERING", "USER_CHOSE_OFFER", "CHOICE_MADE", actions=take_offer),
    *_new_intents("OFFERING"),
    Transition("ANSWERING_ABOUT_OFFER", "USER_ASKED_QUESTION", actions=open_question),
    Transition("ANSWERING_ABOUT_OFFER", "SERVICE_ANSWERED", "OFFERING", guard=is_last_answer, actions=keep_answer),
    Transition("ANSWERING_ABOUT_OFFER", "SERVICE_ANSWERED", actions=keep_answer),
    Transition("CHOICE_MADE", "SERVICE_ASKED_FOR_MORE", "ASKING_FOR_MORE"),
    Transition(
        "CHOICE_MADE",
        "SERVICE_PROPOSED_TRANSACTION",
        "PROPOSING_TRANSACTION",
        guard=is_transactional,
        actions=keep_proposal,
    ),
    Transition("PROPOSING_TRANSACTION", "USER_ACCEPTED_PROPOSAL", "ELICITING_DETAILS", actions=take_proposal),
    Transition("PROPOSING_TRANSACTION", "USER_DECLINED_PROPOSAL", "WRAPPING_UP", actions=drop_proposal),
    Transition("SEARCH", "USER_SAID_GOODBYE", "PARTING", description="Who only looks may leave at any time."),
)

_TRANSACTION = (
    Transition("ELICITING_DETAILS", "USER_GAVE_DETAIL", actions=note_slot),
    Transition("ELICITING_DETAILS", "USER_CHOSE_OFFER", actions=take_offer),
    Transition("ELICITING_DETAILS", "SERVICE_ASKED_FOR_DETAIL"),
    Transition("ELICITING_DETAILS", "SERVICE_ASKED_TO_CONFIRM", "CONFIRMING", actions=read_back),
    Transition("CONFIRMING", "SERVICE_ASKED_TO_CONFIRM", actions=read_back),
    Transition("CONFIRMING", "USER_ASKED_QUESTION", actions=open_question),
    Transition("CONFIRMING", "USER_GAVE_DETAIL", actions=note_slot),
    Transition("CONFIRMING", "USER_AGREED", "EXECUTING", guard=has_required_slots, actions=(settle_slots, drop_offer)),
    Transition("CONFIRMING", "USER_DISAGREED", "ELICITING_DETAILS"),
    Transition("EXECUTING", "SERVICE_ANSWERED", actions=keep_answer),
    Transition("EXECUTING", "SERVICE_OFFERED", actions=extend_offer),
    Transition("EXECUTING", "SERVICE_SUCCEEDED", "DONE", actions=count_success),
    Transition("EXECUTING", "SERVICE_FAILED", "COUNTER_OFFERING", guard=has_counter_offer, actions=count_failure),
    Transition("EXECUTING", "SERVICE_FAILED", "GIVEN_UP", actions=count_failure),
    Transition("COUNTER_OFFERING", "USER_AGREED", "EXECUTING", actions=take_offer),
    Transition("COUNTER_OFFERING", "USER_DISAGREED", "WRAPPING_UP", actions=drop_offer),
    Transition("DONE", "USER_THANKED", "WRAPPING_UP"),
    Transition("DONE", "USER_SAID_GOODBYE", "PARTING"),
    Transition("DONE", "USER_ASKED_QUESTION", "ANSWERING_AFTERWARDS", actions=open_question),
    Transition("ANSWERING_AFTERWARDS", "USER_ASKED_QUESTION", actions=open_question),
    Transition("ANSWERING_AFTERWARDS", "SERVICE_ANSWERED", "DONE", guard=is_last_answer, actions=keep_answer),
    Transition("ANSWERING_AFTERWARDS", "SERVICE_ANSWERED", actions=keep_answer),
)

_CLOSING = (
    Transition("GIVEN_UP", "SERVICE_ASKED_FOR_MORE", "ASKING_FOR_MORE"),
    Transition("WRAPPING_UP", "SERVICE_ASKED_FOR_MORE", "ASKING_FOR_MORE"),
    Transition("WRAPPING_UP", "USER_SAID_GOODBYE", "PARTING"),
    Transition("ASKING_FOR_MORE", "USER_GAVE_DETAIL", actions=note_slot),
    *_new_intents("ASKING_FOR_MORE"),
    Transition("ASKING_FOR_MORE", "USER_DISAGREED", "PARTING"),
    Transition("PARTING", "USER_THANKED"),
    Transition("PARTING", "SERVICE_SAID_GOODBYE", "ENDED"),
)

_ENTRY_POINTS = (
    EntryPoint(
        "ELICITING_CRITERIA",
        opens_on="SEARCH_REQUESTED",
        takes=Request,
        description="A search, of which something is missing.",
    ),
    EntryPoint(
        "SEARCHING",
        opens_on="COMPLETE_SEARCH_REQUESTED",
        takes=Request,
        guard=has_required_slots,
        description="A search of which all is known, or that needs nothing to be known.",
    ),
    EntryPoint(
        "ELICITING_DETAILS",
        opens_on="TRANSACTION_REQUESTED",
        takes=Request,
        description="Something to be done at once: to book, to buy, to reserve.",
    ),
)

service_desk = StateTransitionGraph(
    "service_desk",
    context=DeskContext,
    states=_STATES,
    transitions=(*_SEARCH, *_TRANSACTION, *_CLOSING),
    entry_points=_ENTRY_POINTS,
    description="A service's desk: it elicits, searches, offers, confirms and executes.",
)
