"""What happens at desks: the stories that the demo tells and the tests check."""

from __future__ import annotations

from typing import Any, Final

from statecharts.scenario import Scenario
from statecharts.service_desk.context import Request

_GRAPH: Final = "service_desk"
_RESERVE: Final = {
    "intent": "ReserveTable",
    "is_transactional": True,
    "required_slots": ["restaurant", "time"],
}


def _slot(slot: str, *values: str) -> dict[str, Any]:
    return {"slot": slot, "values": list(values)} if values else {"slot": slot}


SEARCH_ONLY: Final = Scenario(
    name="a search and no more",
    story="A user looks for a concert, asks for another one, likes it and leaves.",
    graph=_GRAPH,
    on="SEARCH_REQUESTED",
    payload=Request(service="Concerts", intent="FindConcert", required_slots=("city", "genre")),
    events=(
        ("USER_GAVE_DETAIL", _slot("genre", "jazz")),
        ("SERVICE_ASKED_FOR_DETAIL", _slot("city")),
        ("USER_GAVE_DETAIL", _slot("city", "Berlin")),
        ("SERVICE_OFFERED", _slot("concert", "Quiet Nights")),
        ("SERVICE_COUNTED_RESULTS", _slot("count", "2")),
        ("USER_ASKED_FOR_ALTERNATIVES", {}),
        ("SERVICE_OFFERED", _slot("concert", "Loud Mornings")),
        ("USER_ASKED_QUESTION", _slot("date")),
        ("SERVICE_ANSWERED", _slot("date", "2026-05-02")),
        ("USER_CHOSE_OFFER", {}),
        ("USER_SAID_GOODBYE", {}),
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
    payload=Request(service="Restaurants", intent="FindRestaurant", required_slots=("city",), slots={"city": "Lisbon"}),
    events=(
        ("SERVICE_OFFERED", _slot("restaurant", "Blue Door")),
        ("USER_CHOSE_OFFER", {}),
        ("SERVICE_PROPOSED_TRANSACTION", _RESERVE),
        ("USER_ACCEPTED_PROPOSAL", {}),
        ("SERVICE_ASKED_FOR_DETAIL", _slot("time")),
        ("USER_GAVE_DETAIL", _slot("time", "19:00")),
        ("SERVICE_ASKED_TO_CONFIRM", _slot("restaurant", "Blue Door")),
        ("SERVICE_ASKED_TO_CONFIRM", _slot("time", "19:00")),
        ("USER_GAVE_DETAIL", _slot("time", "20:00")),
        ("USER_DISAGREED", {}),
        ("SERVICE_ASKED_TO_CONFIRM", _slot("time", "20:00")),
        ("USER_AGREED", {}),
        ("SERVICE_SUCCEEDED", {}),
        ("USER_THANKED", {}),
        ("SERVICE_ASKED_FOR_MORE", {}),
        ("USER_DISAGREED", {}),
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
    payload=Request(service="Restaurants", intent="ReserveTable", required_slots=("restaurant", "time")),
    events=(
        ("USER_GAVE_DETAIL", _slot("restaurant", "Blue Door")),
        ("USER_GAVE_DETAIL", _slot("time", "19:00")),
        ("SERVICE_ASKED_TO_CONFIRM", _slot("time", "19:00")),
        ("USER_AGREED", {}),
        ("SERVICE_OFFERED", _slot("time", "21:30")),
        ("SERVICE_FAILED", {}),
        ("USER_AGREED", {}),
        ("SERVICE_SUCCEEDED", {}),
        ("USER_ASKED_QUESTION", _slot("address")),
        ("SERVICE_ANSWERED", _slot("address", "12 Harbour Street")),
        ("USER_THANKED", {}),
        ("USER_SAID_GOODBYE", {}),
        ("SERVICE_SAID_GOODBYE", {}),
    ),
    ends_in="ENDED",
    expects={"slots": {"restaurant": "Blue Door", "time": "21:30"}, "successes": 1, "failures": 1},
)

GIVEN_UP: Final = Scenario(
    name="nothing to be had",
    story="A user comes to reserve at once; it fails, nothing is close to it, and the user leaves with thanks.",
    graph=_GRAPH,
    at="ELICITING_DETAILS",
    payload=Request(
        service="Restaurants",
        intent="ReserveTable",
        required_slots=("restaurant", "time"),
        slots={"restaurant": "Blue Door", "time": "19:00"},
    ),
    events=(
        ("SERVICE_ASKED_TO_CONFIRM", _slot("time", "19:00")),
        ("USER_AGREED", {}),
        ("SERVICE_FAILED", {}),
        ("SERVICE_ASKED_FOR_MORE", {}),
        ("USER_DISAGREED", {}),
        ("USER_THANKED", {}),
        ("SERVICE_SAID_GOODBYE", {}),
    ),
    ends_in="ENDED",
    expects={"successes": 0, "failures": 1},
)

scenarios: Final = (SEARCH_ONLY, SEARCH_THEN_TRANSACTION, COUNTER_OFFER_TAKEN, GIVEN_UP)
