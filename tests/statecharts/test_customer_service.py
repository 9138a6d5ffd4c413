from __future__ import annotations

from typing import Any

import pytest

from gatechart import Agent, RefusalReason, Runtime
from gatechart.errors import ActionFailedError, EntryRefusedError, PayloadError
from statecharts.customer_service import customer_service, scenarios
from statecharts.customer_service.context import CaseFile, Failure
from statecharts.scenario import begin

WORKING = (
    "IDLE",
    "GREETING_CUSTOMER",
    "COLLECTING_REQUIREMENTS",
    "VALIDATING_INPUT",
    "SEARCHING_KNOWLEDGE_BASE",
    "PROVIDING_SOLUTION",
    "REQUESTING_FEEDBACK",
    "ENDING_INTERACTION",
    "ESCALATING_ISSUE",
    "REVIEWING_HISTORY",
)
EVENTS = {
    "CUSTOMER_INITIATED_CHAT",
    "HANDOFF_FROM_ANOTHER_AGENT",
    "SYSTEM_TRIGGERED_FOLLOW_UP",
    "CUSTOMER_PROVIDED_INPUT",
    "REQUIREMENTS_COLLECTED",
    "INPUT_VALIDATED",
    "KNOWLEDGE_BASE_SEARCHED",
    "SOLUTION_PROVIDED",
    "CUSTOMER_ACCEPTED_SOLUTION",
    "CUSTOMER_REJECTED_SOLUTION",
    "FEEDBACK_RECEIVED",
    "FEEDBACK_SKIPPED",
    "USER_REQUESTED_END",
    "NO_SOLUTION_FOUND",
    "ISSUE_ESCALATED",
    "HISTORY_REVIEWED",
    "TIMEOUT",
    "ERROR_OCCURRED",
}
CASE = {"case_id": "C-1", "customer_name": "Ada", "query": "The lamp is broken"}


async def reach(runtime: Runtime, state: str) -> Agent:
    """An agent that a scenario has brought into the state."""
    for scenario in scenarios:
        agent = await begin(scenario, runtime)
        for event, payload in scenario.events:
            if agent.configuration == (state,):
                return agent
            await agent.send(event, payload)
    raise AssertionError(f"no scenario passes through {state}")


async def at_validation(runtime: Runtime, text: str) -> Agent:
    agent = await runtime.start("customer_service", at="GREETING_CUSTOMER")
    await agent.send("CUSTOMER_PROVIDED_INPUT", {"text": text})
    await agent.send("REQUIREMENTS_COLLECTED")
    return agent


async def is_unchanged(agent: Agent, before: tuple[Any, ...]) -> bool:
    return before == (agent.snapshot, tuple(await agent.history()))


def test_the_chart_has_just_the_states_and_events_that_were_asked_for() -> None:
    assert customer_service.states == (*WORKING, "COMPLETED", "FAILED")
    assert set(customer_service.events) == EVENTS


@pytest.mark.parametrize(
    ("trigger", "payload", "state"),
    [
        ("CUSTOMER_INITIATED_CHAT", None, "GREETING_CUSTOMER"),
        ("HANDOFF_FROM_ANOTHER_AGENT", CASE, "REVIEWING_HISTORY"),
        ("SYSTEM_TRIGGERED_FOLLOW_UP", {"case_id": "C-1", "customer_name": "Ada"}, "REQUESTING_FEEDBACK"),
    ],
)
async def test_a_business_trigger_opens_the_same_state_from_outside_and_from_idle(
    runtime: Runtime, trigger: str, payload: dict[str, str] | None, state: str
) -> None:
    entered = await runtime.start_on(trigger, payload)
    woken = await runtime.start("customer_service", at="IDLE")
    await woken.send(trigger, payload)
    assert entered.configuration == woken.configuration == (state,)
    assert entered.context == woken.context


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("", "COLLECTING_REQUIREMENTS"),
        ("12345", "COLLECTING_REQUIREMENTS"),
        ("  12345  ", "COLLECTING_REQUIREMENTS"),
        ("123456", "SEARCHING_KNOWLEDGE_BASE"),
        ("änder!", "SEARCHING_KNOWLEDGE_BASE"),
    ],
)
async def test_input_of_five_characters_leads_back_and_of_six_to_the_search(
    in_memory: Runtime, text: str, state: str
) -> None:
    agent = await at_validation(in_memory, text)
    await agent.send("INPUT_VALIDATED")
    assert agent.configuration == (state,)
    assert agent.context.inputs_rejected == (state == "COLLECTING_REQUIREMENTS")


@pytest.mark.parametrize(
    ("query", "state"), [("lamp", "COLLECTING_REQUIREMENTS"), ("my lamp", "SEARCHING_KNOWLEDGE_BASE")]
)
async def test_a_case_without_a_proper_query_is_asked_for_one_after_its_review(
    in_memory: Runtime, query: str, state: str
) -> None:
    agent = await in_memory.start("customer_service", at="REVIEWING_HISTORY", payload={**CASE, "query": query})
    await agent.send("HISTORY_REVIEWED", {"note": "read"})
    assert agent.configuration == (state,)
    assert agent.context.notes == ["read"]


