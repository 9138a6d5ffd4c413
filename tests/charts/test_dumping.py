"""What a graph is as data: the same graph again."""

from __future__ import annotations

import json
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from gatechart import State, StateTransitionGraph, Transition
from gatechart.chartfiles.source import read
from gatechart.charts import bindings_of, dump, load, schema
from gatechart.errors import InvalidChartError
from gatechart.graph.compile import askings
from tests.charts.functions import add, note
from tests.charts.generated import graphs

pytestmark = pytest.mark.long

LAW = settings(
    max_examples=60, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
VALIDATOR = Draft202012Validator(schema())


def handoffs_of(graph):
    return [(each.state, each.invoke, each.handoff) for each in askings(graph.nodes)]


@LAW
@given(graph=graphs(), form=st.sampled_from(["yaml", "json"]))
def test_what_was_dumped_loads_as_the_same_graph(graph, form):
    text = dump(graph, format=form)
    again = load(text, bind=bindings_of(graph))
    assert again.fingerprint == graph.fingerprint
    assert again.states == graph.states
    assert again.description == graph.description
    assert again.on_refusal is graph.on_refusal
    assert again.max_microsteps == graph.max_microsteps
    assert again.allow == graph.allow
    assert again.accepts == graph.accepts
    assert handoffs_of(again) == handoffs_of(graph)
    assert list(again.entry_points) == list(graph.entry_points)
    assert dump(again, format=form) == text


@settings(LAW, max_examples=15)
@given(graph=graphs())
def test_what_was_dumped_fits_the_schema_in_both_formats(graph):
    chart = json.loads(dump(graph, format="json"))
    VALIDATOR.validate(chart)
    node, _ = read(dump(graph))
    from gatechart.chartfiles.faults import Spot

    assert Spot(node).plain() == chart


def one(*transitions: Transition, **parts) -> StateTransitionGraph:
    return StateTransitionGraph("lamp", transitions=transitions, entry_points=["OFF"], **parts)


def test_transitions_stand_under_their_events_where_that_keeps_their_order():
    text = dump(one(Transition("OFF", "PRESSED", "ON"), Transition("OFF", None, "ON", guard=note)))
    assert text == (
        'id: lamp\nversion: "1"\nentry_points: [OFF]\nstates:\n  OFF:\n    on:\n      PRESSED: ON\n'
        "    always:\n      target: ON\n      guard: note\n  ON: {}\n"
    )


def test_transitions_stand_in_a_list_where_their_order_asks_for_it():
    graph = one(Transition("OFF", "A", "ON"), Transition("OFF", "B"), Transition("OFF", "A", "OFF"))
    assert "- event: A\n" in dump(graph)
    assert load(dump(graph)).fingerprint == graph.fingerprint


def refused(graph: StateTransitionGraph) -> str:
    with pytest.raises(InvalidChartError) as caught:
        dump(graph)
    return str(caught.value)


def test_one_name_for_two_functions_cannot_be_dumped():
    graph = one(Transition("OFF", "A", actions=[lambda c, e: None]), Transition("OFF", "B", actions=[lambda c, e: 1]))
    assert "'<lambda>' is the name of more than one function" in refused(graph)


def test_values_that_json_cannot_hold_cannot_be_dumped():
    assert "add has values that JSON cannot hold" in refused(
        one(Transition("OFF", "A", actions=partial(add, amount={1})))
    )
    assert "JSON cannot hold" in refused(one(Transition("OFF", "A", actions=partial(add, amount=(1,)))))


def test_values_without_names_cannot_be_dumped():
    def act(first, context, event):
        pass

    assert "bound positional arguments" in refused(one(Transition("OFF", "A", actions=partial(act, 1))))


def test_two_delays_of_the_same_length_cannot_be_dumped():
    graph = StateTransitionGraph("lamp", states=[State("A", after={30: "A", "30s": "A"})], entry_points=["A"])
    assert "waits twice for '30s'" in refused(graph)
