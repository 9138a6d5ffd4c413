from __future__ import annotations

from typing import Any

import pytest

from gatechart import ANY, Agent, Runtime
from gatechart.errors import EntryGuardError, PayloadError
from gatechart.kernel.select import accepted_events
from statecharts.service_desk import service_desk
from statecharts.service_desk.actions import take_proposal
from statecharts.service_desk.acts import EVENT_OF, event_of
from statecharts.service_desk.context import DeskContext
from statecharts.service_desk.schema import Intent, Kind, Known, Service, Slot

LEAVES = tuple(state for state in service_desk.states if service_desk.leaves(state) == (state,))
ACTS = frozenset(EVENT_OF.values())
CONCERTS = Service(
    name="Concerts",
    intents={
        "FindConcert": Intent(
            name="FindConcert",
            is_transactional=False,
            required_slots=("city", "genre"),
            optional_slots={"date": "dontcare"},
        ),
        "BuyTicket": Intent(
            name="BuyTicket",
            is_transactional=True,
            required_slots=("concert",),
            optional_slots={"seats": "1", "section": "dontcare"},
        ),
        "FindBar": Intent(name="FindBar", is_transactional=False, required_slots=("city",)),
        "FindHotel": Intent(name="FindHotel", is_transactional=False, required_slots=("stars",)),
    },
    slots={
        "city": Slot(kind=Kind.PLACE),
        "genre": Slot(values=("jazz", "rock")),
        "concert": Slot(kind=Kind.NAME, examples=("Quiet Nights",)),
        "date": Slot(kind=Kind.DATE),
        "price": Slot(),
        "seats": Slot(kind=Kind.PEOPLE, values=("1", "2", "3")),
        "section": Slot(),
        "stars": Slot(kind=Kind.NUMBER, values=("3", "4")),
    },
)
SEARCH = {"service": CONCERTS.model_dump(), "intent": "FindConcert"}
FULL_SEARCH = {**SEARCH, "slots": {"city": "Berlin", "genre": "jazz"}}
BOOKING = {"service": CONCERTS.model_dump(), "intent": "BuyTicket"}
FULL_BOOKING = {**BOOKING, "slots": {"concert": "Quiet Nights"}}
USER = ("TURN_BEGAN", {"speaker": "user"})
SERVICE = ("TURN_BEGAN", {"speaker": "system"})


def told(slot: str, *values: str) -> dict[str, Any]:
    return {"slot": slot, "values": list(values)}


def call(method: str, **parameters: str) -> tuple[str, Any]:
    return ("SERVICE_CALLED", {"method": method, "parameters": parameters})


OFFERED = ("SERVICE_OFFERED", told("concert", "Quiet Nights"))
READ_BACK = (
    SERVICE,
    ("SERVICE_ASKED_TO_CONFIRM", told("concert", "Quiet Nights")),
    ("SERVICE_ASKED_TO_CONFIRM", told("seats", "1")),
    USER,
)


async def after(runtime: Runtime, at: str, request: Any, *events: tuple[str, Any] | str) -> Agent:
    agent = await runtime.start("service_desk", at=at, payload=request)
    for event in events:
        name, payload = (event, None) if isinstance(event, str) else event
        outcome = await agent.send(name, payload)
        assert outcome.applied, str(outcome.refusal)
    return agent


async def refusal(agent: Agent, event: str, payload: Any = None) -> tuple[str, ...] | None:
    """The guards that refused the event, and nothing else changed; None where it was taken."""
    before = agent.snapshot
    outcome = await agent.send(event, payload)
    if outcome.refusal is None:
        return None
    assert agent.snapshot == before
    return outcome.refusal.guards


def test_the_chart_waits_for_every_act_there_is_for_turns_and_for_calls() -> None:
    assert len(EVENT_OF) == 21
    assert set(service_desk.events) == ACTS | {"TURN_BEGAN", "SERVICE_CALLED"}
    assert event_of("system", "SING") == "system.SING"


@pytest.mark.parametrize("state", LEAVES)
def test_each_state_accepts_eight_of_the_21_acts_at_the_most(state: str) -> None:
    assert len(ACTS & set(accepted_events(service_desk, (state,)))) <= 8


