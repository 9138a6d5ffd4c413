from __future__ import annotations

from gatechart.checks import reach
from gatechart.graph.definition import ANY, EntryPoint, State, Then, Transition
from tests.checks.support import found, graph_of, places, yes

HISTORY = State("RECENT", history="shallow", initial="C1")


def states_from(graph, door="A"):
    return set(reach(graph)[door])


def test_a_state_that_no_way_leads_to_is_found():
    graph = graph_of([Transition("A", "E", "B"), Transition("LOST", "E", "B")])
    assert places(graph, "GC101") == ["state 'LOST'"]
    assert "from the entry points 'A'" in found(graph, "GC101")[0].problem


def test_a_state_that_some_entry_point_leads_to_is_not_found():
    graph = graph_of([Transition("A", "E", "B"), Transition("C", "E", "B")], entry_points=["A", "C"])
    assert places(graph, "GC101") == []


def test_each_entry_point_tells_what_it_leads_to_in_document_order():
    graph = graph_of([Transition("B", "E", "C"), Transition("A", "E", "B")], entry_points=["C", "A"])
    assert dict(reach(graph)) == {"C": ("C",), "A": ("B", "C", "A")}


def test_a_transition_of_the_root_leads_from_everywhere():
    assert states_from(graph_of([Transition(ANY, "E", "FAILED")], states=["A"])) == {"A", "FAILED"}


def test_the_root_as_an_entry_point_leads_to_the_initial_states():
    graph = graph_of(states=["A", "B"], initial="B", entry_points=[EntryPoint(ANY, "start")])
    assert states_from(graph, "start") == {"B"}


def test_a_compound_state_leads_to_its_initial_states_only():
    inner = State("C", states=["C1", "C2", "C3"], initial="C2")
    assert states_from(graph_of([Transition("A", "E", "C")], states=[inner])) == {"A", "C", "C2"}


def test_a_nested_entry_point_leads_to_the_states_around_it_and_to_what_leaves_those():
    inner = State("C", states=["C1", "C2"])
    graph = graph_of([Transition("C", "E", "B")], states=[inner], entry_points=["C2"])
    assert states_from(graph, "C2") == {"C", "C2", "B"}


def test_an_entry_point_in_one_region_leads_to_the_initial_states_of_the_others():
    regions = [State("L", states=["L1", "L2"]), State("R", states=["R1", "R2"])]
    graph = graph_of(states=[State("P", parallel=True, states=regions)], entry_points=["L2"])
    assert states_from(graph, "L2") == {"P", "L", "L2", "R", "R1"}


def test_delays_and_eventless_transitions_lead_on():
    waiting = State("A", after={"1s": Then("B", guard=yes)})
    assert states_from(graph_of([Transition("B", None, "C")], states=[waiting])) == {"A", "B", "C"}


def test_the_end_of_an_invoke_leads_on():
    def search(context, work):
        return None

    graph = graph_of([Transition("A", "done.invoke.search", "B")], states=[State("A", invoke=search)])
    assert states_from(graph) == {"A", "B"}


def test_a_history_state_leads_to_its_default():
    inner = State("C", states=["C0", "C1", HISTORY])
    assert states_from(graph_of([Transition("A", "E", "RECENT")], states=[inner])) == {"A", "RECENT", "C", "C1"}


def test_a_shallow_history_state_leads_to_the_initial_states_of_what_it_may_remember():
    deep = State("C2", states=["C21", "C22"])
    inner = State("C", states=["C1", deep, HISTORY])
    away = [Transition("A", "E", "C22"), Transition("C", "LEFT", "A")]
    assert "C21" not in states_from(graph_of(away, states=[inner]))
    back = Transition("A", "BACK", "RECENT")
    assert "C21" in states_from(graph_of([*away, back], states=[inner]))
    assert "C21" in states_from(graph_of([back, *away], states=[inner]))


def test_a_deep_history_state_adds_nothing_to_what_it_may_remember():
    deep = State("C2", states=["C21", "C22"])
    inner = State("C", states=["C1", deep, State("RECENT", history="deep", initial="C1")])
    ways = [Transition("A", "E", "C22"), Transition("C", "LEFT", "A"), Transition("A", "BACK", "RECENT")]
    assert "C21" not in states_from(graph_of(ways, states=[inner]))


def test_a_history_state_that_nothing_asks_is_found():
    inner = State("A", states=["C1", HISTORY])
    assert places(graph_of(states=[inner]), "GC101") == ["state 'RECENT'"]


def test_what_only_a_shadowed_transition_leads_to_is_found():
    graph = graph_of([Transition("A", "E", "B"), Transition("A", "E", "C")])
    assert places(graph, "GC101") == ["state 'C'"]
