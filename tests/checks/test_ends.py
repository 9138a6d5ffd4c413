from __future__ import annotations

from gatechart.checks import check
from gatechart.graph.definition import ANY, EntryPoint, State, Transition
from tests.checks.support import found, graph_of, places, yes


def test_a_state_without_a_transition_is_found():
    assert places(graph_of([Transition("A", "E", "B")]), "GC102") == ["state 'B'"]


def test_a_final_state_needs_no_way_out():
    assert places(graph_of([Transition("A", "E", "B")], states=[State("B", final=True)]), "GC102") == []


def test_a_transition_of_the_root_is_a_way_out():
    assert places(graph_of([Transition(ANY, "E", "B"), Transition("B", "E", "A")]), "GC102") == []


def test_a_transition_of_a_state_around_it_is_a_way_out():
    inner = State("A", states=["A1"])
    assert places(graph_of([Transition("A", "E", "B"), Transition("B", "E", "A")], states=[inner]), "GC102") == []


def test_what_comes_straight_back_is_no_way_out():
    again = [Transition("A", "E", "A"), Transition(ANY, "RESET", "A"), Transition("A", "NOTED", actions=[yes])]
    assert places(graph_of(again), "GC102") == ["state 'A'"]
    assert places(graph_of([Transition("A", "E", "A", internal=True)]), "GC102") == ["state 'A'"]


def test_an_internal_transition_into_another_child_is_a_way_out_of_the_first():
    inner = State("A", states=["A1", "A2"])
    ways = [Transition("A", "E", "A2", internal=True)]
    assert places(graph_of(ways, states=[inner]), "GC102") == ["state 'A2'"]


def test_a_compound_state_that_has_ended_is_found_where_nothing_leaves_it():
    inner = State("A", states=["A1", State("A2", final=True)])
    ways = [Transition("A1", "E", "A2")]
    finding, *others = found(graph_of(ways, states=[inner]), "GC102")
    assert (finding.place, others) == ("state 'A'", [])
    assert "once 'A2' has ended it" in finding.problem
    left = Transition("A", "done.state.A", "B")
    assert places(graph_of([*ways, left, Transition("B", "E", "A")], states=[inner]), "GC102") == []


def test_another_region_that_leaves_the_parallel_state_is_a_way_out():
    regions = [State("L", states=["L1"]), State("R", states=[State("R0", states=["R1"])])]
    states = [State("A", parallel=True, states=regions)]
    back = Transition("B", "E", "A")
    assert places(graph_of([Transition("R1", "E", "B"), back], states=states), "GC102") == []
    assert places(graph_of([Transition("R1", "E", "R1"), back], states=states), "GC102") == ["state 'L1'", "state 'R1'"]


def test_an_entry_point_that_leads_to_no_final_state_is_found():
    ways = [Transition("A", "E", "B"), Transition("B", "E", "A"), Transition("C", "E", "DONE")]
    graph = graph_of(ways, states=[State("DONE", final=True)], entry_points=["A", "C"])
    assert places(graph, "GC103") == ["entry point 'A'"]
    assert "(DONE)" in found(graph, "GC103")[0].problem


def test_a_graph_without_final_states_is_meant_to_go_on():
    ways = [Transition("A", "E", "B"), Transition("B", "E", "A")]
    assert places(graph_of(ways), "GC103") == []


def test_the_end_of_a_compound_state_is_not_the_end_of_the_agent():
    inner = State("A", states=["A1", State("A2", final=True)])
    assert places(graph_of([Transition("A1", "E", "A2")], states=[inner]), "GC103") == []


ENDING = State(
    "SHIPPING",
    parallel=True,
    final=True,
    states=[
        State("PACKING", states=["OPEN", State("SEALED", final=True)]),
        State("PAYMENT", states=["DUE", State("SETTLED", final=True)]),
    ],
)
ENDS = [Transition("OPEN", "PACKED", "SEALED"), Transition("DUE", "PAID", "SETTLED")]


def test_where_regions_end_the_agent_no_way_out_is_needed_and_an_end_is_reached():
    door = EntryPoint("SHIPPING", description="An order was paid.")
    assert check(graph_of(ENDS, states=[ENDING], entry_points=[door])) == ()


def test_an_entry_point_that_does_not_lead_to_where_regions_end_the_agent_is_found():
    ways = [*ENDS, Transition("A", "E", "B"), Transition("B", "E", "A")]
    assert places(graph_of(ways, states=["A", ENDING]), "GC103") == ["entry point 'A'"]


def test_a_leaf_that_ends_nothing_needs_a_way_out_even_there():
    assert places(graph_of(ENDS[:1], states=[ENDING], entry_points=["SHIPPING"]), "GC102") == ["state 'DUE'"]