def test_no_act_is_accepted_from_anywhere() -> None:
    anywhere = {transition.event for transition in service_desk.transitions if transition.source == ANY}
    assert not anywhere & ACTS


# Doors.


async def test_a_search_with_gaps_cannot_enter_where_it_would_start_at_once(runtime: Runtime) -> None:
    with pytest.raises(EntryGuardError, match="has_required_slots said no"):
        await runtime.start_on("COMPLETE_SEARCH_REQUESTED", SEARCH)
    assert (await runtime.find()).agents == ()


async def test_a_request_for_no_service_starts_nothing(runtime: Runtime) -> None:
    with pytest.raises(PayloadError, match="service: Field required"):
        await runtime.start_on("SEARCH_REQUESTED", {"intent": "FindConcert"})
    assert (await runtime.find()).agents == ()


async def test_a_request_for_what_the_service_cannot_do_starts_nothing(runtime: Runtime) -> None:
    with pytest.raises(PayloadError, match="'Concerts' has no intent 'Fly'; it has FindConcert, BuyTicket"):
        await runtime.start_on("SEARCH_REQUESTED", {**SEARCH, "intent": "Fly"})
    assert (await runtime.find()).agents == ()


# Turns.


async def test_user_and_service_take_turns(in_memory: Runtime) -> None:
    agent = await after(in_memory, "ELICITING_CRITERIA", SEARCH, USER)
    assert await refusal(agent, *USER) == ("is_next_speaker",)
    assert await refusal(agent, *SERVICE) is None
    assert await refusal(agent, *SERVICE) == ("is_next_speaker",)


async def test_the_service_answers_before_its_turn_ends(in_memory: Runtime) -> None:
    asked = ("USER_ASKED_QUESTION", {"slot": "date"})
    agent = await after(in_memory, "SEARCHING", FULL_SEARCH, SERVICE, OFFERED, USER, asked, SERVICE)
    assert await refusal(agent, *USER) == ("is_next_speaker",)
    assert await refusal(agent, "SERVICE_ANSWERED", told("date", "2026-05-01")) is None
    assert await refusal(agent, *USER) is None


# Values.


async def test_the_last_slot_that_a_search_requires_sets_it_going(in_memory: Runtime) -> None:
    agent = await after(in_memory, "ELICITING_CRITERIA", SEARCH, ("USER_GAVE_DETAIL", told("genre", "jazz")))
    assert agent.configuration == ("ELICITING_CRITERIA",)
    await agent.send("USER_GAVE_DETAIL", told("city", "Berlin"))
    assert agent.configuration == ("SEARCHING",)
    assert agent.context.slots == {"genre": "jazz", "city": "Berlin"}


@pytest.mark.parametrize(
    "payload", [told("genre", "purple elephant"), told("trunk", "long"), {"slot": "genre"}, {"trunk": "long"}, {}]
)
async def test_a_detail_that_the_service_does_not_take_is_refused(in_memory: Runtime, payload: Any) -> None:
    agent = await after(in_memory, "ELICITING_CRITERIA", SEARCH)
    assert await refusal(agent, "USER_GAVE_DETAIL", payload) is not None


async def test_everything_may_be_left_to_the_service(in_memory: Runtime) -> None:
    agent = await after(in_memory, "ELICITING_CRITERIA", SEARCH, ("USER_GAVE_DETAIL", told("genre", "dontcare")))
    await agent.send("USER_GAVE_DETAIL", told("city", "Berlin"))
    assert await refusal(agent, *call("FindConcert", city="Berlin")) is None


async def test_a_detail_is_given_once_in_a_turn_and_may_change_in_the_next(in_memory: Runtime) -> None:
    detail = ("USER_GAVE_DETAIL", told("genre", "jazz"))
    agent = await after(in_memory, "ELICITING_CRITERIA", SEARCH, USER, detail)
    assert await refusal(agent, *detail) == ("is_last_required_detail", "is_new_detail")
    for event in (SERVICE, ("SERVICE_ASKED_FOR_DETAIL", {"slot": "city"}), USER):
        await agent.send(*event)
    assert await refusal(agent, "USER_GAVE_DETAIL", told("genre", "rock")) is None
    assert agent.context.slots == {"genre": "rock"}


