from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta, timezone
from functools import cached_property
from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator, FormatChecker
from pydantic import ValidationError
from pydantic_core import from_json

from gatechart import HandoffPacket
from gatechart.handoff import Message, Part, PathStep, ToolCall, packet_schema
from gatechart.handoff.packet import SCHEMA_VERSION
from gatechart.values.handoffs import Mode, Reason

from .strategies import NOW, laws, packets

SCHEMA = Draft202012Validator(packet_schema(), format_checker=FormatChecker())


@laws
@given(packets)
def test_a_packet_comes_back_from_json_as_it_was(packet: HandoffPacket) -> None:
    assert HandoffPacket.model_validate(packet.model_dump(mode="json")) == packet
    assert HandoffPacket.model_validate_json(packet.model_dump_json()) == packet
    assert HandoffPacket.model_validate(json.loads(json.dumps(packet.model_dump(mode="json")))) == packet


@laws
@given(packets)
def test_what_is_dumped_fits_the_published_schema(packet: HandoffPacket) -> None:
    SCHEMA.validate(packet.model_dump(mode="json"))


def test_the_published_schema_is_a_schema_and_is_json() -> None:
    schema = packet_schema()
    Draft202012Validator.check_schema(schema)
    assert json.loads(json.dumps(schema)) == schema
    assert schema["$schema"].endswith("2020-12/schema")


@pytest.mark.parametrize(
    "payload", [{"reason": "boredom"}, {"conversation": [{"content": "no role"}]}, {"metadata": {"priority": "now"}}]
)
def test_what_the_schema_refuses_the_packet_refuses(payload: dict[str, Any]) -> None:
    assert not SCHEMA.is_valid(payload)
    with pytest.raises(ValidationError):
        HandoffPacket.model_validate(payload)


def test_a_packet_needs_nothing_and_says_so_with_defaults() -> None:
    packet = HandoffPacket(reason=Reason.OUT_OF_SCOPE, current_problem="a fridge")
    assert (packet.mode, packet.is_new, packet.schema_version) == (Mode.TRANSFER, True, SCHEMA_VERSION)
    assert packet.model_copy(update={"handoff_id": "h1"}).handoff_id == "h1"


def test_unknown_fields_are_kept_at_every_depth() -> None:
    payload = {"mood": {"now": ["cold"]}, "conversation": [{"role": "user", "tone": 3}], "schema": "odd", "": 1}
    dumped = HandoffPacket.model_validate(payload).model_dump(mode="json")
    assert dumped["mood"] == {"now": ["cold"]}
    assert dumped["conversation"][0]["tone"] == 3
    assert (dumped["schema"], dumped[""]) == ("odd", 1)


class Marked(HandoffPacket):
    """A packet with something private."""

    _mark: int = 0

    @cached_property
    def length(self) -> int:
        """Length of the conversation, once it was asked for."""
        return len(self.conversation)


def test_packets_are_equal_as_models_of_pydantic_are() -> None:
    packet, marked = HandoffPacket(mood="cold"), Marked()
    assert packet == HandoffPacket(mood="cold") != HandoffPacket(mood="warm")
    assert hash(packet.metadata) == hash(HandoffPacket().metadata)
    assert packet != Marked(mood="cold")
    assert marked == Marked()
    assert marked.length == 0
    assert marked == Marked()
    marked._mark = 1
    assert marked != Marked()


def test_a_packet_is_frozen() -> None:
    packet = HandoffPacket()
    with pytest.raises(ValidationError):
        packet.reason = Reason.OTHER


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"entities": {"price": math.nan}}, "entities.price"),
        ({"internal_state": {"a": [1, {"b": -math.inf}]}}, "internal_state.a.list.1.dict.b"),
        ({"mood": math.inf}, "mood.float"),
        (
            {"current_problem": "\ud800"},
            "current_problem\n  Input should be a valid string, unable to parse raw data as a unicode string",
        ),
        ({"entities": {"\udfff": 1}}, "entities.\ufffd"),
        ({"\udfff": 1}, "unicode string"),
        ({"conversation": ({"role": "user", "content": "a\ud800"},)}, "conversation.0.content"),
        ({"conversation": ({"role": "user", "tone": math.nan},)}, "conversation.0.tone"),
        ({"entities": {"when": NOW}}, "entities.when"),
        ({"mood": {1: 2}}, "mood"),
        ({"mood": object()}, "mood"),
        ({"deadline": datetime(2026, 1, 2)}, "deadline"),  # noqa: DTZ001
        ({"deadline": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))}, "between the years 1 and 9999 UTC"),
    ],
)
def test_what_json_cannot_hold_is_refused_with_its_place(fields: dict[str, Any], where: str) -> None:
    with pytest.raises(ValidationError) as caught:
        HandoffPacket(**fields)
    assert where in str(caught.value)


def test_what_is_nested_too_deeply_for_json_readers_is_refused() -> None:
    deep: list[Any] = []
    for _ in range(300):
        deep = [deep]
    with pytest.raises(ValidationError):
        HandoffPacket(entities={"deep": deep})


@pytest.mark.parametrize("text", ["\x00", "\U0001f600", "ünï ☃", "\u2028", '"\\'])
def test_odd_text_that_json_can_hold_is_held(text: str) -> None:
    packet = HandoffPacket(current_problem=text, entities={text: text})
    assert HandoffPacket.model_validate(from_json(packet.model_dump_json())) == packet


def test_times_are_kept_in_utc_so_that_odd_zones_come_back() -> None:
    odd = datetime(1890, 1, 1, tzinfo=timezone(timedelta(minutes=9, seconds=21)))
    step = PathStep(agent="a", graph="g", time=odd)
    assert step.time == odd
    assert step.time.tzinfo is UTC
    assert PathStep.model_validate(step.model_dump(mode="json")) == step


def test_tool_calls_keep_what_came_of_them() -> None:
    call = ToolCall(name="orders.find", arguments={"id": 7}, output=[{"id": 7}], error="")
    packet = HandoffPacket(conversation=(Message(role="agent", tool_calls=(call,)),))
    assert HandoffPacket.model_validate(packet.model_dump(mode="json")).conversation[0].tool_calls == (call,)


def test_every_part_is_frozen_and_open() -> None:
    for kind in Part.__subclasses__():
        assert kind.model_config["frozen"], kind
        assert kind.model_config["extra"] == "allow", kind
