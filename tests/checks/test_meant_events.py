from __future__ import annotations

from gatechart.graph.definition import ANY, State, Transition
from tests.checks.support import found, graph_of, places


def test_a_state_that_only_a_timer_names_is_found_with_what_may_have_been_meant():
    graph = graph_of([Transition("A", "E", "B")], states=[State("A", after={"2d": "REMIND"})])
    (finding,) = found(graph, "GC105")
    assert str(finding) == (
        "GC105 warning: state 'REMIND': only a timer names it; list it in `states` if it is a state; for an action "
        "write the function in its place, which may call turn.raise_event('REMIND')"
    )


def test_a_state_that_is_not_listed_and_has_the_name_of_an_event_is_found():
    graph = graph_of([Transition("A", "REMIND", "B"), Transition("REMIND", "E", "A"), Transition("B", "E", "REMIND")])
    assert places(graph, "GC105") == ["state 'REMIND'"]
    assert "an event of the graph has its name" in found(graph, "GC105")[0].problem
    declared = graph_of([Transition("A", "E", "CLOSED")], events=["E", "CLOSED"])
    assert places(declared, "GC105") == ["state 'CLOSED'"]


def test_a_state_that_is_listed_or_that_other_transitions_name_is_not_found():
    waiting = State("A", after={"2d": "LATE"})
    assert places(graph_of([Transition(ANY, "REMIND", "A")], states=[waiting, "LATE"]), "GC105") == []
    assert places(graph_of([Transition("LATE", "E", "A")], states=[waiting]), "GC105") == []
    assert places(graph_of([Transition("A", "E", "LATE")], states=[waiting]), "GC105") == []
    assert places(graph_of(states=[waiting], entry_points=["A", "LATE"]), "GC105") == []
    assert places(graph_of([Transition("A", "REMIND", "REMIND")], states=["A", "REMIND"]), "GC105") == []


def test_an_action_behind_a_delay_is_not_taken_for_a_state():
    graph = graph_of([Transition("A", "E", "B")], states=[State("A", after={"2d": lambda context, event: None})])
    assert graph.states == ("A", "B")
    assert places(graph, "GC105") == []