@pytest.mark.parametrize(
    ("parameters", "is_sound"),
    [
        ({"city": "Berlin", "genre": "jazz"}, True),
        ({"city": "Berlin"}, False),
        ({"city": "Berlin", "genre": "rock"}, False),
        ({"city": "Berlin", "genre": "jazz", "date": "2026-05-01"}, False),
        ({"city": "Berlin", "genre": "jazz", "trunk": "long"}, False),
    ],
    ids=["as said", "without a required slot", "another value", "more than was said", "an unknown slot"],
)
async def test_a_search_is_what_was_said(in_memory: Runtime, parameters: dict[str, str], is_sound: bool) -> None:
    agent = await after(in_memory, "SEARCHING", FULL_SEARCH, SERVICE)
    assert (await refusal(agent, *call("FindConcert", **parameters)) is None) is is_sound


async def test_a_search_for_something_else_is_refused(in_memory: Runtime) -> None:
    agent = await after(in_memory, "SEARCHING", FULL_SEARCH, SERVICE)
    assert await refusal(agent, *call("FindBar", city="Berlin")) == ("is_sound_search",)


async def test_what_was_said_to_another_service_is_found_by_its_meaning(in_memory: Runtime) -> None:
    carried = [Known(slot="destination_city", kind=Kind.PLACE, value="Berlin").model_dump()]
    agent = await after(in_memory, "ELICITING_CRITERIA", {**SEARCH, "slots": {"genre": "jazz"}, "carried": carried})
    assert await refusal(agent, *call("FindConcert", genre="jazz", city="Paris")) == ("is_sound_search",)
    assert await refusal(agent, *call("FindConcert", genre="jazz", city="Berlin")) is None
    assert agent.configuration == ("SEARCHING",)
    assert agent.context.slots == {"genre": "jazz", "city": "Berlin"}


async def test_a_suggestion_may_be_agreed_to_once(in_memory: Runtime) -> None:
    suggested = ("SERVICE_ASKED_FOR_DETAIL", told("genre", "jazz"))
    agent = await after(
        in_memory, "ELICITING_CRITERIA", {**SEARCH, "slots": {"city": "Rome"}}, SERVICE, suggested, USER
    )
    assert await refusal(agent, "USER_AGREED") is None
    assert agent.configuration == ("SEARCHING",)
    assert agent.context.slots == {"city": "Rome", "genre": "jazz"}
    assert await refusal(agent, "USER_AGREED") == ()


@pytest.mark.parametrize(
    ("slot", "values", "is_taken"),
    [
        ("concert", ("Quiet Nights",), True),
        ("concert", ("Loud Mornings", "Silent Noons"), True),
        ("concert", ("Loud Mornings",), False),
        ("seats", ("2",), True),
        ("seats", ("2", "12"), False),
        ("price", ("2",), False),
    ],
    ids=["an example", "a choice", "made up", "of few", "impossible", "not of this intent"],
)
async def test_what_is_suggested_can_be(in_memory: Runtime, slot: str, values: Any, is_taken: bool) -> None:
    agent = await after(in_memory, "ELICITING_DETAILS", BOOKING, SERVICE)
    assert (await refusal(agent, "SERVICE_ASKED_FOR_DETAIL", told(slot, *values)) is None) is is_taken


@pytest.mark.parametrize("values", [(), ("jazz", "rock")])
async def test_a_demand_without_a_single_suggestion_cannot_be_agreed_to(in_memory: Runtime, values: Any) -> None:
    asked = ("SERVICE_ASKED_FOR_DETAIL", told("genre", *values))
    agent = await after(in_memory, "ELICITING_CRITERIA", SEARCH, SERVICE, asked, USER)
    assert await refusal(agent, "USER_AGREED") == ("is_last_suggestion", "has_suggestion")
    assert await refusal(agent, "USER_DISAGREED") == ("has_suggestion",)


# Offers.


