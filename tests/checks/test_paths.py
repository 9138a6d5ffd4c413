from __future__ import annotations

import pickle

import pytest

from gatechart.checks import TooManyConfigurationsError, paths
from gatechart.errors import EntryRefusedError
from gatechart.graph.definition import ANY, State, Transition
from statecharts import examples
from tests.checks.support import graph_of, yes

LEFT = State("L", states=["L1", State("L2", final=True)])
RIGHT = State("R", states=["R1", State("R2", final=True)])


def told(graph, from_="A", **rest):
    return [str(path) for path in paths(graph, from_=from_, **rest)]


def taken(graph, from_="A"):
    return {label for path in paths(graph, from_=from_) for step in path.steps for label in step.transitions}


def test_a_step_tells_event_transitions_and_configuration():
    (path,) = paths(graph_of([Transition("A", "E", "B")]), from_="A")
    (step,) = path.steps
    assert (path.entry_point, path.begins_in, path.events) == ("A", ("A",), ("E",))
    assert (step.event, step.is_sent, step.transitions, step.configuration) == ("E", True, ("A --E--> B",), ("B",))


def test_paths_are_the_shortest_ones():
    ways = [Transition("A", "E", "B"), Transition("B", "E", "C"), Transition("C", "E", "D"), Transition("A", "F", "C")]
    assert told(graph_of(ways)) == ["A > E > E", "A > F > E"]


def test_a_path_that_others_cover_is_left_out():
    assert told(graph_of([Transition("A", "E", "B"), Transition("B", "F", "A")])) == ["A > E > F"]


def test_transitions_that_the_entry_point_does_not_lead_to_are_left_out():
    assert told(graph_of([Transition("A", "E", "B")], entry_points=["B"]), "B") == []


def test_guards_are_taken_to_answer_as_needed():
    ways = [Transition("A", "E", "B", guard=yes), Transition("A", "E", "C"), Transition("A", "E", "D")]
    assert taken(graph_of(ways)) == {"A --E--> B", "A --E--> C"}


def test_eventless_transitions_follow_within_the_turn():
    (path,) = paths(graph_of([Transition("A", "E", "B"), Transition("B", None, "C")]), from_="A")
    assert path.events == ("E",)
    assert [step.is_sent for step in path.steps] == [True, False]
    assert path.steps[-1].configuration == ("C",)


def test_a_transition_counts_as_far_as_events_must_be_sent():
    ways = [Transition("A", None, "B", guard=yes), Transition("B", None, "C", guard=yes), Transition("C", "E", "D")]
    assert told(graph_of([*ways, Transition("A", "F", "C"), Transition("D", "G", "D")])) == ["A > F", "A > E > G"]


def test_done_events_come_from_the_machine():
    ways = [Transition("L1", "E", "L2"), Transition("R1", "F", "R2"), Transition("P", "done.state.P", "B")]
    graph = graph_of(ways, states=[State("P", parallel=True, states=[LEFT, RIGHT])], entry_points=["P"])
    assert taken(graph, "P") == {"L1 --E--> L2", "R1 --F--> R2", "P --done.state.P--> B"}
    assert {path.events for path in paths(graph, from_="P")} <= {("E", "F"), ("F", "E")}


def test_a_done_event_may_find_its_guards_against_it():
    inner = State("A", states=[State("A1", final=True)])
    ways = [Transition("A", "done.state.A", "B", guard=yes), Transition("A", "E", "C")]
    assert taken(graph_of(ways, states=[inner])) == {"A --done.state.A--> B", "A --E--> C"}


def test_a_done_event_that_nothing_waits_for_is_dropped():
    inner = State("A", states=[State("A1", final=True)])
    (path,) = paths(graph_of([Transition("A", "E", "C")], states=[inner]), from_="A")
    assert [step.transitions for step in path.steps] == [("A --E--> C",)]


def test_regions_that_wait_for_the_same_event_go_together():
    ways = [Transition("L1", "E", "L2"), Transition("R1", "E", "R2")]
    graph = graph_of(ways, states=[State("A", parallel=True, states=[LEFT, RIGHT])])
    (path,) = paths(graph, from_="A")
    assert path.steps[0].transitions == ("L1 --E--> L2", "R1 --E--> R2")


def test_a_guard_that_two_regions_ask_gives_both_the_same_answer():
    states = [State("A", parallel=True, states=[LEFT, RIGHT])]
    ways = [Transition("A", "E", "B", guard=yes), Transition("A", "E", "C"), Transition("B", "E", "C")]
    graph = graph_of(ways, states=states)
    assert all(len(step.transitions) == 1 for path in paths(graph, from_="A") for step in path.steps)
    assert taken(graph) == {"A --E--> B", "A --E--> C", "B --E--> C"}


def test_history_is_followed():
    inner = State("C", states=["C1", "C2", State("RECENT", history="shallow", initial="C1")])
    ways = [Transition("C1", "E", "C2"), Transition("C", "LEFT", "A"), Transition("A", "BACK", "RECENT")]
    graph = graph_of([*ways, Transition("C2", "F", "B")], states=[inner])
    assert told(graph) == ["A > BACK > LEFT", "A > BACK > E > F"]


def test_descriptors_stand_for_an_event_that_they_take():
    graph = graph_of([Transition("A", "error.* D", "B"), Transition(ANY, "*", "C")])
    assert set(told(graph)) == {"A > error", "A > anything"}


def test_nothing_follows_after_the_end():
    graph = graph_of([Transition("A", "E", "B"), Transition(ANY, "F", "A")], states=[State("B", final=True)])
    assert sorted(told(graph)) == ["A > E", "A > F"]


def test_too_many_configurations_are_an_error_that_names_the_bound():
    regions = [State(f"R{number}", states=[f"R{number}A", f"R{number}B"]) for number in range(10)]
    ways = [Transition(f"R{number}A", f"E{number}", f"R{number}B") for number in range(10)]
    graph = graph_of(ways, states=[State("A", parallel=True, states=regions)])
    with pytest.raises(TooManyConfigurationsError, match=r"bound of 1,000 microsteps") as raised:
        paths(graph, from_="A", most=1_000)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_the_graph_keeps_no_plans_of_what_was_only_tried():
    graph = graph_of([Transition("A", "E", "B")])
    paths(graph, from_="A")
    assert graph.memo == {}


def test_an_unknown_entry_point_is_refused():
    with pytest.raises(EntryRefusedError):
        paths(examples[0], from_="NOWHERE")


@pytest.mark.parametrize("graph", examples, ids=lambda graph: graph.name)
def test_the_paths_of_the_examples_take_every_transition(graph):
    labels = {edge.label for node in graph.nodes.values() for edge in node.edges}
    assert set().union(*(taken(graph, door) for door in graph.entry_points)) == labels
