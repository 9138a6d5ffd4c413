from __future__ import annotations

from gatechart.graph.definition import ANY, State, Transition
from tests.checks.support import found, graph_of, places, yes


def test_an_event_that_the_state_always_takes_is_never_deferred():
    graph = graph_of([Transition("A", "ASKED", "B")], states=[State("A", defer=["ASKED", "TOLD"])])
    assert [str(finding) for finding in found(graph, "GC209")] == [
        "GC209 warning: state 'A': it defers 'ASKED', and has a transition without a guard that takes it first; "
        "guard the transition, or defer the event no longer"
    ]


def test_an_event_that_the_state_takes_under_a_guard_may_be_deferred():
    graph = graph_of([Transition("A", "ASKED", "B", guard=yes)], states=[State("A", defer="ASKED")])
    assert places(graph, "GC209") == places(graph, "GC210") == []


def test_a_deferred_event_that_no_transition_takes_is_found():
    states = [State("A", defer=["ASKED", "tool", "mail.read", "*"])]
    transitions = [Transition("A", "LEFT", "B"), Transition("B", "tool.found", "A"), Transition(ANY, "mail", "B")]
    graph = graph_of(transitions, states=states)
    assert [str(finding) for finding in found(graph, "GC210")] == [
        "GC210 warning: state 'A': it defers 'ASKED', and no later state has a transition for it; "
        "add one, or defer the event no longer"
    ]
