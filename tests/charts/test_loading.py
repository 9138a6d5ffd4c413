"""What a chart means."""

from __future__ import annotations

import json
from datetime import timedelta
from functools import partial

import pytest

from gatechart import EntryPoint, State, StateTransitionGraph, Transition
from gatechart.chartfiles.faults import Faults, Spot
from gatechart.chartfiles.model import Except
from gatechart.chartfiles.source import parse_yaml
from gatechart.chartfiles.yaml_text import write_yaml
from gatechart.charts import Cel, bindings_of, dump, load
from gatechart.graph.definition import ANY, Initial, Invoke, OnRefusal, Recall, Then
from gatechart.values.agents import Event
from gatechart.values.delays import Retry
from statecharts.customer_service import customer_service
from statecharts.leave_approval import leave_approval
from statecharts.service_desk import service_desk
from tests.charts import functions
from tests.charts.chart_samples import BIND, DATA, look
from tests.charts.functions import Brought, Case, CaseFile, add, filled, is_below, is_ready, note, result, search
from tests.charts.support import NOW, chart, lamp


def in_code() -> StateTransitionGraph:
    wait = partial(functions.wait, for_s=2)
    return StateTransitionGraph(
        "support",
        version="2.10",
        description="A case.",
        context=Case,
        on_refusal=OnRefusal.RAISE,
        max_microsteps=7,
        entry_points=[
            "IDLE",
            EntryPoint(
                "first",
                "door",
                opens_on="GO",
                takes=CaseFile,
                guard=is_ready,
                description="The door.",
            ),
            EntryPoint("past", opens_on=["X", "Y"], takes=Brought, maps={"text": "query"}, entities="text"),
            EntryPoint(ANY, "again", takes=Brought, maps=filled),
        ],
        initial=Initial("WORK", actions=note),
        states=[
            State(
                "IDLE",
                description="Nothing to do.",
                on_entry=note,
                on_exit=[note, partial(add, amount=2)],
                after={
                    30: "WORK",
                    "1m": [Then("END", guard=is_ready), Then("IDLE", actions=note, internal=True)],
                },
            ),
            State(
                "WORK",
                initial="second",
                invoke=[
                    search,
                    Invoke(wait, "other", timeout_s=30),
                    Invoke(look, retry=Retry(attempts=3, first_s=0.5)),
                ],
                states=[
                    "first",
                    "second",
                    State("past", history=Recall.DEEP, initial=Initial("second", actions=note)),
                    State("over", final=True, data=result),
                ],
            ),
            State("BOTH", parallel=True, states=["left", State("right", states=["r1", "r2"])]),
            State("END", final=True),
        ],
        transitions=[
            Transition(ANY, "STOPPED", "END"),
            Transition("IDLE", "STARTED", "second", guard=is_ready, actions=note, description="At once."),
            Transition("IDLE", "STARTED", "BOTH", guard=partial(is_below, limit=3)),
            Transition("IDLE", "STARTED", "IDLE"),
            Transition("IDLE", "NOTED", actions=note),
            Transition("IDLE", None, "END", guard=Cel("context.retries > 5")),
            Transition("WORK", "done.invoke.search", "first"),
            Transition("WORK", "error.invoke.search", "END", guard=is_ready),
            Transition("WORK", "done.state.WORK", "IDLE"),
            Transition("first", "GO", "second"),
            Transition("second", "GO", "over"),
            Transition("r1", "GO", "r2"),
        ],
    )


def test_the_same_chart_in_code_and_in_data_is_the_same_graph():
    graph, coded = chart(DATA, bind=BIND), in_code()
    assert graph.fingerprint == coded.fingerprint
    assert dump(graph) == dump(coded)
    assert [each.label for each in graph.transitions] == [each.label for each in coded.transitions]
    assert {name: (each.opens_on, each.takes, each.entities) for name, each in graph.entry_points.items()} == {
        name: (each.opens_on, each.takes, each.entities) for name, each in coded.entry_points.items()
    }


@pytest.mark.parametrize("graph", [customer_service, leave_approval, service_desk])
def test_the_example_charts_survive_being_data(graph):
    again = load(dump(graph), bind=bindings_of(graph))
    assert (again.fingerprint, again.states, again.description) == (graph.fingerprint, graph.states, graph.description)


def test_a_chart_is_read_from_yaml_and_json_files(tmp_path):
    coded = in_code()
    for name, form in (("a.yaml", "yaml"), ("a.yml", "yaml"), ("a.json", "json"), ("a", "yaml")):
        (tmp_path / name).write_text(dump(coded, format=form), encoding="utf-8")
        assert load(tmp_path / name, bind=BIND).fingerprint == coded.fingerprint
        assert load(str(tmp_path / name), bind=BIND).fingerprint == coded.fingerprint


