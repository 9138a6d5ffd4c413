from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import Enum
from types import MappingProxyType
from typing import Any

import pytest
from pydantic import BaseModel, Field, RootModel, field_serializer

from gatechart.context import AgentContext
from gatechart.errors import EntryGuardError, EventError, PayloadError
from gatechart.graph.definition import EntryPoint, State
from gatechart.graph.graph import StateTransitionGraph
from gatechart.turn.arguments import fit_payload, plain_payload
from gatechart.values.agents import Event
from tests.support import Trail, context_of, is_broken, is_no, is_yes, started


class Mood(Enum):
    GOOD = "good"


class Item(BaseModel):
    what: str
    count: int = 1


class Case(BaseModel):
    customer: str
    items: list[Item] = Field(default_factory=list)
    since: datetime | None = None


class Aliased(BaseModel):
    customer: str = Field(alias="customerName")


class CaseContext(AgentContext):
    customer: str = "nobody"
    items: list[Item] = Field(default_factory=list)
    since: datetime | None = None


# The payload of an event.


@pytest.mark.parametrize("payload", [None, {}, MappingProxyType({})])
def test_nothing_is_an_empty_payload(payload: Any) -> None:
    assert plain_payload(payload, "GO") == {}


def test_an_empty_payload_belongs_to_its_event_alone() -> None:
    one, other = plain_payload(None, "GO"), plain_payload({}, "GO")
    try:
        one["left"] = "behind"
    except TypeError:  # it is frozen
        return
    found = dict(other)
    one.clear()
    assert found == {}


def test_a_mapping_becomes_json_values() -> None:
    payload = {
        "text": "a",
        "pair": (1, 2.5),
        "set": {3},
        "at": datetime(2026, 1, 2, tzinfo=UTC),
        "mood": Mood.GOOD,
        "item": Item(what="x"),
        "bytes": b"abc",
        "nothing": None,
    }
    assert plain_payload(payload, "GO") == {
        "text": "a",
        "pair": [1, 2.5],
        "set": [3],
        "at": "2026-01-02T00:00:00Z",
        "mood": "good",
        "item": {"what": "x", "count": 1},
        "bytes": "YWJj",
        "nothing": None,
    }


def test_a_model_becomes_its_fields() -> None:
    assert plain_payload(Item(what="x"), "GO") == {"what": "x", "count": 1}
    assert plain_payload(AgentContext(), "GO") == {}


def test_a_payload_is_a_copy_of_its_own() -> None:
    inner = [1]
    given = {"inner": inner}
    plain = plain_payload(given, "GO")
    inner.append(2)
    given["more"] = True
    assert plain == {"inner": [1]}


@pytest.mark.parametrize("kind", [MappingProxyType, ChainMap])
def test_any_mapping_will_do(kind: Any) -> None:
    given = kind({"a": 1})
    assert isinstance(given, Mapping)
    assert plain_payload(given, "GO") == {"a": 1}
    assert plain_payload({"inner": given}, "GO") == {"inner": {"a": 1}}


@pytest.mark.parametrize("payload", ["text", "", 7, 0, [], [1], ("a", 1), {1}, object(), True])
def test_what_is_neither_mapping_nor_model_is_refused(payload: Any) -> None:
    with pytest.raises(PayloadError) as caught:
        plain_payload(payload, "GO")
    assert caught.value.taker == "event 'GO'"
    assert caught.value.problems == (f"it is a {type(payload).__name__}",)
    assert caught.value.expected == "a mapping or pydantic model of JSON values under text names"


@pytest.mark.parametrize("payload", [{"a": object()}, {"a": [lambda: None]}, {"a": {"b": Trail}}])
def test_a_value_that_json_does_not_know_is_refused(payload: Any) -> None:
    with pytest.raises(PayloadError) as caught:
        plain_payload(payload, "GO")
    assert len(caught.value.problems) == 1
    assert caught.value.__cause__ is not None


def test_a_model_is_told_by_the_names_of_its_fields() -> None:
    assert plain_payload(Aliased(customerName="Ada"), "GO") == {"customer": "Ada"}


def test_a_payload_that_holds_itself_is_refused() -> None:
    knot: dict[str, Any] = {}
    knot["self"] = knot
    with pytest.raises(PayloadError, match="Circular reference"):
        plain_payload(knot, "GO")


def test_a_text_that_no_file_can_hold_is_refused() -> None:
    with pytest.raises(PayloadError):
        plain_payload({"a": "\ud800"}, "GO")


