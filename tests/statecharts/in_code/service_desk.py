"""The chart of a service's desk: search first, or come with a transaction; both may follow each other."""

from __future__ import annotations

from gatechart import ANY, EntryPoint, State, StateTransitionGraph, Transition
from statecharts.service_desk import actions, guards
from statecharts.service_desk.context import DeskContext, Request

_STATES = (
    State(
        "SEARCH",
        description="The user looks for something.",
        states=(
            State("ELICITING_CRITERIA", description="Something that the search needs is still missing."),
            State("SEARCHING", description="All that is needed is known; the service looks."),
            State("OFFERING", description="The user considers what was found."),
            State("ANSWERING_ABOUT_OFFER", description="The user asked for details.", on_exit=actions.drop_questions),
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
            State("EXECUTING", description="The service does it."),
            State(
                "COUNTER_OFFERING",
                description="It failed; the service suggests something close to it.",
                on_exit=actions.drop_questions,
            ),
            State("DONE", description="It worked, and the user was told."),
            State(
                "ANSWERING_AFTERWARDS",
                description="The user asks about what was done.",
                on_exit=actions.drop_questions,
            ),
        ),
    ),
    State(
        "CLOSING",
        description="The conversation comes to its end, unless there is more to do.",
        states=(
            State("GIVEN_UP", description="Nothing was found, or it failed; perhaps something comes close to it."),
            State("WRAPPING_UP", description="The user has thanked, or declined; who speaks the last word?"),
            State("ASKING_FOR_MORE", description="The service asks whether there is anything else."),
            State("PARTING", description="The user wants nothing more, and may thank."),
            State("FAREWELL", description="The user has spoken their last word."),
        ),
    ),
    State("ENDED", final=True, description="The service has said goodbye."),
)


def _new_intents(source: str) -> tuple[Transition, ...]:
    """Where a user goes who says, in this state, what they want now."""
    event = "USER_STATED_INTENT"
    return (
        Transition(source, event, "ELICITING_DETAILS", guard=guards.is_transactional, actions=actions.take_intent),
        Transition(source, event, "SEARCHING", guard=guards.is_search_without_gaps, actions=actions.take_intent),
        Transition(source, event, "ELICITING_CRITERIA", guard=guards.is_search, actions=actions.take_intent),
    )


