"""The chart of agents that hand a conversation to each other, without conversations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gatechart import Runtime
from gatechart.checks import check_all
from gatechart.contrib.human_desk import human_desk
from gatechart.handoff import HandoffStatus
from gatechart.kernel.select import accepted_events
from gatechart.results import RefusalReason
from statecharts.service_desk.catalogue import Catalogue, read_catalogue
from statecharts.service_desk.context import Request
from statecharts.service_desk.conversations import Conversation
from statecharts.service_desk.moves.chart import Entry, kind_of, services
from statecharts.service_desk.moves.owners import ledgers
from statecharts.service_desk.moves.replay import graphs_for, replay
from statecharts.service_desk.report import Unplayed
from statecharts.service_desk.scenarios import CONCERTS, RESTAURANTS
from statecharts.service_desk.schema import Slot

GRAPHS = (*services([CONCERTS.name, RESTAURANTS.name]), human_desk)
TO_A_TABLE = {
    "graph": kind_of(RESTAURANTS.name),
    "service": RESTAURANTS.model_dump(mode="json"),
    "intent": "FindRestaurant",
}
AWAY = ("HANDING_ON", "AWAY", "CALLING_PERSON", "WITH_PERSON", "ENDED")


@pytest.mark.parametrize("graph", GRAPHS[:-1], ids=lambda graph: graph.name)
def test_only_an_agent_that_has_the_conversation_can_give_it_away(graph) -> None:
    leaves = [state for state in graph.states if graph.leaves(state) == (state,)]
    having = {state for state in leaves if "USER_MOVED_ON" in accepted_events(graph, (state,))}
    assert having == set(leaves) - set(AWAY)


async def test_the_same_wish_to_the_former_owner_makes_no_second_one(url: str) -> None:
    async with Runtime.open(url, graphs=GRAPHS) as runtime:
        request = Request(service=CONCERTS, intent="FindConcert", slots={"city": "Lisbon"})
        agent = await runtime.start("concerts", at="ELICITING_CRITERIA", payload=request)
        assert (await agent.send("USER_MOVED_ON", TO_A_TABLE, event_id="first")).applied
        await agent.until("AWAY")
        again = await agent.send("USER_MOVED_ON", TO_A_TABLE, event_id="second")
        assert again.refusal is not None
        assert again.refusal.reason is RefusalReason.NO_TRANSITION
        (handoff,) = await runtime.handoffs()
        assert handoff.status is HandoffStatus.ACCEPTED
        owner = await runtime.resume(handoff.target)
        assert owner.configuration == ("SEARCHING",)  # Lisbon is known from the concerts


async def test_a_slot_that_is_named_like_a_field_of_the_agent_stops_no_move(url: str) -> None:
    taken = {name: Slot() for name in Entry.model_fields}
    concerts = CONCERTS.model_copy(update={"slots": {**CONCERTS.slots, **taken}})
    async with Runtime.open(url, graphs=GRAPHS) as runtime:
        said = dict.fromkeys(taken, "to dance") | {"city": "Lisbon"}
        request = Request(service=concerts, intent="FindConcert", slots=said)
        agent = await runtime.start("concerts", at="ELICITING_CRITERIA", payload=request)
        assert (await agent.send("USER_MOVED_ON", TO_A_TABLE)).applied
        await agent.until("AWAY")
        (handoff,) = await runtime.handoffs()
        owner = await runtime.resume(handoff.target)
        assert (owner.context.intent, owner.context.service) == ("FindRestaurant", RESTAURANTS)
        assert handoff.packet["entities"]["intent"] == "to dance"
        assert 'intent is "FindRestaurant", not "to dance"' in handoff.changes[-1].details


async def test_a_wish_that_the_other_service_does_not_have_goes_nowhere(url: str) -> None:
    async with Runtime.open(url, graphs=GRAPHS) as runtime:
        agent = await runtime.start(
            "concerts", at="ELICITING_CRITERIA", payload=Request(service=CONCERTS, intent="FindConcert")
        )
        outcome = await agent.send("USER_MOVED_ON", {**TO_A_TABLE, "intent": "Fly"})
        assert outcome.refusal is not None
        assert outcome.refusal.guards == ("is_service_known",)
        assert agent.configuration == ("ELICITING_CRITERIA",)


def test_checks_find_no_second_owner() -> None:
    assert "GC504" not in {finding.code for found in check_all(GRAPHS).values() for finding in found}


# Conversations.


def act(name: str, slot: str | None = None, *values: str) -> dict[str, Any]:
    return {"act": name} | ({"slot": slot} if slot else {}) | ({"values": values} if values else {})


def spoken(speaker: str, *frames: tuple[str, list[dict[str, Any]]], **call: Any) -> dict[str, Any]:
    first, *others = ({"service": service, "acts": acts} for service, acts in frames)
    return {"speaker": speaker, "text": "…", "frames": [first | call, *others]}


def searched(service: str, intent: str, slot: str, value: str, **parameters: str) -> dict[str, Any]:
    offer = (service, [act("OFFER", slot, value)])
    return spoken("system", offer, call={"method": intent, "parameters": parameters})


def service_record(name: str, intent: str, place: str, result: str) -> dict[str, Any]:
    return {
        "service": name,
        "intents": [{"name": intent, "is_transactional": False, "required_slots": [place]}],
        "slots": [{"name": place, "is_categorical": False}, {"name": result, "is_categorical": False}],
    }


SERVICES = [
    service_record("Hotels_1", "FindHotel", "destination", "hotel_name"),
    service_record("Bars_2", "FindBar", "city", "bar_name"),
    service_record("Rides_3", "FindRide", "where_to", "driver"),
]
ROUND = {
    "id": "round",
    "services": ["Hotels_1", "Bars_2", "Rides_3"],
    "turns": [
        spoken(
            "user", ("Hotels_1", [act("INFORM_INTENT", "intent", "FindHotel"), act("INFORM", "destination", "Oslo")])
        ),
        searched("Hotels_1", "FindHotel", "hotel_name", "Blue Door", destination="Oslo"),
        spoken("user", ("Bars_2", [act("INFORM_INTENT", "intent", "FindBar")]), ("Hotels_1", [act("SELECT")])),
        searched("Bars_2", "FindBar", "bar_name", "Red Lamp", city="Oslo"),
        spoken("user", ("Rides_3", [act("INFORM_INTENT", "intent", "FindRide")])),
        searched("Rides_3", "FindRide", "driver", "Grace", where_to="Red Lamp"),
        spoken(
            "user", ("Hotels_1", [act("INFORM_INTENT", "intent", "FindHotel"), act("INFORM", "destination", "Bergen")])
        ),
        searched("Hotels_1", "FindHotel", "hotel_name", "Green Roof", destination="Bergen"),
        spoken("user", ("Bars_2", [act("THANK_YOU")]), ("Hotels_1", [act("SELECT"), act("GOODBYE")])),
        spoken("system", ("Hotels_1", [act("GOODBYE")])),
    ],
}


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    (tmp_path / "services.json").write_text(json.dumps(SERVICES))
    return read_catalogue(tmp_path / "services.json")


async def test_three_services_know_what_was_said_to_each_of_them(url: str, catalogue: Catalogue) -> None:
    one = Conversation.model_validate_json(json.dumps(ROUND))
    async with Runtime.open(url, graphs=graphs_for(catalogue)) as runtime:
        (played,) = await replay([one], catalogue, runtime)
        (kept,) = await ledgers(runtime, ["round"])
    assert [each.act for each in played.refused] == ["user THANK_YOU"]  # said to nobody who waits for it
    assert (played.moves, played.returns, played.ended_in) == (3, 1, "ENDED")
    assert (played.calls, played.calls_foreseen) == (4, 4)
    assert kept.problems(played.heard) == []


async def test_a_move_to_what_nobody_knows_is_said_to_the_one_at_work(url: str, catalogue: Catalogue) -> None:
    moon = [act("INFORM_INTENT", "intent", "FlyToMoon"), act("GOODBYE")]
    turns = [*ROUND["turns"][:2], spoken("user", ("Moon_1", moon)), spoken("system", ("Moon_1", [act("GOODBYE")]))]
    one = Conversation.model_validate_json(json.dumps({**ROUND, "turns": turns}))
    async with Runtime.open(url, graphs=graphs_for(catalogue)) as runtime:
        (played,) = await replay([one], catalogue, runtime)
    assert [each.act for each in played.refused] == ["user INFORM_INTENT"]
    assert (played.moves, played.ended_in) == (0, "ENDED")


async def test_a_conversation_that_lists_an_unknown_service_is_not_played(url: str, catalogue: Catalogue) -> None:
    moon = Conversation.model_validate_json(json.dumps({**ROUND, "services": ["Hotels_1", "Moon_1"]}))
    unplayed = list[Unplayed]()
    async with Runtime.open(url, graphs=graphs_for(catalogue)) as runtime:
        assert await replay([moon], catalogue, runtime, on_problem=unplayed.append) == []
    assert [(each.conversation, each.problem.split(";")[0]) for each in unplayed] == [
        ("round", "service 'Moon_1': unknown")
    ]


async def test_the_service_that_is_wanted_first_begins_though_another_one_is_spoken_of_before(
    url: str, catalogue: Catalogue
) -> None:
    turns = [spoken("system", ("Bars_2", [act("REQ_MORE")])), *ROUND["turns"]]
    one = Conversation.model_validate_json(json.dumps({**ROUND, "turns": turns}))
    async with Runtime.open(url, graphs=graphs_for(catalogue)) as runtime:
        (played,) = await replay([one], catalogue, runtime)
        handoffs = await runtime.handoffs()
    assert [each.act for each in played.refused] == ["system REQ_MORE", "user THANK_YOU"]
    assert (played.moves, played.returns, played.ended_in) == (3, 1, "ENDED")
    assert all(each.source != each.target for each in handoffs)