def test_json_with_tabs_and_signs_beyond_the_first_plane_is_read():
    text = '\ufeff{\n\t"id": "\\ud83d\\ude00",\r\n\t"entry_points": ["A"], "states": {"A": {}, "\\u00e4\\/": null}}\n'
    graph = load(text.encode())
    assert (graph.name, graph.states) == ("\U0001f600", ("A", "ä/"))


def test_braces_with_plain_keys_are_yaml():
    assert load("{id: lamp, entry_points: [A], states: {A: }}").name == "lamp"


def test_yaml_is_read_by_the_core_schema_of_1_2():
    graph = lamp(
        "  A: {on: {on: no, yes: A}}\n  no: &x {description: 017}\n  off: *x\n  2020-01-01: {description: !!str 1}\n"
    )
    assert graph.states == ("A", "no", "off", "2020-01-01")
    assert [each.event for each in graph.transitions] == ["on", "yes"]
    assert graph.tree[1].description == "017"


def test_entry_points_stand_in_a_list_or_under_their_names():
    graph = chart(
        """
        id: lamp
        states: {A: , B: }
        entry_points:
          A:
          second: {state: B, opens_on: T}
        """
    )
    assert [(each.name, each.state) for each in graph.entry_points.values()] == [("A", "A"), ("second", "B")]


def test_entry_points_of_the_caller_take_the_place_of_the_chart_s():
    graph = lamp("  A:\n  B:\n", entry_points=["B", EntryPoint("A", "first")])
    assert list(graph.entry_points) == ["B", "first"]


def test_the_order_of_the_file_is_the_order_of_asking():
    states = """
  A:
    always: {target: B, guard: is_ready}
    on: [{event: X, target: B}, {event: null, guard: is_ready}, {event: X}]
  B:
"""
    graph = lamp(states, bind=functions)
    assert [each.label for each in graph.transitions] == ["A --> B", "A --X--> B", "A --", "A --X"]


def test_a_context_of_initial_values_begins_with_copies_of_them():
    graph = load("id: x\nentry_points: [A]\ncontext: {n: 1, seen: [a]}\nstates: {A: }\n")
    first, second = graph.context(), graph.context()
    first.seen.append("b")
    assert (second.n, second.seen) == (1, ["a"])
    assert load(dump(graph)).fingerprint == graph.fingerprint


def test_the_data_of_a_final_state_may_stand_in_the_chart():
    graph = lamp("  A: {states: {b: {type: final, data: {value: {x: [1]}}}}}\n")
    step = graph.nodes["b"].data
    assert step is not None
    data = step.function
    data(None, None)["x"].append(2)
    assert data(None, None) == {"x": [1]}
    assert "Fixed" in repr(data)
    assert load(dump(graph)).fingerprint == graph.fingerprint


def test_a_guard_can_make_exceptions():
    graph = lamp("  A: {on: {'*': {target: B, guard: {except: [GO], guard: is_ready}}}}\n  B:\n", bind=functions)
    guard = graph.transitions[0].guard
    assert guard.__name__ == "is_ready and not GO"
    assert "GO" in repr(guard)
    assert json.loads(dump(graph, format="json"))["states"]["A"]["on"]["*"]["guard"]["except"] == ["GO"]


def test_a_guard_with_exceptions_asks_about_all_other_events_and_passes_the_configuration_on():
    guard = Except(("GO",), functions.is_alone)
    assert guard(None, Event("X", {}, NOW), frozenset("A"))
    assert not guard(None, Event("X", {}, NOW), frozenset("AB"))
    assert not guard(None, Event("GO", {}, NOW), frozenset("A"))


def test_very_long_names_survive():
    graph = StateTransitionGraph("x", states=["A", "B" * 300], entry_points=["A"])
    assert load(dump(graph)).fingerprint == graph.fingerprint


def test_lists_in_lists_are_written_one_below_the_other():
    values = {"a": [[1, [2, {"b": []}]], ["x" * 60, "y" * 60], {}]}
    assert Spot(parse_yaml(write_yaml(values), Faults("f"))).plain() == values


def test_delays_of_an_xstate_machine_may_be_texts():
    text = json.dumps({"id": "m", "states": {"a": {"after": {"late": "a"}}}})
    for late in ("2s", timedelta(seconds=2)):
        graph = load(text, dialect="xstate", entry_points=["a"], bind={"late": late})
        assert graph.nodes["a"].timers == (("after.2s.a", 2.0),)


def test_an_unknown_dialect_is_an_error_that_lists_the_known_ones():
    with pytest.raises(ValueError, match="dialect='xml'; write 'scxml' or 'xstate'"):
        load("id: lamp\nentry_points: [OFF]\nstates: {OFF: {}}\n", dialect="xml")
