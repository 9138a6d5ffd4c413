from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from enum import Enum
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, field_validator, model_validator

from gatechart.context import (
    AgentContext,
    changed_by_writing,
    new_context,
    read_context,
    read_only_context,
    write_context,
)
from gatechart.errors import PacketError
from gatechart.handoff import (
    ConversationContext,
    HandoffPacket,
    Message,
    Metadata,
    Priority,
    ReasoningStep,
    ToolCall,
    read_packet,
)
from gatechart.handoff.conversation import SUMMARY, fields_for, packet_of
from gatechart.values.handoffs import Mode, Reason

from .strategies import NOW, json_values, laws, many, mappings, messages, packets, texts
from .strategies import steps as reasoning_steps


class Item(BaseModel):
    name: str
    count: int = 1


class Mood(Enum):
    CALM = "calm"


class Order(ConversationContext):
    order_id: str = ""
    total: Annotated[float, Field(ge=0)] = 0.0
    due: date | None = None
    photo: bytes = b""
    mood: Mood | None = None
    items: list[Item] = Field(default_factory=list)
    tags: frozenset[str] = frozenset()
    even: int = 0

    @field_validator("even")
    @classmethod
    def _is_even(cls, value: int) -> int:
        if value % 2:
            raise ValueError("it is odd")
        return value


class Plain(AgentContext):
    customer: str
    total: float = 0.0
    photo: bytes = b""
    agreed: bool = False

    @model_validator(mode="after")
    def _named(self) -> Plain:
        if not self.customer:
            raise ValueError("a customer has a name")
        return self


def again(context: AgentContext) -> Any:
    restored = read_context(type(context), write_context(context))
    assert changed_by_writing(context, restored) == ()
    return restored


def at(second: int) -> datetime:
    return NOW + timedelta(seconds=second)


def talk(count: int) -> Order:
    context = Order(session_id="s", initial_query="where is it?", order_id="o-7")
    for number in range(count):
        context.say("user" if number % 2 == 0 else "agent", f"line {number}", at(number))
    return context


contexts = st.builds(
    Order,
    session_id=texts,
    initial_query=texts,
    messages=many(messages).map(list),
    reasoning=many(reasoning_steps).map(list),
    entities=mappings,
    internal_state=mappings,
    decisions=many(texts).map(list),
    order_id=texts,
    total=st.floats(0, 9) | st.just(math.inf),
    photo=st.binary(max_size=4),
    due=st.none() | st.dates(),
    items=st.lists(st.builds(Item, name=texts), max_size=2),
)


@laws
@given(contexts)
def test_a_conversation_comes_back_from_json_as_it_was(context: Order) -> None:
    assert again(context) == context


@laws
@given(contexts)
def test_what_a_context_hands_on_its_like_gets_whole(context: Order) -> None:
    packet = read_packet(context.packet().model_dump(mode="json"))
    made = new_context(Order, fields_for(Order, packet))
    clean = {"internal_state": made.internal_state, "entities": context.entities}
    assert made.model_copy(update=clean) == context.model_copy(update=clean)
    assert context.internal_state.items() <= made.internal_state.items()
    again(made)


@laws
@given(contexts, packets)
def test_taking_a_packet_twice_is_taking_it_once(context: Order, packet: HandoffPacket) -> None:
    context.take(packet)
    once = again(context)
    context.take(packet)
    assert context == once


@laws
@given(packets)
def test_every_packet_makes_a_context_that_hands_it_on(packet: HandoffPacket) -> None:
    made = again(new_context(Order, fields_for(Order, packet)))
    handed = made.packet(packet.reason)
    names = ConversationContext.model_fields.keys() & HandoffPacket.model_fields.keys() - {"internal_state"}
    for name in (*names, "conversation"):
        assert getattr(handed, name) == getattr(packet, name)


def test_a_packet_holds_the_whole_conversation() -> None:
    context = talk(4)
    context.note("find", "by id", "failed", "it was asked for")
    context.entities["city"] = "Bern"
    context.internal_state["page"] = 2
    context.decisions.append("be brief")
    packet = context.packet(Reason.KNOWLEDGE_GAP, mode=Mode.DELEGATE, deadline=at(9), ticket="t-1")
    assert packet.reason is Reason.KNOWLEDGE_GAP
    assert [each.content for each in packet.conversation] == ["line 0", "line 1", "line 2", "line 3"]
    assert packet.reasoning == (
        ReasoningStep(step_id="1", action="find", details="by id", outcome="failed", reasoning="it was asked for"),
    )
    assert packet.entities == {"city": "Bern"}
    assert packet.internal_state == {"page": 2, "order_id": "o-7"}
    assert (packet.session_id, packet.decisions, packet.mode, packet.deadline) == (
        "s",
        ("be brief",),
        Mode.DELEGATE,
        at(9),
    )
    assert packet.model_extra == {"ticket": "t-1"}