_SEARCH = (
    Transition("SEARCH", "USER_SAID_GOODBYE", "FAREWELL", description="Who only looks may leave at any time."),
    *_new_intents("SEARCH"),
    Transition(
        "ELICITING_CRITERIA",
        "USER_GAVE_DETAIL",
        "SEARCHING",
        guard=guards.is_last_required_detail,
        actions=actions.note_slot,
    ),
    Transition("ELICITING_CRITERIA", "USER_GAVE_DETAIL", guard=guards.is_new_detail, actions=actions.note_slot),
    Transition(
        "ELICITING_CRITERIA", "USER_CHOSE_OFFER", "SEARCHING", guard=guards.is_last_choice, actions=actions.take_offer
    ),
    Transition("ELICITING_CRITERIA", "USER_CHOSE_OFFER", guard=guards.is_on_offer, actions=actions.take_offer),
    Transition(
        "ELICITING_CRITERIA",
        "USER_AGREED",
        "SEARCHING",
        guard=guards.is_last_suggestion,
        actions=actions.take_suggestions,
    ),
    Transition("ELICITING_CRITERIA", "USER_AGREED", guard=guards.has_suggestion, actions=actions.take_suggestions),
    Transition("ELICITING_CRITERIA", "USER_DISAGREED", guard=guards.has_suggestion, actions=actions.drop_suggestions),
    Transition("ELICITING_CRITERIA", "SERVICE_ASKED_FOR_DETAIL", guard=guards.is_demand, actions=actions.ask),
    Transition(
        "ELICITING_CRITERIA",
        "SERVICE_CALLED",
        "SEARCHING",
        guard=guards.is_sound_search,
        actions=actions.search,
        description="The rest was said to another service.",
    ),
    Transition("SEARCHING", "USER_GAVE_DETAIL", guard=guards.is_new_detail, actions=actions.note_slot),
    Transition(
        "SEARCHING", "SERVICE_ASKED_FOR_DETAIL", "ELICITING_CRITERIA", guard=guards.is_demand, actions=actions.ask
    ),
    Transition("SEARCHING", "SERVICE_CALLED", guard=guards.is_sound_search, actions=actions.search),
    Transition("SEARCHING", "SERVICE_OFFERED", "OFFERING", guard=guards.is_offer, actions=actions.begin_offer),
    Transition("SEARCHING", "SERVICE_FAILED", "GIVEN_UP", actions=(actions.count_failure, actions.drop_offer)),
    Transition("OFFERING", "SERVICE_OFFERED", guard=guards.is_new_line, actions=actions.extend_offer),
    Transition("OFFERING", "SERVICE_COUNTED_RESULTS", guard=guards.is_first_count, actions=actions.note_count),
    Transition(
        "OFFERING",
        "USER_ASKED_QUESTION",
        "ANSWERING_ABOUT_OFFER",
        guard=guards.is_question,
        actions=actions.open_question,
    ),
    Transition("OFFERING", "USER_ASKED_FOR_ALTERNATIVES", "SEARCHING"),
    Transition("OFFERING", "USER_CHOSE_OFFER", "CHOICE_MADE", guard=guards.is_on_offer, actions=actions.take_offer),
    Transition("ANSWERING_ABOUT_OFFER", "USER_ASKED_QUESTION", guard=guards.is_question, actions=actions.open_question),
    Transition(
        "ANSWERING_ABOUT_OFFER",
        "SERVICE_ANSWERED",
        "OFFERING",
        guard=guards.is_last_answer,
        actions=actions.keep_answer,
    ),
    Transition("ANSWERING_ABOUT_OFFER", "SERVICE_ANSWERED", guard=guards.is_open_question, actions=actions.keep_answer),
    Transition("CHOICE_MADE", "SERVICE_ASKED_FOR_MORE", "ASKING_FOR_MORE"),
    Transition(
        "CHOICE_MADE",
        "SERVICE_PROPOSED_TRANSACTION",
        "PROPOSING_TRANSACTION",
        guard=guards.is_transactional,
        actions=actions.keep_proposal,
    ),
    Transition("PROPOSING_TRANSACTION", "USER_ACCEPTED_PROPOSAL", "ELICITING_DETAILS", actions=actions.take_proposal),
    Transition("PROPOSING_TRANSACTION", "USER_DECLINED_PROPOSAL", "WRAPPING_UP", actions=actions.drop_proposal),
)