@pytest.mark.parametrize("payload", [{1: "a"}, {1: "a", "1": "b"}, {None: 1}, {(): 1}], ids=str)
def test_names_that_are_no_texts_are_refused(payload: Any) -> None:
    with pytest.raises(PayloadError):
        plain_payload(payload, "GO")


class Reading(BaseModel):
    value: float | None = None
    more: Any = None


class AsText(BaseModel, ser_json_inf_nan="strings"):
    value: float = 0.0


@dataclass
class Pair:
    left: float | None


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    ("payload_of", "place"),
    [
        (lambda number: {"a": ["NaN", None, {"b": number}]}, "a.2.b"),
        (lambda number: {"a": (1, number)}, "a.1"),
        (lambda number: Reading(value=number), "value"),
        (lambda number: Reading(more=[number]), "more.0"),
        (lambda number: {"a": Reading(more={"b": number})}, "a.more.b"),
        (lambda number: {"a": [Pair(number)]}, "a.0.left"),
        (lambda number: AsText(value=number), "value"),
    ],
)
def test_numbers_that_json_does_not_know_are_refused_wherever_they_are(
    payload_of: Any, place: str, number: float
) -> None:
    with pytest.raises(PayloadError) as caught:
        plain_payload(payload_of(number), "GO")
    assert caught.value.problems == (f"{place} is {number}, and JSON has no such number",)


def test_texts_that_look_like_such_numbers_and_nothing_at_all_are_fine() -> None:
    fine = {"a": [1, 2.5, "Infinity", None, {"b": "NaN"}]}
    assert plain_payload(fine, "GO") == fine
    assert plain_payload(Reading(value=1.5), "GO") == {"value": 1.5, "more": None}


def nested(deep: int) -> Any:
    """A payload with so many objects and arrays in each other, among many that are not."""
    inner: Any = ["[" * 200, *([1] for _ in range(200))]
    for _ in range(deep - 3):
        inner = {"in": inner}
    return {"a": inner}


def test_a_payload_may_be_as_deep_as_everything_around_it_can_be_read() -> None:
    assert plain_payload(nested(150), "GO") == nested(150)
    for deep in (151, 199, 200, 201, 254, 1000):
        with pytest.raises(PayloadError, match=r"nested more than|depth"):
            plain_payload(nested(deep), "GO")


# The payload of an entry point.


def door(**more: Any) -> EntryPoint:
    return EntryPoint("A", "door", takes=Case, **more)


@pytest.mark.parametrize(
    "payload",
    [
        {"customer": "Ada", "items": [{"what": "x"}]},
        MappingProxyType({"customer": "Ada", "items": ({"what": "x"},)}),
        Case(customer="Ada", items=[Item(what="x")]),
    ],
)
def test_a_payload_that_fits_is_the_entry_points_model(payload: Any) -> None:
    assert fit_payload("g", door(), payload) == Case(customer="Ada", items=[Item(what="x")])


def test_another_model_with_the_same_fields_fits() -> None:
    class Handover(BaseModel):
        customer: str = "Ada"
        items: list[dict[str, Any]] = Field(default_factory=lambda: [{"what": "x", "count": "2"}])
        colour: str = "red"

    assert fit_payload("g", door(), Handover()) == Case(customer="Ada", items=[Item(what="x", count=2)])


def test_another_model_that_does_not_fit_is_refused() -> None:
    with pytest.raises(PayloadError, match="customer: Field required"):
        fit_payload("g", door(), Item(what="x"))


@pytest.mark.parametrize("payload", [None, {}])
def test_a_payload_is_missed_where_a_field_is_required(payload: Any) -> None:
    with pytest.raises(PayloadError) as caught:
        fit_payload("g", door(), payload)
    assert caught.value.taker == "entry point 'door' of 'g'"
    assert caught.value.problems == ("customer: Field required",)
    assert caught.value.expected == (
        f"Case(customer: str, items?: list[{__name__}.Item], since?: datetime.datetime | None)"
    )


def test_nothing_fits_where_every_field_has_a_default() -> None:
    class Loose(BaseModel):
        note: str = "none"

    assert fit_payload("g", EntryPoint("A", takes=Loose), None) == Loose()


def test_everything_that_does_not_fit_is_told_at_once() -> None:
    with pytest.raises(PayloadError) as caught:
        fit_payload("g", door(), {"items": [{"count": "x"}], "since": "long"})
    assert [problem.split(":")[0] for problem in caught.value.problems] == [
        "customer",
        "items.0.what",
        "items.0.count",
        "since",
    ]


