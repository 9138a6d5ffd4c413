from __future__ import annotations

import pytest

from gatechart.graph.definition import ANY, Precedence, State, Transition
from tests.checks.support import found, graph_of, places, yes


def shadows(first, second, precedence=Precedence.SPECIFIC, **first_has):
    ways = [Transition("A", first, "B", **first_has), Transition("A", second, "C")]
    return places(graph_of(ways, precedence=precedence), "GC201")


@pytest.mark.parametrize(
    ("first", "second"),
    [("E", "E"), ("error", "error.tool"), ("error.*", "error"), ("*", "E"), ("*", "*"), ("D E", "E.x"), (None, None)],
)
def test_an_earlier_transition_without_a_guard_shadows_a_later_one_in_document_order(first, second):
    assert shadows(first, second, Precedence.DOCUMENT) == [f"transition {Transition('A', second, 'C').label!r}"]


@pytest.mark.parametrize(
    ("first", "second"), [("E", "E"), ("E", "E.*"), ("E.*", "E.*"), ("*", "*"), ("D E", "E"), (None, None)]
)
def test_an_earlier_transition_without_a_guard_shadows_a_later_one_for_the_same_event(first, second):
    assert shadows(first, second) == [f"transition {Transition('A', second, 'C').label!r}"]


@pytest.mark.parametrize(
    ("first", "second"),
    [("E", "F"), ("error.tool", "error"), ("error", "errors"), ("E", "D E"), (None, "E"), ("*", None)],
)
def test_other_events_are_not_shadowed(first, second):
    assert shadows(first, second) == []


def test_a_guard_lets_later_ones_have_their_turn():
    assert shadows("E", "E", guard=yes) == []


def test_several_earlier_ones_together_shadow_one_that_takes_their_events():
    ways = [Transition("A", "D", "B"), Transition("A", "E", "B"), Transition("A", "D E", "C")]
    assert places(graph_of(ways), "GC201") == ["transition 'A --D E--> C'"]


def test_the_finding_names_the_transition_that_is_asked_first():
    (finding,) = found(graph_of([Transition("A", "E", "B"), Transition("A", "E", "C")]), "GC201")
    assert "'A --E--> B' is asked first and has no guard" in finding.problem


def test_an_inner_state_may_answer_before_an_outer_one():
    inner = State("A", states=["A1"])
    ways = [Transition("A1", "E", "B"), Transition("A", "E", "B"), Transition(ANY, "E", "B")]
    assert places(graph_of(ways, states=[inner]), "GC201") == []


@pytest.mark.parametrize(
    ("first", "second"),
    [("error", "error.tool"), ("error.*", "error"), ("*", "E"), ("D E", "E.x"), ("*", "signal.repeats"), ("a.*", "a")],
)
def test_a_broader_transition_that_is_written_first_shadows_nothing(first, second):
    assert shadows(first, second) == []


def test_a_state_takes_its_own_timer_whatever_it_has_for_every_event():
    waits = State("A", after={"200ms": "B"})
    assert places(graph_of([Transition("A", "*", "C")], states=[waits]), "GC201") == []


def test_in_document_order_it_does_not():
    waits = State("A", after={"200ms": "B"})
    graph = graph_of([Transition("A", "*", "C")], states=[waits], precedence=Precedence.DOCUMENT)
    assert places(graph, "GC201") == ["transition 'A --after.200ms.A--> B'"]


def test_in_document_order_a_transition_for_every_event_shadows_no_answer_to_a_signal():
    ways = [Transition("A", "*", "B"), Transition("A", "signal.repeats", "C")]
    assert places(graph_of(ways, precedence=Precedence.DOCUMENT), "GC201") == []