@pytest.mark.parametrize(("last", "left"), [(None, 4), (0, 0), (1, 1), (4, 4), (9, 4)])
def test_a_packet_may_hold_the_last_messages_only(last: int | None, left: int) -> None:
    context = talk(4)
    assert list(context.packet(last=last).conversation) == context.messages[4 - left :]


def test_a_summary_stands_for_the_messages_that_are_left_out() -> None:
    context = talk(4)
    packet = context.packet(last=1, summarize=lambda left: f"{len(left)} lines")
    assert packet.conversation == (Message(role=SUMMARY, content="3 lines", time=at(2)), context.messages[3])
    assert context.packet(last=1, summarize=lambda left: "").conversation == (context.messages[3],)


def test_nothing_is_summarized_where_nothing_is_left_out() -> None:
    def never(left: tuple[Message, ...]) -> str:
        raise AssertionError(left)

    assert len(talk(2).packet(last=2, summarize=never).conversation) == 2
    assert len(talk(2).packet(summarize=never).conversation) == 2


def test_chosen_fields_are_left_out() -> None:
    context = talk(2)
    context.entities = {"card": "4711", "city": "Bern"}
    context.user_id = "u"
    without = ["conversation", "user_id", "entities.card", "internal_state.order_id", "entities.unknown"]
    packet = context.packet(without=without)
    assert (packet.conversation, packet.user_id, packet.entities, packet.internal_state) == (
        (),
        "",
        {"city": "Bern"},
        {},
    )
    assert context.packet(without="entities").entities == {}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"without": ["messages"]}, "without: a packet has no field 'messages'"),
        ({"without": ["metadata.locale"]}, "no field 'metadata.locale'"),
        ({"last": -1}, "last: -1 is negative"),
        ({"mode": "nonsense"}, "mode: "),
        ({"ticket": math.nan}, "ticket.float: Input should be a finite number"),
    ],
)
def test_what_no_packet_can_be_is_refused(arguments: dict[str, Any], problem: str) -> None:
    context = talk(1)
    before = write_context(context)
    with pytest.raises(PacketError, match=problem.replace("(", r"\(")):
        context.packet(**arguments)
    assert write_context(context) == before


@pytest.mark.parametrize("field", ["order_id", "current_problem"])
def test_text_that_json_cannot_hold_is_refused_and_not_lost(field: str) -> None:
    context = talk(0)
    setattr(context, field, "\ud800")
    with pytest.raises(PacketError):
        context.packet()


def test_a_packet_is_a_copy() -> None:
    context = talk(1)
    context.entities["list"] = [1]
    packet = context.packet()
    context.entities["list"].append(2)
    context.messages.clear()
    assert packet.entities == {"list": [1]}
    assert len(packet.conversation) == 1
    made = new_context(Order, fields_for(Order, packet))
    made.entities["list"].append(3)
    living = Order()
    living.take(packet)
    living.entities["list"].append(4)
    assert packet.entities == {"list": [1]}


def test_a_read_only_context_makes_packets_too() -> None:
    context = talk(2)
    read_only = read_only_context(Order, write_context(context))
    assert read_only.packet(last=1) == context.packet(last=1)


def test_the_agents_own_word_and_declared_entities_fill_the_fields_of_the_same_name() -> None:
    packet = HandoffPacket(
        entities={"order_id": "o-9", "total": 2, "even": 4, "city": "Bern"},
        internal_state={"order_id": "o-8", "due": "2026-01-02", "photo": "_w==", "mood": "calm", "tags": ["a"]},
    )
    made = new_context(Order, fields_for(Order, packet, entities=("order_id", "total", "city")))
    assert (made.order_id, made.total, made.due, made.photo) == ("o-8", 2.0, date(2026, 1, 2), b"\xff")
    assert made.even == 0
    assert (made.mood, made.tags) == (Mood.CALM, {"a"})
    assert made.entities == packet.entities
    assert made.internal_state == packet.internal_state


def test_what_does_not_fit_a_field_stays_where_it_was() -> None:
    packet = HandoffPacket(entities={"total": -1, "even": 3, "due": "soon", "items": [{"name": "a"}], "messages": 7})
    fields = fields_for(Order, packet, entities=[*Order.model_fields])
    assert fields.keys() & {"total", "even", "due", "items"} == {"items"}
    made = new_context(Order, fields)
    assert (made.total, made.even, made.items, made.messages) == (0.0, 0, [Item(name="a")], [])
    assert made.entities["total"] == -1


def test_a_field_with_another_name_outside_is_filled_by_its_own_name() -> None:
    class Renamed(ConversationContext):
        city: str = Field("", alias="town")

    packet = HandoffPacket(entities={"city": "Bern", "town": "Basel"})
    fields = fields_for(Renamed, packet, entities=["city", "town"])
    assert new_context(Renamed, fields).city == "Bern"


def test_fields_that_still_have_their_defaults_are_not_handed_on() -> None:
    assert Order().packet().internal_state == {}
    living = talk(0)
    living.take(Order().packet())
    assert living.order_id == "o-7"


