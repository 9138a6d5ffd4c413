"""The chart of a customer's case."""

from __future__ import annotations

from gatechart import ANY, EntryPoint, Invoke, State, StateTransitionGraph, Transition
from gatechart.graph.definition import Then
from statecharts.customer_service.actions import (
    count_solution,
    drop_solution,
    is_input_long_enough,
    is_patience_exhausted,
    is_solution_found,
    keep_found_solution,
    keep_solution,
    note_failure,
    note_feedback,
    note_input,
    note_nothing_found,
    note_reason,
    note_review,
    note_search_failure,
    note_ticket,
    reject_input,
    take_case,
    take_follow_up,
    welcome_customer,
)
from statecharts.customer_service.context import CaseFile, Chat, Complaint, FollowUp, SupportContext
from statecharts.customer_service.knowledge_base import search

_STATES = (
    State("IDLE", description="Nobody is there yet."),
    State("GREETING_CUSTOMER", description="The customer was welcomed and may say what is wrong."),
    State("COLLECTING_REQUIREMENTS", description="The customer tells what is wrong."),
    State("VALIDATING_INPUT", description="What was told is looked at: is there something to search for?"),
    State(
        "SEARCHING_KNOWLEDGE_BASE",
        invoke=Invoke(search, timeout_s=120),
        description="The knowledge base is asked; a colleague who knows may be quicker.",
    ),
    State("PROVIDING_SOLUTION", description="The customer hears the solution and tries it."),
    State("REQUESTING_FEEDBACK", description="The customer is asked how it went."),
    State("ENDING_INTERACTION", description="Farewell; a further question may still come."),
    State(
        "ESCALATING_ISSUE",
        after={"15m": Then("FAILED", actions=note_failure)},
        description="A person is asked to take over.",
    ),
    State("REVIEWING_HISTORY", description="A case handed over is read."),
    State("COMPLETED", final=True, description="The case is closed."),
    State("FAILED", final=True, failed=True, description="The case broke off; the context tells why."),
)

