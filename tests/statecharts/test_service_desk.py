from __future__ import annotations

from typing import Any

import pytest

from gatechart import ANY, Agent, Runtime
from gatechart.errors import EntryGuardError, PayloadError
from gatechart.kernel import accepted_events
from statecharts.service_desk import service_desk
from statecharts.service_desk.actions import take_proposal
from statecharts.service_desk.acts import EVENT_OF, event_of
from statecharts.service_desk.context import DeskContext

LEAVES = tuple(state for state in service_desk.states if service_desk.leaves(state) == (state,))
SEARCH = {"service": "Concerts", "intent": "FindConcert", "required_slots": ["city", "genre"]}
BOOKING = {"service": "Concerts", "intent": "BuyTicket", "required_slots": ["concert"]}


def told(slot: str, *values: str) -> dict[str, Any]:
    return {"slot": slot, "values": list(values)}


async def after(runtime: Runtime, at: str, request: Any, *events: tuple[str, Any] | str) -> Agent:
    agent = await runtime.start("service_desk", at=at, payload=request)
    for event in events:
        name, payload = (event, None) if isinstance(event, str) else event
        outcome = await agent.send(name, payload)
        assert outcome.applied, str(outcome.refusal)
    return agent


def test_the_chart_waits_for_every_act_there_is_and_for_nothing_else() -> None:
    assert len(EVENT_OF) == 21
    assert set(EVENT_OF.values()) == set(service_desk.events)
    assert event_of("system", "SING") == "system.SING"


@pytest.mark.parametrize("state", LEAVES)
def test_each_state_accepts_eight_of_the_21_acts_at_the_most(state: str) -> None:
    assert len(accepted_events(service_desk, (state,))) <= 8


def test_no_act_is_accepted_from_anywhere() -> None:
    assert not [transition for transition in service_desk.transitions if transition.source == ANY]


async def test_the_last_slot_that_a_search_requires_sets_it_going(in_memory: Runtime) -> None:
    agent = await after(in_memory, "ELICITING_CRITERIA", SEARCH, ("USER_GAVE_DETAIL", told("genre", "jazz")))
    assert agent.configuration == ("ELICITING_CRITERIA",)
    await agent.send("USER_GAVE_DETAIL", told("city", "Berlin"))
    assert agent.configuration == ("SEARCHING",)
    assert agent.context.slots == {"genre": "jazz", "city": "Berlin"}


async def test_a_search_with_gaps_cannot_enter_where_it_would_start_at_once(runtime: Runtime) -> None:
    with pytest.raises(EntryGuardError, match="has_required_slots said no"):
        await runtime.start_on("COMPLETE_SEARCH_REQUESTED", SEARCH)
    assert (await runtime.find()).agents == ()


async def test_a_request_for_no_service_starts_nothing(runtime: Runtime) -> None:
    with pytest.raises(PayloadError, match="service: Field required"):
        await runtime.start_on("SEARCH_REQUESTED", {"intent": "FindConcert"})
    assert (await runtime.find()).agents == ()


async def test_nothing_is_executed_before_every_required_slot_is_known(in_memory: Runtime) -> None:
    asked = ("SERVICE_ASKED_TO_CONFIRM", told("seats", "2"))
    agent = await after(in_memory, "ELICITING_DETAILS", BOOKING, asked)
    outcome = await agent.send("USER_AGREED")
    assert outcome.refusal is not None
    assert outcome.refusal.guards == ("has_required_slots",)
    await agent.send("SERVICE_ASKED_TO_CONFIRM", told("concert", "Quiet Nights"))
    await agent.send("USER_AGREED")
    assert agent.configuration == ("EXECUTING",)
    assert agent.context.slots == {"seats": "2", "concert": "Quiet Nights"}


async def test_the_users_word_goes_before_what_was_read_back(in_memory: Runtime) -> None:
    agent = await after(
        in_memory,
        "ELICITING_DETAILS",
        BOOKING,
        ("SERVICE_ASKED_TO_CONFIRM", told("concert", "Quiet Nights")),
        ("USER_GAVE_DETAIL", told("concert", "Loud Mornings")),
        "USER_DISAGREED",
        ("SERVICE_ASKED_TO_CONFIRM", told("seats", "1")),
        "USER_AGREED",
    )
    assert agent.context.slots == {"concert": "Loud Mornings", "seats": "1"}


async def test_a_choice_among_several_values_is_the_users(in_memory: Runtime) -> None:
    request = {**SEARCH, "slots": {"city": "Berlin", "genre": "jazz"}}
    agent = await after(
        in_memory,
        "SEARCHING",
        request,
        ("SERVICE_OFFERED", told("concert", "Quiet Nights", "Loud Mornings")),
        ("SERVICE_COUNTED_RESULTS", told("count", "2")),
        ("USER_CHOSE_OFFER", told("concert", "Loud Mornings")),
    )
    assert agent.context.slots["concert"] == "Loud Mornings"
    assert agent.context.results == 2
    assert agent.context.offer == {}