def test_a_living_agent_takes_only_what_it_does_not_have() -> None:
    context = talk(2)
    other = Order(**fields_for(Order, context.packet()))
    other.say("agent", "found", at(8), [ToolCall(name="find", arguments={"id": 7}, output=[1])])
    other.note("find", outcome="found")
    other.decisions.append("refund")
    other.entities["city"] = "Bern"
    other.total = 3.5
    context.say("user", "hello?", at(7))
    context.entities = {"city": "?", "name": "Ada"}
    context.decisions = ["refund", "wait"]
    context.take(other.packet(current_problem="paid twice", suggested_action="pay back"))
    assert [each.content for each in context.messages] == ["line 0", "line 1", "hello?", "found"]
    assert context.tried("find")
    assert context.decisions == ["refund", "wait"]
    assert context.entities == {"city": "Bern", "name": "Ada"}
    assert (context.total, context.current_problem, context.suggested_action) == (3.5, "paid twice", "pay back")
    again(context)


def test_the_same_words_said_twice_are_two_messages() -> None:
    context = Order()
    context.say("user", "yes")
    packet = HandoffPacket(conversation=(Message(role="user", content="yes"),) * 2)
    context.take(packet)
    assert len(context.messages) == 2


def test_what_a_packet_does_not_say_stays_as_it_was() -> None:
    metadata = Metadata(locale="de-CH", environment="shop", priority=Priority.LOW)
    context = Order(session_id="s", user_id="u", initial_query="first", current_problem="p", metadata=metadata)
    context.suggested_action = "old"
    context.take(HandoffPacket(initial_query="second", metadata=Metadata(priority=Priority.URGENT, channel="phone")))
    assert (context.session_id, context.user_id, context.initial_query, context.current_problem) == (
        "s",
        "u",
        "first",
        "p",
    )
    assert context.suggested_action == ""
    assert context.metadata == Metadata(locale="de-CH", environment="shop", priority=Priority.URGENT, channel="phone")
    again(context)


def test_an_action_can_skip_what_was_tried() -> None:
    context = Order()
    assert not context.tried("find")
    assert context.note("find", outcome="nothing").step_id == "1"
    assert context.note("ask").step_id == "2"
    assert new_context(Order, fields_for(Order, context.packet())).tried("find")


def test_any_context_is_a_packet() -> None:
    assert packet_of(None) == HandoffPacket()
    two = talk(2)
    assert packet_of(two, Reason.TIMEOUT) == two.packet(Reason.TIMEOUT)
    plain = Plain(customer="Ada", total=math.inf, photo=b"\xff")
    packet = packet_of(plain, Reason.TIMEOUT)
    assert packet.reason is Reason.TIMEOUT
    assert packet.internal_state == {"customer": "Ada", "total": "Infinity", "photo": "_w==", "agreed": False}
    assert new_context(Plain, fields_for(Plain, read_packet(packet.model_dump(mode="json")))) == plain


def test_a_context_that_json_cannot_hold_is_no_packet() -> None:
    with pytest.raises(PacketError, match="Plain: "):
        packet_of(Plain(customer="\ud800"))


def test_another_context_gets_the_fields_that_it_has() -> None:
    packet = HandoffPacket(
        internal_state={"customer": "A", "total": "many"}, entities={"customer": "Ada", "total": 3, "city": "Bern"}
    )
    assert fields_for(Plain, packet, entities=("customer", "total", "city")) == {"customer": "A"}
    assert fields_for(Plain, HandoffPacket(entities={"total": 3}), entities=["total"]) == {"total": 3.0}
    assert fields_for(Plain, HandoffPacket(entities={"total": 3}), entities=["customer"]) == {}
    assert fields_for(AgentContext, packet) == {}


def test_whether_the_fields_agree_is_not_judged() -> None:
    assert fields_for(Plain, HandoffPacket(internal_state={"customer": ""})) == {"customer": ""}


@laws
@given(st.dictionaries(st.sampled_from([*Order.model_fields]), json_values))
def test_whatever_stands_under_the_name_of_a_field_makes_a_context(values: dict[str, Any]) -> None:
    again(new_context(Order, fields_for(Order, HandoffPacket(entities=values), entities=[*Order.model_fields])))
    again(new_context(Order, fields_for(Order, HandoffPacket(internal_state=values))))


def test_validators_of_a_context_are_asked_once_for_all_fields_of_a_packet() -> None:
    asked = []

    class Checked(AgentContext):
        one: int = 0
        two: int = 0
        three: int = 0

        @model_validator(mode="after")
        def note(self) -> Checked:
            asked.append(self)
            return self

    packet = HandoffPacket(internal_state={"one": 1, "two": 2}, entities={"three": 3})
    assert fields_for(Checked, packet, entities=["three"]) == {"one": 1, "two": 2, "three": 3}
    assert len(asked) == 1