async def test_a_choice_among_several_values_is_the_users(in_memory: Runtime) -> None:
    agent = await after(
        in_memory,
        "SEARCHING",
        FULL_SEARCH,
        ("SERVICE_OFFERED", told("concert", "Quiet Nights", "Loud Mornings")),
        ("SERVICE_COUNTED_RESULTS", told("count", "2")),
    )
    assert await refusal(agent, "USER_CHOSE_OFFER", told("concert", "Silent Noons")) == ("is_on_offer",)
    await agent.send("USER_CHOSE_OFFER", told("concert", "Loud Mornings"))
    assert agent.context.slots["concert"] == "Loud Mornings"
    assert agent.context.results == 2
    assert agent.context.offer == {}


async def test_a_new_offer_replaces_the_one_before(in_memory: Runtime) -> None:
    agent = await after(
        in_memory,
        "SEARCHING",
        FULL_SEARCH,
        OFFERED,
        ("SERVICE_OFFERED", told("date", "2026-05-01")),
        "USER_ASKED_FOR_ALTERNATIVES",
        ("SERVICE_OFFERED", told("concert", "Loud Mornings")),
    )
    assert agent.context.offer == {"concert": ("Loud Mornings",)}


async def test_an_offer_says_everything_once(in_memory: Runtime) -> None:
    counted = ("SERVICE_COUNTED_RESULTS", told("count", "2"))
    agent = await after(in_memory, "SEARCHING", FULL_SEARCH, OFFERED, counted)
    assert await refusal(agent, *OFFERED) == ("is_new_line",)
    assert await refusal(agent, *counted) == ("is_first_count",)


async def test_the_offer_stands_again_once_the_last_question_is_answered(in_memory: Runtime) -> None:
    agent = await after(
        in_memory,
        "SEARCHING",
        FULL_SEARCH,
        OFFERED,
        ("USER_ASKED_QUESTION", {"slot": "date"}),
        ("USER_ASKED_QUESTION", {"slot": "price"}),
        ("SERVICE_ANSWERED", told("price", "20")),
    )
    assert agent.configuration == ("ANSWERING_ABOUT_OFFER",)
    assert await refusal(agent, "USER_ASKED_QUESTION", {"slot": "date"}) == ("is_question",)
    assert await refusal(agent, "SERVICE_ANSWERED", told("price", "20")) == ("is_last_answer", "is_open_question")
    await agent.send("SERVICE_ANSWERED", told("date", "2026-05-01"))
    assert agent.configuration == ("OFFERING",)
    assert agent.context.answers == {"price": "20", "date": "2026-05-01"}


async def test_a_choice_that_completes_the_criteria_goes_on_to_the_search(in_memory: Runtime) -> None:
    offered = ("SERVICE_OFFERED", told("stars", "3"))
    agent = await after(
        in_memory, "SEARCHING", FULL_SEARCH, offered, ("USER_STATED_INTENT", told("intent", "FindHotel"))
    )
    assert agent.configuration == ("ELICITING_CRITERIA",)
    await agent.send("USER_CHOSE_OFFER")
    assert agent.configuration == ("SEARCHING",)


async def test_the_offer_of_a_search_that_fails_then_is_dropped(in_memory: Runtime) -> None:
    agent = await after(in_memory, "SEARCHING", FULL_SEARCH, OFFERED, "USER_ASKED_FOR_ALTERNATIVES", "SERVICE_FAILED")
    assert agent.configuration == ("GIVEN_UP",)
    assert agent.context.offer == {}


# Intents.


@pytest.mark.parametrize(
    ("intent", "state"),
    [("BuyTicket", "ELICITING_DETAILS"), ("FindBar", "SEARCHING"), ("FindHotel", "ELICITING_CRITERIA")],
)
@pytest.mark.parametrize(
    "before",
    [
        (),
        (OFFERED,),
        (OFFERED, "USER_CHOSE_OFFER"),
        (OFFERED, "USER_CHOSE_OFFER", ("SERVICE_PROPOSED_TRANSACTION", told("intent", "BuyTicket"))),
        (OFFERED, "USER_CHOSE_OFFER", "SERVICE_ASKED_FOR_MORE"),
    ],
    ids=["searching", "offered", "chosen", "proposed", "asked for more"],
)
async def test_a_new_intent_leads_to_what_it_needs(in_memory: Runtime, before: Any, intent: str, state: str) -> None:
    agent = await after(in_memory, "SEARCHING", FULL_SEARCH, *before, ("USER_STATED_INTENT", told("intent", intent)))
    assert agent.configuration == (state,)
    assert agent.context.intent == intent


