"""What happens at desks: the stories that the demo tells and the tests check."""

from __future__ import annotations

from typing import Any, Final

from statecharts.scenario import Scenario
from statecharts.service_desk.context import Request
from statecharts.service_desk.schema import Intent, Kind, Service, Slot

_GRAPH: Final = "service_desk"
CONCERTS: Final = Service(
    name="Concerts",
    intents={"FindConcert": Intent(name="FindConcert", is_transactional=False, required_slots=("city", "genre"))},
    slots={
        "city": Slot(kind=Kind.PLACE),
        "genre": Slot(values=("jazz", "rock")),
        "concert": Slot(kind=Kind.NAME),
        "date": Slot(kind=Kind.DATE),
    },
)
RESTAURANTS: Final = Service(
    name="Restaurants",
    intents={
        "FindRestaurant": Intent(name="FindRestaurant", is_transactional=False, required_slots=("city",)),
        "ReserveTable": Intent(
            name="ReserveTable",
            is_transactional=True,
            required_slots=("restaurant", "time"),
            optional_slots={"seats": "2"},
        ),
    },
    slots={
        "city": Slot(kind=Kind.PLACE),
        "restaurant": Slot(kind=Kind.NAME),
        "time": Slot(kind=Kind.TIME),
        "seats": Slot(kind=Kind.PEOPLE, values=("1", "2", "4")),
        "address": Slot(kind=Kind.PLACE),
    },
)


_USER: Final = ("TURN_BEGAN", {"speaker": "user"})
_SERVICE: Final = ("TURN_BEGAN", {"speaker": "system"})


def _slot(slot: str, *values: str) -> dict[str, Any]:
    return {"slot": slot, "values": list(values)} if values else {"slot": slot}


SEARCH_ONLY: Final = Scenario(
    name="a search and no more",
    story="A user looks for a concert, asks for another one, likes it and leaves.",
    graph=_GRAPH,
    on="SEARCH_REQUESTED",
    payload=Request(service=CONCERTS, intent="FindConcert"),
    events=(
        ("USER_GAVE_DETAIL", _slot("genre", "jazz")),
        _SERVICE,
        ("SERVICE_ASKED_FOR_DETAIL", _slot("city")),
        _USER,
        ("USER_GAVE_DETAIL", _slot("city", "Berlin")),
        _SERVICE,
        ("SERVICE_CALLED", {"method": "FindConcert", "parameters": {"genre": "jazz", "city": "Berlin"}}),
        ("SERVICE_OFFERED", _slot("concert", "Quiet Nights")),
        ("SERVICE_COUNTED_RESULTS", _slot("count", "2")),
        _USER,
        ("USER_ASKED_FOR_ALTERNATIVES", {}),
        _SERVICE,
        ("SERVICE_OFFERED", _slot("concert", "Loud Mornings")),
        _USER,
        ("USER_ASKED_QUESTION", _slot("date")),
        _SERVICE,
        ("SERVICE_ANSWERED", _slot("date", "2026-05-02")),
        _USER,
        ("USER_CHOSE_OFFER", {}),
        ("USER_SAID_GOODBYE", {}),
        _SERVICE,
        ("SERVICE_SAID_GOODBYE", {}),
    ),
    ends_in="ENDED",
    expects={
        "slots": {"genre": "jazz", "city": "Berlin", "concert": "Loud Mornings"},
        "answers": {"date": "2026-05-02"},
        "successes": 0,
    },
)

