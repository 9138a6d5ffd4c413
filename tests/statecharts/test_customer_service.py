from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gatechart import Agent, Runtime
from gatechart.errors import ActionFailedError, EntryRefusedError, PayloadError
from gatechart.results import RefusalReason
from gatechart.testing import VirtualClock
from statecharts.customer_service import customer_service, scenarios
from statecharts.customer_service.context import CaseFile, Failure
from statecharts.customer_service.knowledge_base import SHELF
from statecharts.scenario import Awaited, begin, tell
from statecharts.services import Services

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
Step = tuple[str, dict[str, Any]]
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
    """An agent that a scenario has brought into the state, where it stays until something is sent."""
    for scenario in scenarios:
        agent = await begin(scenario, runtime)
        for position, step in enumerate(scenario.events):
            if isinstance(step, Awaited) and step.after:
                break
            if agent.configuration == (state,) and not isinstance(step, Awaited):
                return agent
            await tell(agent, scenario, position)
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
    assert set(customer_service.events) == EVENTS | {"done.invoke.search", "error.invoke.search"}


def test_without_what_runs_by_itself_it_has_18_events_27_transitions_and_five_doors() -> None:
    sent = [each for each in customer_service.transitions if ".invoke." not in (each.event or "")]
    assert len({each.event for each in sent}) == 18
    assert len(sent) == 27
    assert len(customer_service.entry_points) == 5


ASKED: tuple[Step, ...] = (("REQUIREMENTS_COLLECTED", {}), ("INPUT_VALIDATED", {}))
SOLVED: tuple[Step, ...] = (
    ("KNOWLEDGE_BASE_SEARCHED", {"solution": "Turn it off and on again"}),
    ("SOLUTION_PROVIDED", {}),
    ("CUSTOMER_ACCEPTED_SOLUTION", {}),
    ("FEEDBACK_RECEIVED", {"rating": 5}),
    ("USER_REQUESTED_END", {}),
)
FOUR_CUSTOMERS: dict[str, tuple[str, Any, tuple[Step, ...]]] = {
    "Alice": (
        "CUSTOMER_INITIATED_CHAT",
        {"customer_name": "Alice"},
        (("CUSTOMER_PROVIDED_INPUT", {"text": "My screen is blank"}), *ASKED, *SOLVED),
    ),
    "Bob": (
        "HANDOFF_FROM_ANOTHER_AGENT",
        {"case_id": "C-2", "customer_name": "Bob", "query": "My printer is jammed"},
        (("HISTORY_REVIEWED", {"note": "All is told"}), *SOLVED),
    ),
    "Charlie": (
        "SYSTEM_TRIGGERED_FOLLOW_UP",
        {"case_id": "C-3", "customer_name": "Charlie"},
        (("FEEDBACK_RECEIVED", {"rating": 4}), ("USER_REQUESTED_END", {})),
    ),
    "David": (
        "CUSTOMER_INITIATED_CHAT",
        {"customer_name": "David"},
        (
            ("CUSTOMER_PROVIDED_INPUT", {"text": "My parrot is silent"}),
            *ASKED,
            ("NO_SOLUTION_FOUND", {"reason": "Nothing on parrots"}),
            ("ISSUE_ESCALATED", {"ticket": "T-4"}),
            ("USER_REQUESTED_END", {}),
        ),
    ),
}


@pytest.mark.parametrize("name", FOUR_CUSTOMERS)
async def test_four_customers_come_to_the_end_of_their_cases(in_memory: Runtime, name: str) -> None:
    """David's search finds nothing; in the end he is done all the same."""
    trigger, payload, steps = FOUR_CUSTOMERS[name]
    agent = await in_memory.start_on(trigger, payload)
    for event, brought in steps:
        outcome = await agent.send(event, brought)
        assert outcome.applied, str(outcome)
    assert agent.configuration == ("COMPLETED",)
    assert agent.context.customer_name == name


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


async def searching(runtime: Runtime, text: str, id: str = "one") -> Agent:  # noqa: A002
    agent = await runtime.start(
        "customer_service", at="REVIEWING_HISTORY", payload={**CASE, "query": text}, agent_id=id
    )
    await agent.send("HISTORY_REVIEWED")
    return agent


@pytest.mark.parametrize(
    ("query", "state", "solution", "reason"),
    [
        ("My router is slow", "PROVIDING_SOLUTION", "Update the firmware to 2.4", None),
        ("My lamp is slow", "ESCALATING_ISSUE", None, "Nothing is known of 'My lamp is slow'"),
        ("The currency is wrong", "ESCALATING_ISSUE", None, "The search failed: the archive does not answer"),
    ],
)
async def test_the_search_goes_on_by_itself_to_what_it_came_to(
    runtime: Runtime, query: str, state: str, solution: str | None, reason: str | None
) -> None:
    agent = await searching(runtime, query)
    await agent.until(state)
    assert (agent.context.solution, agent.context.escalation_reason) == (solution, reason)


async def test_a_colleague_who_knows_ends_a_search_that_takes_long(url: str) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    class Slow:
        async def solutions(self, query: str) -> list[str]:
            begun.set()
            try:
                return await asyncio.Future()
            finally:
                ended.set()

    async with Runtime.open(url, graphs=[customer_service], services=Services(Slow())) as runtime:
        agent = await searching(runtime, "The battery is empty")
        await begun.wait()
        await agent.send("KNOWLEDGE_BASE_SEARCHED", {"solution": "Charge it"})
        await ended.wait()
        assert agent.configuration == ("PROVIDING_SOLUTION",)
        assert agent.context.solution == "Charge it"


async def test_an_escalation_that_nobody_takes_over_fails_after_a_quarter_of_an_hour(
    runtime: Runtime, clock: VirtualClock
) -> None:
    agent = await reach(runtime, "ESCALATING_ISSUE")
    clock.advance(14 * 60)
    taken = await runtime.start("customer_service", at="IDLE")  # turns go on, and nothing has come
    assert (taken.configuration, agent.configuration) == (("IDLE",), ("ESCALATING_ISSUE",))
    clock.advance(60)
    await agent.until("FAILED")
    assert agent.context.failure.event == "after.15m.ESCALATING_ISSUE"


async def test_an_issue_that_is_taken_over_in_time_is_left_alone(in_memory: Runtime, clock: VirtualClock) -> None:
    agent = await reach(in_memory, "ESCALATING_ISSUE")
    await agent.send("ISSUE_ESCALATED", {"ticket": "T-1"})
    clock.advance(3600)
    assert [mail for mail in await in_memory.mail(agent.id) if mail.event.startswith("after.")] == []
    assert agent.configuration == ("ENDING_INTERACTION",)


async def test_a_search_that_is_interrupted_after_it_was_recorded_does_not_ask_again(tmp_path: Path) -> None:
    url, asked = f"sqlite+aiosqlite:///{tmp_path}/agents.db", []

    class Counted:
        async def solutions(self, query: str) -> list[str]:
            asked.append(query)
            return await SHELF.solutions(query)

    for _ in range(2):
        async with Runtime.open(url, graphs=[customer_service], services=Services(Counted())) as runtime:
            agent = await runtime.resume("one") if asked else await searching(runtime, "My router is slow")
            await agent.until("PROVIDING_SOLUTION")
    assert asked == ["My router is slow"]
