"""What happens to customers: the stories that the demo tells and the tests check."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from statecharts.customer_service.context import CaseFile, Chat, Complaint, FollowUp
from statecharts.scenario import Awaited, Scenario

_GRAPH: Final = "customer_service"
_CASE: Final = CaseFile(
    case_id="C-1042",
    customer_name="Grace",
    query="The invoice shows the wrong address",
    notes=("Called twice", "Sent a photo of the invoice"),
)
_PAST: Final = FollowUp(case_id="C-0977", customer_name="Alan", solution="Replace the battery")

SOLVED_AT_ONCE: Final = Scenario(
    name="solved at once",
    story="Ada opens a chat, describes her problem, and the first solution helps.",
    graph=_GRAPH,
    on="CUSTOMER_INITIATED_CHAT",
    payload=Chat(customer_name="Ada"),
    events=(
        ("CUSTOMER_PROVIDED_INPUT", {"text": "My router drops the line every evening"}),
        ("REQUIREMENTS_COLLECTED", {}),
        ("INPUT_VALIDATED", {}),
        Awaited("PROVIDING_SOLUTION"),
        ("SOLUTION_PROVIDED", {}),
        ("CUSTOMER_ACCEPTED_SOLUTION", {}),
        ("FEEDBACK_RECEIVED", {"rating": 5, "comment": "Quick and clear"}),
        ("USER_REQUESTED_END", {}),
    ),
    ends_in="COMPLETED",
    expects={"customer_name": "Ada", "solution": "Update the firmware to 2.4", "rating": 5},
)

HANDED_OVER: Final = Scenario(
    name="handed over by a person",
    story="A colleague hands over Grace's case; the agent reads the history and searches without asking her again.",
    graph=_GRAPH,
    at="REVIEWING_HISTORY",
    payload=_CASE,
    events=(
        ("HISTORY_REVIEWED", {"note": "The address was changed in May"}),
        Awaited("PROVIDING_SOLUTION"),
        ("SOLUTION_PROVIDED", {}),
        ("CUSTOMER_ACCEPTED_SOLUTION", {}),
        ("FEEDBACK_SKIPPED", {}),
        ("USER_REQUESTED_END", {}),
    ),
    ends_in="COMPLETED",
    expects={
        "case_id": "C-1042",
        "notes": ["Called twice", "Sent a photo of the invoice", "The address was changed in May"],
        "solution": "Issue a corrected invoice",
    },
)

FOLLOWED_UP: Final = Scenario(
    name="followed up",
    story="A week after the battery was replaced, the system asks Alan whether it still holds.",
    graph=_GRAPH,
    on="SYSTEM_TRIGGERED_FOLLOW_UP",
    payload=_PAST,
    events=(
        ("FEEDBACK_RECEIVED", {"rating": 4}),
        ("USER_REQUESTED_END", {}),
    ),
    ends_in="COMPLETED",
    expects={"case_id": "C-0977", "solution": "Replace the battery", "rating": 4},
)

HARD_TO_SOLVE: Final = Scenario(
    name="bad input, no solution, escalation",
    story="Linus writes 'help!', then says more; nothing is found, so a person takes over.",
    graph=_GRAPH,
    at="GREETING_CUSTOMER",
    payload=Chat(customer_name="Linus"),
    events=(
        ("CUSTOMER_PROVIDED_INPUT", {"text": "help!"}),
        ("REQUIREMENTS_COLLECTED", {}),
        ("INPUT_VALIDATED", {}),
        ("CUSTOMER_PROVIDED_INPUT", {"text": "The lamp glows although it is unplugged"}),
        ("REQUIREMENTS_COLLECTED", {}),
        ("INPUT_VALIDATED", {}),
        Awaited("ESCALATING_ISSUE"),
        ("ISSUE_ESCALATED", {"ticket": "T-7"}),
        ("USER_REQUESTED_END", {}),
    ),
    ends_in="COMPLETED",
    expects={
        "inputs_rejected": 1,
        "escalation_reason": "Nothing is known of 'The lamp glows although it is unplugged'",
        "ticket": "T-7",
    },
)

CHAT_AT_IDLE: Final = Scenario(
    name="idle, then a chat",
    story="An idle agent is woken by Barbara, who changes her mind and leaves.",
    graph=_GRAPH,
    at="IDLE",
    events=(
        ("CUSTOMER_INITIATED_CHAT", {"customer_name": "Barbara"}),
        ("USER_REQUESTED_END", {}),
        ("USER_REQUESTED_END", {}),
    ),
    ends_in="COMPLETED",
    expects={"customer_name": "Barbara", "query": ""},
)

HANDOFF_AT_IDLE: Final = Scenario(
    name="idle, then a handoff",
    story="An idle agent is handed Grace's case; the search fails, and for a quarter of an hour no person comes.",
    graph=_GRAPH,
    at="IDLE",
    events=(
        ("HANDOFF_FROM_ANOTHER_AGENT", {**_CASE.model_dump(mode="json"), "query": "Wrong currency on the invoice"}),
        ("HISTORY_REVIEWED", {}),
        Awaited("ESCALATING_ISSUE"),
        Awaited("FAILED", after=timedelta(minutes=15)),
    ),
    ends_in="FAILED",
    expects={"case_id": "C-1042", "escalation_reason": "The search failed: the archive does not answer"},
)

FOLLOW_UP_AT_IDLE: Final = Scenario(
    name="idle, then a follow-up",
    story="Told to ask Alan how it went, an idle agent searches for his new question; a colleague is quicker.",
    graph=_GRAPH,
    at="IDLE",
    events=(
        ("SYSTEM_TRIGGERED_FOLLOW_UP", _PAST.model_dump(mode="json")),
        ("FEEDBACK_SKIPPED", {}),
        ("CUSTOMER_PROVIDED_INPUT", {"text": "Where do I return the old battery?"}),
        ("REQUIREMENTS_COLLECTED", {}),
        ("INPUT_VALIDATED", {}),
        ("KNOWLEDGE_BASE_SEARCHED", {"solution": "At any of our shops"}),
        ("SOLUTION_PROVIDED", {}),
        ("CUSTOMER_ACCEPTED_SOLUTION", {}),
        ("FEEDBACK_RECEIVED", {"rating": 5}),
        ("USER_REQUESTED_END", {}),
    ),
    ends_in="COMPLETED",
    expects={"case_id": "C-0977", "solution": "At any of our shops", "rating": 5},
)

ESCALATED_AT_ONCE: Final = Scenario(
    name="escalated at once",
    story="Margaret smells smoke: her issue enters at the escalation, and a person has it a minute later.",
    graph=_GRAPH,
    at="ESCALATING_ISSUE",
    payload=Complaint(customer_name="Margaret", reason="The charger smells of smoke"),
    events=(
        ("ISSUE_ESCALATED", {"ticket": "T-8"}),
        ("USER_REQUESTED_END", {}),
    ),
    ends_in="COMPLETED",
    expects={"escalation_reason": "The charger smells of smoke", "ticket": "T-8"},
)

TURNED_DOWN_THRICE: Final = Scenario(
    name="turned down thrice",
    story="Nothing that Dennis is told helps him; after the third solution a person takes over.",
    graph=_GRAPH,
    at="GREETING_CUSTOMER",
    payload=Chat(customer_name="Dennis"),
    events=(
        ("CUSTOMER_PROVIDED_INPUT", {"text": "The printer prints blank pages"}),
        *(
            step
            for _ in range(3)
            for step in (
                ("REQUIREMENTS_COLLECTED", {}),
                ("INPUT_VALIDATED", {}),
                Awaited("PROVIDING_SOLUTION"),
                ("SOLUTION_PROVIDED", {}),
                ("CUSTOMER_REJECTED_SOLUTION", {"reason": "Still blank"}),
            )
        ),
        ("ISSUE_ESCALATED", {"ticket": "T-9"}),
        ("USER_REQUESTED_END", {}),
    ),
    ends_in="COMPLETED",
    expects={
        "solutions_rejected": ["Change the cartridge", "Clean the heads", "Install the driver again"],
        "escalation_reason": "Still blank",
    },
)

scenarios: Final = (
    SOLVED_AT_ONCE,
    HANDED_OVER,
    FOLLOWED_UP,
    HARD_TO_SOLVE,
    CHAT_AT_IDLE,
    HANDOFF_AT_IDLE,
    FOLLOW_UP_AT_IDLE,
    ESCALATED_AT_ONCE,
    TURNED_DOWN_THRICE,
)