async def test_a_new_intent_may_come_when_all_is_done(in_memory: Runtime) -> None:
    agent = await after(
        in_memory, "ELICITING_DETAILS", FULL_BOOKING, USER, *READ_BACK, "USER_AGREED", SERVICE, "SERVICE_SUCCEEDED"
    )
    await agent.send("USER_STATED_INTENT", told("intent", "FindConcert"))
    assert agent.configuration == ("ELICITING_CRITERIA",)


async def test_an_intent_that_the_service_does_not_have_is_refused(in_memory: Runtime) -> None:
    agent = await after(in_memory, "SEARCHING", FULL_SEARCH, OFFERED)
    guards = ("is_transactional", "is_search_without_gaps", "is_search")
    assert await refusal(agent, "USER_STATED_INTENT", told("intent", "Fly")) == guards
    await agent.send("USER_CHOSE_OFFER")
    assert await refusal(agent, "SERVICE_PROPOSED_TRANSACTION", told("intent", "FindBar")) == ("is_transactional",)


async def test_a_declined_proposal_is_forgotten(in_memory: Runtime) -> None:
    agent = await after(
        in_memory,
        "SEARCHING",
        FULL_SEARCH,
        OFFERED,
        "USER_CHOSE_OFFER",
        ("SERVICE_PROPOSED_TRANSACTION", told("intent", "BuyTicket")),
        "USER_DECLINED_PROPOSAL",
    )
    assert agent.configuration == ("WRAPPING_UP",)
    assert agent.context.proposal == ""


def test_a_proposal_that_is_taken_is_what_the_user_wants() -> None:
    context = DeskContext(service=CONCERTS, intent="FindConcert", proposal="BuyTicket")
    take_proposal(context, None)
    assert (context.intent, context.proposal) == ("BuyTicket", "")


# Confirmations.


@pytest.mark.parametrize(
    "payload",
    [
        told("concert", "Loud Mornings"),
        told("concert", "purple elephant"),
        told("seats", "2"),
        told("section", "left"),
        told("price", "20"),
    ],
    ids=["another one", "nonsense", "not the default", "never said", "not of this intent"],
)
async def test_what_is_read_back_is_what_was_said(in_memory: Runtime, payload: Any) -> None:
    agent = await after(in_memory, "ELICITING_DETAILS", FULL_BOOKING, SERVICE)
    assert await refusal(agent, "SERVICE_ASKED_TO_CONFIRM", payload) == ("is_as_said",)


async def test_each_detail_is_read_back_once(in_memory: Runtime) -> None:
    asked = ("SERVICE_ASKED_TO_CONFIRM", told("concert", "Quiet Nights"))
    agent = await after(in_memory, "ELICITING_DETAILS", FULL_BOOKING, SERVICE, asked)
    assert await refusal(agent, *asked) == ("is_as_said",)


async def test_nothing_is_agreed_to_before_every_required_slot_was_read_back(in_memory: Runtime) -> None:
    asked = ("SERVICE_ASKED_TO_CONFIRM", told("seats", "1"))
    agent = await after(in_memory, "ELICITING_DETAILS", FULL_BOOKING, SERVICE, asked)
    assert await refusal(agent, "USER_AGREED") == ("is_read_back",)
    await agent.send("SERVICE_ASKED_TO_CONFIRM", told("concert", "Quiet Nights"))
    await agent.send("USER_AGREED")
    assert agent.configuration == ("EXECUTING",)
    assert agent.context.slots == {"seats": "1", "concert": "Quiet Nights"}


async def test_the_users_word_goes_before_what_was_read_back(in_memory: Runtime) -> None:
    agent = await after(
        in_memory,
        "ELICITING_DETAILS",
        FULL_BOOKING,
        USER,
        *READ_BACK,
        "USER_DISAGREED",
        ("USER_GAVE_DETAIL", told("concert", "Loud Mornings")),
        SERVICE,
    )
    assert await refusal(agent, "SERVICE_ASKED_TO_CONFIRM", told("concert", "Quiet Nights")) == ("is_as_said",)
    await agent.send("SERVICE_ASKED_TO_CONFIRM", told("concert", "Loud Mornings"))
    await agent.send("USER_AGREED")
    assert agent.context.agreed == {"seats": "1", "concert": "Loud Mornings"}