async def test_a_new_offer_replaces_the_one_before(in_memory: Runtime) -> None:
    request = {**SEARCH, "slots": {"city": "Berlin", "genre": "jazz"}}
    agent = await after(
        in_memory,
        "SEARCHING",
        request,
        ("SERVICE_OFFERED", told("concert", "Quiet Nights")),
        ("SERVICE_OFFERED", told("date", "2026-05-01")),
        "USER_ASKED_FOR_ALTERNATIVES",
        ("SERVICE_OFFERED", told("concert", "Loud Mornings")),
    )
    assert agent.context.offer == {"concert": ("Loud Mornings",)}


async def test_the_offer_stands_again_once_the_last_question_is_answered(in_memory: Runtime) -> None:
    request = {**SEARCH, "slots": {"city": "Berlin", "genre": "jazz"}}
    agent = await after(
        in_memory,
        "SEARCHING",
        request,
        ("SERVICE_OFFERED", told("concert", "Quiet Nights")),
        ("USER_ASKED_QUESTION", {"slot": "date"}),
        ("USER_ASKED_QUESTION", {"slot": "price"}),
        ("USER_ASKED_QUESTION", {"slot": "date"}),
        ("SERVICE_ANSWERED", told("price", "20")),
    )
    assert agent.configuration == ("ANSWERING_ABOUT_OFFER",)
    await agent.send("SERVICE_ANSWERED", told("date", "2026-05-01"))
    assert agent.configuration == ("OFFERING",)
    assert agent.context.answers == {"price": "20", "date": "2026-05-01"}


@pytest.mark.parametrize(
    ("intent", "state"),
    [
        ({"intent": "BuyTicket", "is_transactional": True}, "ELICITING_DETAILS"),
        ({"intent": "FindBar", "is_transactional": False, "required_slots": ["city"]}, "SEARCHING"),
        ({"intent": "FindHotel", "is_transactional": False, "required_slots": ["stars"]}, "ELICITING_CRITERIA"),
    ],
)
async def test_a_new_intent_leads_to_what_it_needs(in_memory: Runtime, intent: Any, state: str) -> None:
    request = {**SEARCH, "slots": {"city": "Berlin", "genre": "jazz"}}
    offered = ("SERVICE_OFFERED", told("concert", "Quiet Nights"))
    agent = await after(in_memory, "SEARCHING", request, offered, ("USER_STATED_INTENT", intent))
    assert agent.configuration == (state,)
    assert agent.context.intent == intent["intent"]


async def test_an_offer_that_was_left_lying_is_no_counter_offer(in_memory: Runtime) -> None:
    request = {**SEARCH, "slots": {"city": "Berlin", "genre": "jazz"}}
    agent = await after(
        in_memory,
        "SEARCHING",
        request,
        ("SERVICE_OFFERED", told("concert", "Quiet Nights")),
        ("USER_STATED_INTENT", {"intent": "BuyTicket", "is_transactional": True}),
        ("SERVICE_ASKED_TO_CONFIRM", told("concert", "Loud Mornings")),
        "USER_AGREED",
        "SERVICE_FAILED",
    )
    assert agent.configuration == ("GIVEN_UP",)


async def test_a_question_that_a_failure_left_open_is_forgotten(in_memory: Runtime) -> None:
    agent = await after(
        in_memory,
        "ELICITING_DETAILS",
        BOOKING,
        ("SERVICE_ASKED_TO_CONFIRM", told("concert", "Loud Mornings")),
        ("USER_ASKED_QUESTION", {"slot": "price"}),
        "USER_AGREED",
        "SERVICE_FAILED",
    )
    assert agent.context.questions == []


async def test_a_declined_proposal_is_forgotten(in_memory: Runtime) -> None:
    request = {**SEARCH, "slots": {"city": "Berlin", "genre": "jazz"}}
    agent = await after(
        in_memory,
        "SEARCHING",
        request,
        ("SERVICE_OFFERED", told("concert", "Quiet Nights")),
        "USER_CHOSE_OFFER",
        ("SERVICE_PROPOSED_TRANSACTION", {"intent": "BuyTicket", "is_transactional": True}),
        "USER_DECLINED_PROPOSAL",
    )
    assert agent.configuration == ("WRAPPING_UP",)
    assert agent.context.proposal is None


def test_without_a_proposal_there_is_nothing_to_turn_to() -> None:
    context = DeskContext(service="Concerts", intent="FindConcert", required_slots=())
    take_proposal(context, None)
    assert context.intent == "FindConcert"


async def test_a_counter_offer_that_is_declined_leads_to_the_farewell(in_memory: Runtime) -> None:
    agent = await after(
        in_memory,
        "ELICITING_DETAILS",
        BOOKING,
        ("SERVICE_ASKED_TO_CONFIRM", told("concert", "Loud Mornings")),
        "USER_AGREED",
        ("SERVICE_OFFERED", told("concert", "Quiet Nights")),
        "SERVICE_FAILED",
        "USER_DISAGREED",
    )
    assert agent.configuration == ("WRAPPING_UP",)
    assert agent.context.slots == {"concert": "Loud Mornings"}