SEARCH_THEN_TRANSACTION: Final = Scenario(
    name="a search that leads to a reservation",
    story="A user looks for a restaurant; the desk proposes to reserve, reads back, is corrected and reserves.",
    graph=_GRAPH,
    at="SEARCHING",
    payload=Request(service=RESTAURANTS, intent="FindRestaurant", slots={"city": "Lisbon"}),
    events=(
        _SERVICE,
        ("SERVICE_OFFERED", _slot("restaurant", "Blue Door")),
        _USER,
        ("USER_CHOSE_OFFER", {}),
        _SERVICE,
        ("SERVICE_PROPOSED_TRANSACTION", _slot("intent", "ReserveTable")),
        _USER,
        ("USER_ACCEPTED_PROPOSAL", {}),
        _SERVICE,
        ("SERVICE_ASKED_FOR_DETAIL", _slot("time")),
        _USER,
        ("USER_GAVE_DETAIL", _slot("time", "19:00")),
        _SERVICE,
        ("SERVICE_ASKED_TO_CONFIRM", _slot("restaurant", "Blue Door")),
        ("SERVICE_ASKED_TO_CONFIRM", _slot("time", "19:00")),
        _USER,
        ("USER_DISAGREED", {}),
        ("USER_GAVE_DETAIL", _slot("time", "20:00")),
        _SERVICE,
        ("SERVICE_ASKED_TO_CONFIRM", _slot("time", "20:00")),
        _USER,
        ("USER_AGREED", {}),
        _SERVICE,
        ("SERVICE_CALLED", {"method": "ReserveTable", "parameters": {"restaurant": "Blue Door", "time": "20:00"}}),
        ("SERVICE_SUCCEEDED", {}),
        _USER,
        ("USER_THANKED", {}),
        _SERVICE,
        ("SERVICE_ASKED_FOR_MORE", {}),
        _USER,
        ("USER_DISAGREED", {}),
        _SERVICE,
        ("SERVICE_SAID_GOODBYE", {}),
    ),
    ends_in="ENDED",
    expects={"slots": {"city": "Lisbon", "restaurant": "Blue Door", "time": "20:00"}, "successes": 1, "failures": 0},
)

COUNTER_OFFER_TAKEN: Final = Scenario(
    name="a reservation at the second attempt",
    story="A user comes to reserve at once; the table is taken, the desk suggests a later hour, and that works.",
    graph=_GRAPH,
    on="TRANSACTION_REQUESTED",
    payload=Request(service=RESTAURANTS, intent="ReserveTable"),
    events=(
        ("USER_GAVE_DETAIL", _slot("restaurant", "Blue Door")),
        ("USER_GAVE_DETAIL", _slot("time", "19:00")),
        _SERVICE,
        ("SERVICE_ASKED_TO_CONFIRM", _slot("restaurant", "Blue Door")),
        ("SERVICE_ASKED_TO_CONFIRM", _slot("time", "19:00")),
        ("SERVICE_ASKED_TO_CONFIRM", _slot("seats", "2")),
        _USER,
        ("USER_AGREED", {}),
        _SERVICE,
        ("SERVICE_FAILED", {}),
        ("SERVICE_OFFERED", _slot("time", "21:30")),
        _USER,
        ("USER_AGREED", {}),
        _SERVICE,
        ("SERVICE_SUCCEEDED", {}),
        _USER,
        ("USER_ASKED_QUESTION", _slot("address")),
        _SERVICE,
        ("SERVICE_ANSWERED", _slot("address", "12 Harbour Street")),
        _USER,
        ("USER_THANKED", {}),
        ("USER_SAID_GOODBYE", {}),
        _SERVICE,
        ("SERVICE_SAID_GOODBYE", {}),
    ),
    ends_in="ENDED",
    expects={"slots": {"restaurant": "Blue Door", "time": "21:30", "seats": "2"}, "successes": 1, "failures": 1},
)

GIVEN_UP: Final = Scenario(
    name="nothing to be had",
    story="A user comes to reserve at once; it fails, nothing is close to it, and the user leaves with thanks.",
    graph=_GRAPH,
    at="ELICITING_DETAILS",
    payload=Request(
        service=RESTAURANTS,
        intent="ReserveTable",
        slots={"restaurant": "Blue Door", "time": "19:00"},
    ),
    events=(
        _SERVICE,
        ("SERVICE_ASKED_TO_CONFIRM", _slot("restaurant", "Blue Door")),
        ("SERVICE_ASKED_TO_CONFIRM", _slot("time", "19:00")),
        _USER,
        ("USER_AGREED", {}),
        _SERVICE,
        ("SERVICE_FAILED", {}),
        ("SERVICE_ASKED_FOR_MORE", {}),
        _USER,
        ("USER_DISAGREED", {}),
        ("USER_THANKED", {}),
        _SERVICE,
        ("SERVICE_SAID_GOODBYE", {}),
    ),
    ends_in="ENDED",
    expects={"successes": 0, "failures": 1},
)

scenarios: Final = (SEARCH_ONLY, SEARCH_THEN_TRANSACTION, COUNTER_OFFER_TAKEN, GIVEN_UP)
