from __future__ import annotations

import pytest

from gatechart.graph import ANY, State, Transition
from tests.checks.support import found, graph_of, places, yes


def shadows(first, second, **first_has):
    return places(graph_of([Transition("A", first, "B", **first_has), Transition("A", second, "C")]), "GC201")


@pytest.mark.parametrize(
    ("first", "second"),
    [("E", "E"), ("error", "error.tool"), ("error.*", "error"), ("*", "E"), ("*", "*"), ("D E", "E.x"), (None, None)],
)
def test_an_earlier_transition_without_a_guard_shadows_a_later_one(first, second):
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