@pytest.mark.parametrize("payload", ["text", 7, [1]])
def test_a_payload_of_the_wrong_type_does_not_fit(payload: Any) -> None:
    with pytest.raises(PayloadError, match="the whole: Input should be"):
        fit_payload("g", door(), payload)


@pytest.mark.parametrize("payload", [None, {}])
def test_nothing_fits_an_entry_point_that_takes_nothing(payload: Any) -> None:
    assert fit_payload("g", EntryPoint("A"), payload) is None


@pytest.mark.parametrize("payload", [{"a": 1}, Item(what="x"), "text", 0, []])
def test_an_entry_point_that_takes_nothing_refuses_a_payload(payload: Any) -> None:
    with pytest.raises(PayloadError) as caught:
        fit_payload("g", EntryPoint("A"), payload)
    assert caught.value.problems == ("it takes no payload",)
    assert "declare takes=" in str(caught.value)


def test_a_model_that_was_made_without_validation_is_validated() -> None:
    with pytest.raises(PayloadError):
        fit_payload("g", door(), Case.model_construct())
    spoilt = Case(customer="Ada")
    spoilt.items = "none"
    with pytest.raises(PayloadError):
        fit_payload("g", door(), spoilt)


class Written(BaseModel):
    """A payload that is written in a way of its own, and not wholly."""

    day: date
    token: str = Field(exclude=True)

    @field_serializer("day")
    def in_words(self, day: date) -> str:
        return f"the {day.day}. of {day:%B}"


def test_how_a_model_is_written_does_not_matter_to_who_takes_it() -> None:
    payload = Written(day=date(2026, 1, 2), token="t")
    assert fit_payload("g", EntryPoint("A", takes=Written), payload) == payload


def test_a_model_like_the_one_that_is_taken_fits_with_all_that_is_inside_it() -> None:
    class OtherItem(BaseModel):
        what: str

    class OtherCase(BaseModel):
        customer: str
        items: list[OtherItem]

    payload = OtherCase(customer="Ada", items=[OtherItem(what="x")])
    assert fit_payload("g", door(), payload) == Case(customer="Ada", items=[Item(what="x")])


def test_a_payload_may_be_a_list() -> None:
    class Names(RootModel[list[str]]): ...

    assert fit_payload("g", EntryPoint("A", takes=Names), Names(["Ada"])) == Names(["Ada"])


def test_a_payload_keeps_what_its_model_allows_beyond_the_fields() -> None:
    class Open(BaseModel, extra="allow"):
        known: int

    assert fit_payload("g", EntryPoint("A", takes=Open), Open(known=1, more=2)).model_dump() == {"known": 1, "more": 2}


@pytest.mark.parametrize("payload", [{"customer": "Ada"}, {"customerName": "Ada"}, Case(customer="Ada")], ids=str)
def test_a_schema_with_aliases_takes_the_names_that_its_error_offers(payload: Any) -> None:
    assert fit_payload("g", EntryPoint("A", takes=Aliased), payload).customer == "Ada"


# From the payload to the context that an agent begins with.


def graph_of(entry: EntryPoint, kind: type[AgentContext] = CaseContext, **state: Any) -> StateTransitionGraph:
    return StateTransitionGraph("g", context=kind, states=[State("A", **state)], entry_points=[entry])


async def test_a_payload_fills_the_context() -> None:
    since = datetime(2026, 1, 2, tzinfo=UTC)
    graph = graph_of(EntryPoint("A", takes=Case))
    record = await started(graph, payload={"customer": "Ada", "items": [{"what": "x"}], "since": since})
    assert context_of(graph, record) == CaseContext(customer="Ada", items=[Item(what="x")], since=since)


async def test_without_a_payload_the_context_has_its_defaults() -> None:
    graph = graph_of(EntryPoint("A"))
    assert context_of(graph, await started(graph)) == CaseContext()


async def test_a_mapping_leads_the_payload_to_other_fields() -> None:
    graph = graph_of(EntryPoint("A", takes=Item, maps={"what": "customer"}))
    assert context_of(graph, await started(graph, payload={"what": "x"})) == CaseContext(customer="x")


async def test_a_function_makes_the_fields_from_the_payload() -> None:
    graph = graph_of(EntryPoint("A", takes=Item, maps=lambda item: {"customer": item.what * item.count}))
    assert context_of(graph, await started(graph, payload={"what": "x", "count": 3})) == CaseContext(customer="xxx")