_TRANSACTION = (
    Transition("ELICITING_DETAILS", "USER_GAVE_DETAIL", guard=guards.is_new_detail, actions=actions.note_slot),
    Transition("ELICITING_DETAILS", "USER_AGREED", guard=guards.has_suggestion, actions=actions.take_suggestions),
    Transition("ELICITING_DETAILS", "USER_DISAGREED", guard=guards.has_suggestion, actions=actions.drop_suggestions),
    Transition("ELICITING_DETAILS", "SERVICE_ASKED_FOR_DETAIL", guard=guards.is_demand, actions=actions.ask),
    Transition(
        "ELICITING_DETAILS",
        "SERVICE_ASKED_TO_CONFIRM",
        "CONFIRMING",
        guard=guards.is_as_said,
        actions=actions.read_back,
    ),
    Transition("CONFIRMING", "SERVICE_ASKED_TO_CONFIRM", guard=guards.is_as_said, actions=actions.read_back),
    Transition("CONFIRMING", "USER_AGREED", "EXECUTING", guard=guards.is_read_back, actions=actions.agree),
    Transition("CONFIRMING", "USER_DISAGREED", "ELICITING_DETAILS", actions=actions.drop_suggestions),
    Transition("EXECUTING", "USER_ASKED_QUESTION", guard=guards.is_question, actions=actions.open_question),
    Transition("EXECUTING", "SERVICE_CALLED", guard=guards.is_as_agreed),
    Transition(
        "EXECUTING",
        "SERVICE_SUCCEEDED",
        "ANSWERING_AFTERWARDS",
        guard=guards.has_questions,
        actions=actions.count_success,
    ),
    Transition("EXECUTING", "SERVICE_SUCCEEDED", "DONE", actions=actions.count_success),
    Transition("EXECUTING", "SERVICE_FAILED", "GIVEN_UP", actions=actions.count_failure),
    Transition("COUNTER_OFFERING", "SERVICE_OFFERED", guard=guards.is_new_line, actions=actions.extend_offer),
    Transition("COUNTER_OFFERING", "SERVICE_ANSWERED", guard=guards.is_open_question, actions=actions.keep_answer),
    Transition("COUNTER_OFFERING", "USER_AGREED", "EXECUTING", actions=actions.take_counter_offer),
    Transition("COUNTER_OFFERING", "USER_DISAGREED", "WRAPPING_UP", actions=actions.drop_offer),
    Transition("DONE", "USER_THANKED", "WRAPPING_UP"),
    Transition("DONE", "USER_SAID_GOODBYE", "FAREWELL"),
    *_new_intents("DONE"),
    Transition(
        "DONE", "USER_ASKED_QUESTION", "ANSWERING_AFTERWARDS", guard=guards.is_question, actions=actions.open_question
    ),
    Transition("ANSWERING_AFTERWARDS", "USER_ASKED_QUESTION", guard=guards.is_question, actions=actions.open_question),
    Transition(
        "ANSWERING_AFTERWARDS", "SERVICE_ANSWERED", "DONE", guard=guards.is_last_answer, actions=actions.keep_answer
    ),
    Transition("ANSWERING_AFTERWARDS", "SERVICE_ANSWERED", guard=guards.is_open_question, actions=actions.keep_answer),
)

_CLOSING = (
    Transition("GIVEN_UP", "SERVICE_OFFERED", "COUNTER_OFFERING", guard=guards.is_offer, actions=actions.begin_offer),
    Transition(
        "GIVEN_UP", "SERVICE_ASKED_FOR_MORE", "ASKING_FOR_MORE", actions=(actions.drop_questions, actions.drop_offer)
    ),
    Transition("WRAPPING_UP", "SERVICE_ASKED_FOR_MORE", "ASKING_FOR_MORE"),
    Transition("WRAPPING_UP", "USER_SAID_GOODBYE", "FAREWELL"),
    *_new_intents("WRAPPING_UP"),
    *_new_intents("ASKING_FOR_MORE"),
    Transition("ASKING_FOR_MORE", "USER_DISAGREED", "PARTING"),
    Transition("PARTING", "USER_THANKED", "FAREWELL"),
    Transition("PARTING", "USER_SAID_GOODBYE", "FAREWELL"),
    Transition("PARTING", "SERVICE_SAID_GOODBYE", "ENDED"),
    Transition("FAREWELL", "SERVICE_SAID_GOODBYE", "ENDED"),
)

_TURNS = Transition(
    ANY,
    "TURN_BEGAN",
    guard=guards.is_next_speaker,
    actions=actions.take_turn,
    description="User and service take turns.",
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
        guard=guards.has_required_slots,
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
    version="2",
    context=DeskContext,
    states=_STATES,
    transitions=(*_SEARCH, *_TRANSACTION, *_CLOSING, _TURNS),
    entry_points=_ENTRY_POINTS,
    description="A service's desk: it elicits, searches, offers, confirms and executes.",
)