_TRANSITIONS = (
    Transition("IDLE", "CUSTOMER_INITIATED_CHAT", "GREETING_CUSTOMER", actions=welcome_customer),
    Transition("IDLE", "HANDOFF_FROM_ANOTHER_AGENT", "REVIEWING_HISTORY", actions=take_case),
    Transition("IDLE", "SYSTEM_TRIGGERED_FOLLOW_UP", "REQUESTING_FEEDBACK", actions=take_follow_up),
    Transition("GREETING_CUSTOMER", "CUSTOMER_PROVIDED_INPUT", "COLLECTING_REQUIREMENTS", actions=note_input),
    Transition("GREETING_CUSTOMER", "USER_REQUESTED_END", "ENDING_INTERACTION"),
    Transition("COLLECTING_REQUIREMENTS", "CUSTOMER_PROVIDED_INPUT", actions=note_input),
    Transition("COLLECTING_REQUIREMENTS", "REQUIREMENTS_COLLECTED", "VALIDATING_INPUT"),
    Transition("COLLECTING_REQUIREMENTS", "USER_REQUESTED_END", "ENDING_INTERACTION"),
    Transition("VALIDATING_INPUT", "INPUT_VALIDATED", "SEARCHING_KNOWLEDGE_BASE", guard=is_input_long_enough),
    Transition("VALIDATING_INPUT", "INPUT_VALIDATED", "COLLECTING_REQUIREMENTS", actions=reject_input),
    Transition(
        "REVIEWING_HISTORY",
        "HISTORY_REVIEWED",
        "SEARCHING_KNOWLEDGE_BASE",
        guard=is_input_long_enough,
        actions=note_review,
    ),
    Transition("REVIEWING_HISTORY", "HISTORY_REVIEWED", "COLLECTING_REQUIREMENTS", actions=note_review),
    Transition(
        "SEARCHING_KNOWLEDGE_BASE",
        "done.invoke.search",
        "PROVIDING_SOLUTION",
        guard=is_solution_found,
        actions=keep_found_solution,
    ),
    Transition("SEARCHING_KNOWLEDGE_BASE", "done.invoke.search", "ESCALATING_ISSUE", actions=note_nothing_found),
    Transition("SEARCHING_KNOWLEDGE_BASE", "error.invoke.search", "ESCALATING_ISSUE", actions=note_search_failure),
    Transition("SEARCHING_KNOWLEDGE_BASE", "KNOWLEDGE_BASE_SEARCHED", "PROVIDING_SOLUTION", actions=keep_solution),
    Transition("SEARCHING_KNOWLEDGE_BASE", "NO_SOLUTION_FOUND", "ESCALATING_ISSUE", actions=note_reason),
    Transition("PROVIDING_SOLUTION", "SOLUTION_PROVIDED", actions=count_solution),
    Transition("PROVIDING_SOLUTION", "CUSTOMER_ACCEPTED_SOLUTION", "REQUESTING_FEEDBACK"),
    Transition(
        "PROVIDING_SOLUTION",
        "CUSTOMER_REJECTED_SOLUTION",
        "ESCALATING_ISSUE",
        guard=is_patience_exhausted,
        actions=(drop_solution, note_reason),
    ),
    Transition("PROVIDING_SOLUTION", "CUSTOMER_REJECTED_SOLUTION", "COLLECTING_REQUIREMENTS", actions=drop_solution),
    Transition("PROVIDING_SOLUTION", "USER_REQUESTED_END", "ENDING_INTERACTION"),
    Transition("ESCALATING_ISSUE", "ISSUE_ESCALATED", "ENDING_INTERACTION", actions=note_ticket),
    Transition("REQUESTING_FEEDBACK", "FEEDBACK_RECEIVED", "ENDING_INTERACTION", actions=note_feedback),
    Transition("REQUESTING_FEEDBACK", "FEEDBACK_SKIPPED", "ENDING_INTERACTION"),
    Transition("REQUESTING_FEEDBACK", "USER_REQUESTED_END", "ENDING_INTERACTION"),
    Transition("ENDING_INTERACTION", "CUSTOMER_PROVIDED_INPUT", "COLLECTING_REQUIREMENTS", actions=note_input),
    Transition("ENDING_INTERACTION", "USER_REQUESTED_END", "COMPLETED"),
    Transition(ANY, "TIMEOUT", "FAILED", actions=note_failure),
    Transition(ANY, "ERROR_OCCURRED", "FAILED", actions=note_failure),
)

_ENTRY_POINTS = (
    EntryPoint("IDLE", description="Wait for one of the three business triggers."),
    EntryPoint(
        "GREETING_CUSTOMER",
        opens_on="CUSTOMER_INITIATED_CHAT",
        takes=Chat,
        description="A customer opened the chat.",
    ),
    EntryPoint(
        "REVIEWING_HISTORY",
        opens_on="HANDOFF_FROM_ANOTHER_AGENT",
        takes=CaseFile,
        description="A colleague hands over a case with all that is known of it.",
    ),
    EntryPoint(
        "REQUESTING_FEEDBACK",
        opens_on="SYSTEM_TRIGGERED_FOLLOW_UP",
        takes=FollowUp,
        description="Some days later: did the solution last?",
    ),
    EntryPoint(
        "ESCALATING_ISSUE",
        opens_on="COMPLAINT_RECEIVED",
        takes=Complaint,
        maps={"customer_name": "customer_name", "reason": "escalation_reason"},
        description="An issue that goes to a person at once.",
    ),
)

customer_service = StateTransitionGraph(
    "customer_service",
    context=SupportContext,
    states=_STATES,
    transitions=_TRANSITIONS,
    entry_points=_ENTRY_POINTS,
    description=(
        "A customer's case, from the first word to the farewell. Unlike the graph that it is modelled on, a "
        "person takes over only at the third rejection, for another search may help; ISSUE_ESCALATED leads to"
        " the farewell, where a question may still come; a case that was handed over is searched for only if "
        "it says enough; SYSTEM_TRIGGERED_FOLLOW_UP is spelled out; and the search runs by itself, as does "
        "the wait for a person."
    ),
)