@pytest.mark.parametrize("event", ["TIMEOUT", "ERROR_OCCURRED"])
@pytest.mark.parametrize("state", WORKING)
async def test_every_working_state_fails_in_one_transition_and_keeps_the_details(
    runtime: Runtime, state: str, event: str
) -> None:
    agent = await reach(runtime, state)
    details = {"after_s": 30, "where": {"host": "kb-2"}}
    outcome = await agent.send(event, details)
    assert outcome.taken == (f"* --{event}--> FAILED",)
    assert agent.configuration == ("FAILED",)
    assert agent.context.failure == Failure(event=event, details=details)


@pytest.mark.parametrize("state", ["COMPLETED", "FAILED"])
async def test_a_case_that_has_ended_refuses_everything(runtime: Runtime, state: str) -> None:
    agent = await runtime.start("customer_service", at="IDLE")
    if state == "FAILED":
        await agent.send("TIMEOUT")
    else:
        for event in ("CUSTOMER_INITIATED_CHAT", "USER_REQUESTED_END", "USER_REQUESTED_END"):
            await agent.send(event)
    assert agent.configuration == (state,)
    before = (agent.snapshot, tuple(await agent.history()))
    for event in sorted(EVENTS):
        outcome = await agent.send(event)
        assert outcome.refusal is not None
        assert outcome.refusal.reason is RefusalReason.AGENT_ENDED
    assert await is_unchanged(agent, before)


@pytest.mark.parametrize(
    ("at", "payload", "problem"),
    [
        ("REVIEWING_HISTORY", None, "case_id: Field required"),
        ("REVIEWING_HISTORY", {"case_id": "C-1"}, "customer_name: Field required"),
        ("REVIEWING_HISTORY", {**CASE, "mood": "bad"}, "mood: Extra inputs are not permitted"),
        ("REVIEWING_HISTORY", {**CASE, "notes": "one"}, "notes: Input should be a valid tuple"),
        ("REQUESTING_FEEDBACK", {"case_id": ""}, "case_id: String should have at least 1 character"),
        ("ESCALATING_ISSUE", {"customer_name": "Ada"}, "reason: Field required"),
        ("IDLE", CASE, "it takes no payload"),
    ],
)
async def test_a_payload_that_does_not_fit_starts_nothing(
    runtime: Runtime, at: str, payload: Any, problem: str
) -> None:
    with pytest.raises(PayloadError) as caught:
        await runtime.start("customer_service", at=at, payload=payload)
    assert problem in str(caught.value)
    assert (await runtime.find()).agents == ()


async def test_an_entry_in_the_middle_is_refused_where_no_entry_point_was_declared(runtime: Runtime) -> None:
    with pytest.raises(EntryRefusedError, match="its entry points are IDLE, GREETING_CUSTOMER"):
        await runtime.start("customer_service", at="SEARCHING_KNOWLEDGE_BASE", payload=CaseFile(**CASE))
    assert (await runtime.find()).agents == ()


@pytest.mark.parametrize(
    ("state", "event", "payload"),
    [
        ("IDLE", "HANDOFF_FROM_ANOTHER_AGENT", {"case_id": "C-1"}),
        ("COLLECTING_REQUIREMENTS", "CUSTOMER_PROVIDED_INPUT", {}),
        ("SEARCHING_KNOWLEDGE_BASE", "KNOWLEDGE_BASE_SEARCHED", {"solution": ""}),
        ("REQUESTING_FEEDBACK", "FEEDBACK_RECEIVED", {"rating": 6}),
        ("ESCALATING_ISSUE", "ISSUE_ESCALATED", {"ticket": 7}),
    ],
)
async def test_an_event_with_a_payload_that_does_not_fit_changes_nothing(
    runtime: Runtime, state: str, event: str, payload: dict[str, Any]
) -> None:
    agent = await reach(runtime, state)
    before = (agent.snapshot, tuple(await agent.history()))
    with pytest.raises(ActionFailedError):
        await agent.send(event, payload)
    assert await is_unchanged(agent, before)


async def test_an_event_at_the_wrong_time_changes_nothing_and_hears_what_would_fit(runtime: Runtime) -> None:
    agent = await runtime.start("customer_service", at="GREETING_CUSTOMER")
    before = (agent.snapshot, tuple(await agent.history()))
    outcome = await agent.send("FEEDBACK_RECEIVED", {"rating": 5})
    assert outcome.refusal is not None
    assert outcome.refusal.accepts == ("CUSTOMER_PROVIDED_INPUT", "USER_REQUESTED_END", "TIMEOUT", "ERROR_OCCURRED")
    assert await is_unchanged(agent, before)


async def test_an_escalation_without_a_reason_names_the_event_that_led_to_it(in_memory: Runtime) -> None:
    agent = await reach(in_memory, "SEARCHING_KNOWLEDGE_BASE")
    await agent.send("NO_SOLUTION_FOUND")
    assert agent.context.escalation_reason == "NO_SOLUTION_FOUND"