async def test_fields_with_aliases_are_filled_by_their_names_alone() -> None:
    class AliasedContext(AgentContext):
        customer: str = Field("nobody", alias="customerName")

    by_name = EntryPoint("A", takes=Case, maps={"customer": "customer"})
    graph = graph_of(by_name, AliasedContext)
    assert context_of(graph, await started(graph, payload={"customer": "Ada"})).customer == "Ada"
    by_alias = EntryPoint("A", takes=Case, maps=lambda case: {"customerName": case.customer})
    with pytest.raises(PayloadError, match="customerName: Extra inputs"):
        await started(graph_of(by_alias, AliasedContext), payload={"customer": "Ada"})


@pytest.mark.parametrize(
    ("maps", "problem"),
    [
        (lambda item: {"custmer": "x"}, "custmer: Extra inputs are not permitted"),
        (lambda item: {"customer": 7}, "customer: Input should be a valid string"),
        ({"count": "customer"}, "customer: Input should be a valid string"),
    ],
)
async def test_fields_that_do_not_fit_the_context_start_nothing(maps: Any, problem: str) -> None:
    with pytest.raises(PayloadError) as caught:
        await started(graph_of(EntryPoint("A", takes=Item, maps=maps)), payload={"what": "x"})
    assert caught.value.taker == "the initial context at entry point 'A' of 'g'"
    assert caught.value.problems == (problem,)
    assert caught.value.expected.startswith("CaseContext(customer?: str, ")


async def test_a_context_with_a_field_that_nobody_fills_starts_nothing() -> None:
    class Demanding(AgentContext):
        customer: str

    with pytest.raises(PayloadError, match="customer: Field required"):
        await started(graph_of(EntryPoint("A"), Demanding))


@pytest.mark.parametrize("maps", [lambda item: {}["customer"], lambda item: None, lambda item: 7])
async def test_a_function_that_cannot_map_is_one_clear_error(maps: Any) -> None:
    with pytest.raises(EventError) as caught:
        await started(graph_of(EntryPoint("A", takes=Item, maps=maps)), payload={"what": "x"})
    assert "entry point 'A'" in str(caught.value)


async def test_what_an_agent_does_to_its_context_leaves_the_payload_of_the_caller_alone() -> None:
    def add(context: CaseContext, event: Event) -> None:
        context.items[0].count = 99
        context.items.append(Item(what="y"))

    graph = graph_of(EntryPoint("A", takes=Case), on_entry=add)
    payload = Case(customer="Ada", items=[Item(what="x")])
    record = await started(graph, payload=payload)
    assert context_of(graph, record).items == [Item(what="x", count=99), Item(what="y")]
    assert payload == Case(customer="Ada", items=[Item(what="x")])


# The guard of an entry point.


async def test_a_guard_is_asked_with_the_context_made_from_the_payload() -> None:
    def is_ada(context: CaseContext, event: Event) -> bool:
        return context.customer == "Ada" and event.payload["customer"] == "Ada"

    graph = graph_of(EntryPoint("A", takes=Case, guard=is_ada))
    assert (await started(graph, payload={"customer": "Ada"})).snapshot.configuration == ("A",)
    with pytest.raises(EntryGuardError):
        await started(graph, payload={"customer": "Eve"})


async def test_a_guard_that_says_no_starts_nothing() -> None:
    def never(context: Any, event: Any) -> None:
        raise AssertionError("no entry action is to run")

    with pytest.raises(EntryGuardError) as caught:
        await started(graph_of(EntryPoint("A", "door", guard=is_no), Trail, on_entry=never))
    error = caught.value
    assert (error.graph, error.entry_point, error.guard, error.raised) == ("g", "door", "is_no", None)


async def test_a_guard_that_raises_starts_nothing_and_tells_what_it_raised() -> None:
    with pytest.raises(EntryGuardError) as caught:
        await started(graph_of(EntryPoint("A", guard=is_broken), Trail))
    assert caught.value.raised == "ZeroDivisionError: a guard went wrong"


async def test_a_guard_that_gives_something_to_await_does_not_let_anyone_in() -> None:
    async def is_later(context: Any, event: Any) -> bool:
        return False

    def is_forgetful(context: Any, event: Any) -> Any:
        return is_later(context, event)

    with pytest.raises(EntryGuardError):
        await started(graph_of(EntryPoint("A", guard=is_forgetful), Trail))


async def test_a_guard_that_agrees_lets_the_agent_begin() -> None:
    assert (await started(graph_of(EntryPoint("A", guard=is_yes), Trail))).snapshot.version == 1