@pytest.mark.parametrize(
    ("parameters", "is_agreed"),
    [
        ({"concert": "Quiet Nights", "seats": "1"}, True),
        ({"concert": "Quiet Nights"}, True),
        ({"seats": "1"}, False),
        ({"concert": "Loud Mornings", "seats": "1"}, False),
        ({"concert": "Quiet Nights", "seats": "3"}, False),
        ({"concert": "Quiet Nights", "section": "left"}, False),
    ],
    ids=["all", "what is required", "without a required slot", "another concert", "more seats", "more than was said"],
)
async def test_what_is_done_is_what_was_agreed_to(in_memory: Runtime, parameters: Any, is_agreed: bool) -> None:
    agent = await after(in_memory, "ELICITING_DETAILS", FULL_BOOKING, USER, *READ_BACK, "USER_AGREED", SERVICE)
    assert (await refusal(agent, *call("BuyTicket", **parameters)) is None) is is_agreed


async def test_what_may_be_anything_need_not_be_read_back(in_memory: Runtime) -> None:
    request = {**BOOKING, "slots": {"concert": "Quiet Nights", "section": "left"}}
    agent = await after(in_memory, "ELICITING_DETAILS", request, USER, *READ_BACK, "USER_AGREED", SERVICE)
    assert await refusal(agent, *call("BuyTicket", concert="Quiet Nights", section="left")) is None


# Failures.


async def test_an_offer_that_was_left_lying_is_no_counter_offer(in_memory: Runtime) -> None:
    agent = await after(
        in_memory,
        "SEARCHING",
        FULL_SEARCH,
        ("SERVICE_OFFERED", told("concert", "Quiet Nights")),
        ("USER_STATED_INTENT", told("intent", "BuyTicket")),
        ("SERVICE_ASKED_TO_CONFIRM", told("concert", "Quiet Nights")),
        "USER_AGREED",
        "SERVICE_FAILED",
    )
    assert agent.configuration == ("GIVEN_UP",)
    assert await refusal(agent, "USER_AGREED") == ()


async def test_a_question_that_a_failure_left_open_is_forgotten(in_memory: Runtime) -> None:
    agent = await after(
        in_memory,
        "ELICITING_DETAILS",
        FULL_BOOKING,
        USER,
        *READ_BACK,
        "USER_AGREED",
        ("USER_ASKED_QUESTION", {"slot": "price"}),
        SERVICE,
        "SERVICE_FAILED",
        "SERVICE_ASKED_FOR_MORE",
        USER,
    )
    assert agent.context.questions == []


async def test_a_counter_offer_may_answer_what_was_asked(in_memory: Runtime) -> None:
    agent = await after(
        in_memory,
        "ELICITING_DETAILS",
        FULL_BOOKING,
        USER,
        *READ_BACK,
        "USER_AGREED",
        ("USER_ASKED_QUESTION", {"slot": "price"}),
        SERVICE,
        "SERVICE_FAILED",
        ("SERVICE_OFFERED", told("concert", "Loud Mornings")),
        ("SERVICE_OFFERED", told("price", "30")),
        USER,
        "USER_AGREED",
        SERVICE,
        call("BuyTicket", concert="Loud Mornings", seats="1"),
        "SERVICE_SUCCEEDED",
    )
    assert agent.configuration == ("DONE",)


async def test_a_counter_offer_that_is_declined_leads_to_the_farewell(in_memory: Runtime) -> None:
    agent = await after(
        in_memory,
        "ELICITING_DETAILS",
        FULL_BOOKING,
        USER,
        *READ_BACK,
        "USER_AGREED",
        "SERVICE_FAILED",
        ("SERVICE_OFFERED", told("concert", "Loud Mornings")),
        "USER_DISAGREED",
    )
    assert agent.configuration == ("WRAPPING_UP",)
    assert agent.context.slots == {"concert": "Quiet Nights", "seats": "1"}
