"""Declared events: what a graph takes as one, and what its fingerprint covers."""

from __future__ import annotations

import time

import pytest
from pydantic import BaseModel

from gatechart.errors import InvalidGraphError
from gatechart.graph.definition import Transition
from gatechart.graph.events import EventType
from gatechart.graph.graph import StateTransitionGraph
from gatechart.graph.payload_schema import JsonSchema


class Decision(BaseModel):
    approved: bool
    note: str = ""


NUMBERED = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}


def graph_of(*events, closed=False):
    waiting = Transition("WAITING", "APPROVED", "DECIDED")
    return StateTransitionGraph(
        "leave", transitions=[waiting], entry_points=["WAITING"], events=events, events_closed=closed
    )


def faults_of(*events, closed=False):
    with pytest.raises(InvalidGraphError) as raised:
        graph_of(*events, closed=closed)
    return [f"{fault.place}: {fault.problem}" for fault in raised.value.faults]


def test_a_name_alone_declares_an_event_that_takes_any_payload():
    graph = graph_of("APPROVED", EventType("NOTED", description="Somebody wrote."))
    assert graph.event_types == {
        "APPROVED": EventType("APPROVED"),
        "NOTED": EventType("NOTED", description="Somebody wrote."),
    }
    assert graph.event_types["APPROVED"].payload_schema is None


def test_the_schema_of_a_payload_is_that_of_the_model_or_as_written():
    assert EventType("A", takes=Decision).payload_schema == Decision.model_json_schema()
    assert EventType("A", takes=Decision).expected == "Decision(approved: bool, note?: str)"
    assert EventType("A", takes=NUMBERED).payload_schema == NUMBERED
    assert EventType("A", takes=NUMBERED).expected == "an object with number: integer"


def test_the_fingerprint_covers_what_is_declared_and_only_then():
    plain = graph_of().fingerprint
    declared = graph_of(EventType("APPROVED", takes=Decision)).fingerprint
    described = graph_of(EventType("APPROVED", takes=Decision, description="Decided.")).fingerprint
    closed = graph_of(EventType("APPROVED", takes=Decision), closed=True).fingerprint
    by_schema = graph_of(EventType("APPROVED", takes=NUMBERED)).fingerprint
    turned = graph_of(EventType("APPROVED", takes=dict(reversed(NUMBERED.items())))).fingerprint
    bare = StateTransitionGraph(
        "leave", transitions=[Transition("WAITING", "APPROVED", "DECIDED")], entry_points=["WAITING"]
    )
    assert plain == bare.fingerprint
    assert len({plain, declared, closed, by_schema}) == 4
    assert (described, turned) == (declared, by_schema)


@pytest.mark.parametrize(
    ("events", "fault"),
    [
        (["*"], "event '*': it is a pattern of names"),
        (["error.*"], "event 'error.*': it is a pattern of names"),
        (["A B"], "event 'A B': it is a pattern of names"),
        ([""], "event '': its name: it is empty"),
        (["done.invoke.scan"], "event 'done.invoke.scan': only gatechart itself sends events of this name"),
        (["A", EventType("A", takes=Decision)], "event 'A': it is declared twice"),
        ([EventType("A", takes=int)], "event 'A': takes=<class 'int'> is not a schema"),
        ([7], "event 7: it is not an event type"),
        (
            [EventType("A", takes={"type": "objct"})],
            "event 'A': type: 'objct' is not valid under any of the given schemas",
        ),
    ],
)
def test_what_cannot_be_declared_is_a_fault(events, fault):
    assert faults_of(*events) == [fault]


def test_a_closed_graph_without_events_is_a_fault():
    assert faults_of(closed=True) == ["events_closed: no event is declared, so every event would be refused"]
    assert faults_of("A", closed=1) == ["events_closed: 1 is neither true nor false"]


def test_the_problems_of_a_payload_name_their_fields():
    schema = JsonSchema(
        '{"properties": {"n": {"type": "integer"}, "lines": {"items": {"minLength": 2}}}, "required": ["n"]}'
    )
    assert schema.problems({"n": 1, "lines": ["ab"]}) == ()
    assert schema.problems({}) == ("n: it is required",)
    assert schema.problems({"n": "1", "lines": ["ab", "c"]}) == (
        "n: '1' is not of type 'integer'",
        "lines.1: 'c' is too short",
    )


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"$ref": "https://example.org/schema"}, "the reference 'https://example.org/schema' leads nowhere"),
        ({"$ref": "#/$defs/A"}, "the reference '#/$defs/A' leads nowhere"),
        (
            {"$ref": "#/$defs/A", "$defs": {"A": {"not": {"$ref": "#/$defs/A"}}}},
            "the reference '#/$defs/A' leads back to itself",
        ),
        (
            {"properties": {"a": {"uniqueItems": True}}},
            "the keyword 'uniqueItems' is not supported in a payload's schema",
        ),
        (
            {"patternProperties": {"(a+)+$": {}}},
            "the keyword 'patternProperties' is not supported in a payload's schema",
        ),
        ({"allOf": [{"pattern": "(?=a)b"}]}, "the pattern '(?=a)b' cannot be read"),
    ],
)
def test_a_schema_whose_check_has_no_bound_is_a_fault(schema, problem):
    assert faults_of(EventType("A", takes=schema)) == [f"event 'A': {problem}"]


def test_a_schema_that_grows_by_its_references_is_a_fault():
    parts = {f"P{n}": {"anyOf": [{"$ref": f"#/$defs/P{n + 1}"}] * 2} for n in range(40)} | {"P40": {"type": "string"}}
    began = time.process_time()
    assert faults_of(EventType("A", takes={"$ref": "#/$defs/P0", "$defs": parts})) == [
        "event 'A': the schema has more than 5,000 parts, references followed"
    ]
    assert time.process_time() - began < 5


def test_a_pattern_is_matched_in_linear_time():
    schema = JsonSchema('{"properties": {"text": {"pattern": "^(a+)+$"}}}')
    began = time.process_time()
    assert schema.problems({"text": "a" * 100_000 + "!"}) == ("text: it does not match the pattern '^(a+)+$'",)
    assert time.process_time() - began < 5
