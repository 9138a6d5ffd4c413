from __future__ import annotations

from gatechart.graph.definition import State, Transition
from tests.checks.support import found, graph_of, places, yes


def cycles(*ways, **rest):
    graph = graph_of(ways, **rest)
    return places(graph, "GC202"), places(graph, "GC203")


def test_a_cycle_without_guards_is_an_error():
    graph = graph_of([Transition("B", None, "C"), Transition("A", None, "B"), Transition("C", None, "A")])
    (finding,) = found(graph, "GC202")
    assert finding.place == "state 'B'"
    assert "B → C → A → B" in finding.problem
    assert finding.severity == "error"
    assert found(graph, "GC203") == ()


def test_a_cycle_that_a_guard_may_end_is_a_warning():
    assert cycles(Transition("A", None, "B", guard=yes), Transition("B", None, "A")) == ([], ["state 'A'"])


def test_a_guarded_way_out_that_is_asked_first_makes_it_a_warning():
    ways = [Transition("A", None, "C", guard=yes), Transition("A", None, "B"), Transition("B", None, "A")]
    assert cycles(*ways) == ([], ["state 'A'"])


def test_eventless_transitions_that_lead_on_are_fine():
    assert cycles(Transition("A", None, "B"), Transition("B", None, "C")) == ([], [])


def test_an_event_on_the_way_makes_it_no_cycle():
    assert cycles(Transition("A", None, "B"), Transition("B", "E", "A")) == ([], [])


def test_a_state_that_stays_is_asked_again():
    assert cycles(Transition("A", None, "A")) == (["state 'A'"], [])
    assert cycles(Transition("A", None, guard=yes, actions=[yes])) == ([], ["state 'A'"])
    inner = State("A", states=["A1"])
    assert cycles(Transition("A", None, "A1", internal=True), states=[inner]) == (["state 'A'"], [])


def test_a_cycle_may_pass_through_an_initial_state():
    inner = State("A", states=["A1"])
    assert cycles(Transition("A1", None, "B"), Transition("B", None, "A"), states=[inner]) == (["state 'A1'"], [])


def test_a_cycle_may_pass_through_what_a_history_state_remembers():
    inner = State("A", states=["A1", "A2", State("RECENT", history="shallow", initial="A1")])
    ways = [Transition("A2", None, "B"), Transition("B", None, "RECENT"), Transition("A1", "E", "A2")]
    assert cycles(*ways, states=[inner]) == (["state 'A2'"], [])


def test_cycles_without_a_state_in_common_are_told_one_by_one():
    ways = [Transition("A", None, "A", guard=yes), Transition("B", None, "B", guard=yes)]
    assert cycles(*ways) == ([], ["state 'A'", "state 'B'"])
