"""Ways that lead away from what failed."""

from __future__ import annotations

from collections import deque
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from gatechart.errors import UnknownStateError
from gatechart.escape import routes
from gatechart.escape.routes import leads_away
from gatechart.graph.definition import ANY, EntryPoint, Invoke, State, Then, Transition
from gatechart.graph.graph import StateTransitionGraph
from gatechart.kernel.plan import plan_entry
from gatechart.rules.paths import beginning, moves
from tests.laws.strategies import any_charts
from tests.support import is_yes

laws = settings(
    deadline=None, derandomize=True, database=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)

END = State("END", final=True)


def graph_of(*transitions, states=(END,), doors="A"):
    """A graph with these entry points, one for each letter of a text; one into a state that is not listed adds it."""
    named = {each for transition in transitions for each in (transition.source, *transition.targets)}
    named |= {state if isinstance(state, str) else state.name for state in states}
    added = [door for door in doors if isinstance(doors, str) and door not in named]
    return StateTransitionGraph("g", states=[*states, *added], transitions=transitions, entry_points=list(doors))


def ways(*pairs):
    return [Transition(source, "go", target, guard=is_yes) for source, target in pairs]


async def ask_database(context, work):
    return None


# Entry points


def test_an_entry_point_with_a_way_to_the_end_is_a_route():
    assert routes(graph_of(*ways("AB", "BA", "CD"), Transition("D", "x", "END"), doors="ABC"), ["A"], "AB") == ("C",)


def test_an_entry_point_into_what_failed_is_none():
    assert routes(graph_of(Transition("A", "go", "END")), ["B"], ["A"]) == ()


def test_an_entry_point_whose_every_way_leads_back_is_none():
    graph = graph_of(*ways("AB", "BA", "CA"), Transition("B", "out", "END"), doors="ABC")
    assert routes(graph, ["A"], ["A", "B"]) == ()


def test_shorter_ways_go_first_then_the_order_of_the_entry_points():
    graph = graph_of(*ways("DC"), *(Transition(each, "x", "END") for each in "ABC"), doors="DCB")
    assert routes(graph, ["A"], ["A"]) == ("C", "B", "D")


def test_an_entry_point_that_leads_where_the_agent_is_is_left_out():
    graph = graph_of(Transition("A", "x", "END"), Transition("B", "x", "END"), doors="AB")
    assert routes(graph, ["A"], ()) == ("B",)


def test_a_route_has_the_name_of_its_entry_point():
    graph = graph_of(Transition("B", "x", "END"), states=["A", END], doors=["A", EntryPoint("B", "aside")])
    assert routes(graph, ["A"], ["A"]) == ("aside",)


@pytest.mark.parametrize("name", ["ask_database", "database"])
def test_an_entry_point_into_a_state_whose_invoke_failed_is_left_out(name):
    states = [State("A", invoke=Invoke(ask_database, id="database")), "B", END]
    graph = graph_of(*(Transition(each, "x", "END") for each in "AB"), states=states, doors="AB")
    assert routes(graph, ["C"], (), [name]) == ("B",)
    assert routes(graph, ["C"], (), ["another"]) == ("A", "B")


def test_a_failed_end_is_no_way_out():
    states = [State("GAVE_UP", final=True, failed=True), END]
    assert routes(graph_of(Transition("B", "x", "GAVE_UP"), states=states, doors="AB"), ["A"], ["A"]) == ()


def test_progress_is_a_way_out():
    graph = graph_of(*ways("BC", "CB"), states=["A", State("C", progress=True)], doors="AB")
    assert routes(graph, ["A"], ["A"]) == ("B",)


def test_progress_that_leads_back_within_the_turn_is_none():
    states = ["A", State("C", progress=True)]
    assert routes(graph_of(*ways("BC"), Transition("C", None, "A"), states=states, doors="AB"), ["A"], ["A"]) == ()


def test_timers_and_the_ends_of_invokes_lead_on():
    states = [State("B", after={"1s": Then("C")}), State("C", invoke=ask_database), END]
    graph = graph_of(Transition("C", "done.invoke.ask_database", "END"), states=states, doors="B")
    assert routes(graph, ["A"], ["A"]) == ("B",)


@pytest.mark.parametrize("event", ["signal.repeats", "signal", "escape.reroute", "escape.*"])
def test_what_presumes_another_failure_does_not_lead_on(event):
    assert routes(graph_of(Transition(ANY, event, "END"), states=["A", "B", END], doors="AB"), ["A"], ["A"]) == ()


def test_a_transition_that_an_unguarded_one_hides_does_not_lead_on():
    hidden = Transition(ANY, "go", "END")
    assert routes(graph_of(Transition("B", "go", "A"), hidden, doors="AB"), ["A"], ["A"]) == ()
    assert routes(graph_of(*ways("BA"), hidden, doors="AB"), ["A"], ["A"]) == ("B",)


def test_an_eventless_transition_back_leaves_no_time_for_events():
    onward = Transition("B", "x", "END")
    assert routes(graph_of(Transition("B", None, "A"), onward, doors="AB"), ["A"], ["A"]) == ()
    assert routes(graph_of(Transition("B", None, "A", guard=is_yes), onward, doors="AB"), ["A"], ["A"]) == ("B",)


def test_a_long_way_without_regions_is_found():
    names = [f"S{number}" for number in range(6_000)]
    graph = graph_of(*ways(*pairwise(names)), Transition(names[-1], "x", "END"), doors=["S0"])
    assert routes(graph, ["A"], ["A"]) == ("S0",)


# Nesting


def test_a_state_around_what_is_entered_counts():
    states = [State("C", states=["C1", "C2"]), END]
    graph = graph_of(Transition("C2", "x", "END"), states=states, doors=["C2"])
    assert routes(graph, ["A"], ["C"]) == ()
    assert routes(graph, ["A"], ["C1"]) == ("C2",)


def test_the_end_of_a_state_comes_only_with_its_final_state():
    inner = State("C", states=["C1", "C2", State("C3", final=True)])
    steps = [*ways(("C1", "C2"), ("C2", "C3")), Transition("C", "done.state.C", "END")]
    graph = graph_of(*steps, states=[inner, END], doors=["C1"])
    assert routes(graph, ["A"], ["C2"]) == ()
    assert routes(graph, ["A"], ()) == ("C1",)


def test_all_regions_must_end():
    regions = [State(name, states=[f"{name}1", State(f"{name}2", final=True)]) for name in "LR"]
    steps = ways(("L1", "L2"), ("R1", "R2"))
    both = State("P", parallel=True, states=regions)
    graph = graph_of(*steps, Transition("P", "done.state.P", "END"), states=[both, END], doors=["P"])
    assert routes(graph, ["A"], ()) == ("P",)
    assert routes(graph, ["A"], ["R2"]) == ()


def test_a_history_state_remembers_the_way_that_was_gone():
    inner = State("C", states=["C1", "C2", State("H", history="deep", initial="C2")])
    steps = [Transition("C", "pause", "OUT"), Transition("OUT", "resume", "H"), Transition("C2", "x", "END")]
    graph = graph_of(*steps, states=[inner, END], doors=["C1", "OUT"])
    assert routes(graph, ["A"], ()) == ("OUT",)


# Targets of transitions


def test_a_target_leads_away_by_a_way_that_avoids_what_failed():
    graph = graph_of(*ways("AB", "BA", "CA", "DC", "ED"), Transition("D", "x", "END"))
    assert leads_away(graph, "E", ["A", "B"])
    assert not leads_away(graph, "C", ["A", "B"])
    assert not leads_away(graph, "A", ["A", "B"])


def test_a_target_may_lie_in_a_state_that_failed():
    graph = graph_of(Transition("C2", "x", "END"), states=[State("C", states=["C1", "C2"]), END], doors=["C"])
    assert leads_away(graph, "C2", ["C", "C1"])
    assert not leads_away(graph, "C", ["C1"])


@pytest.mark.parametrize("recall", ["shallow", "deep"])
def test_a_history_state_around_what_failed_does_not_lead_away(recall):
    inner = State("C", states=["C1", "C2", State("H", history=recall, initial="C2")])
    steps = [Transition("C2", "x", "END"), Transition("OUT", "resume", "H")]
    graph = graph_of(*steps, states=[inner, END], doors=["C1"])
    assert not leads_away(graph, "H", ["C1"])
    assert not leads_away(graph, "OUT", ["C1"])
    assert leads_away(graph, "OUT", ["elsewhere"])


def test_only_states_can_be_targets():
    with pytest.raises(UnknownStateError):
        leads_away(graph_of(Transition("A", "x", "END")), "NOWHERE", [])


# Laws


@st.composite
def flat(draw):
    """A flat chart as pairs of states, those that end or are progress, and those that failed."""
    names = [f"S{number}" for number in range(draw(st.integers(2, 9)))]
    some = st.sets(st.sampled_from(names), max_size=3)
    ends, progress, failed = draw(some), draw(some), draw(some)
    name = st.sampled_from(names)
    pairs = draw(st.lists(st.tuples(name, name), max_size=18))
    states = [State(each, final=each in ends, progress=each in progress) for each in names]
    kept = [(source, target) for source, target in pairs if source not in ends]
    return graph_of(*ways(*kept), states=states, doors=names), kept, ends | progress, failed


def distance(pairs, goals, failed, start):
    """Plain breadth-first search."""
    seen, waiting = {start}, deque([(start, 0)])
    while waiting:
        state, length = waiting.popleft()
        if state in goals:
            return length
        for target in [target for source, target in pairs if source == state]:
            if target not in failed and target not in seen:
                seen.add(target)
                waiting.append((target, length + 1))
    return None


@laws
@given(flat())
def test_in_a_flat_chart_routes_are_what_plain_search_finds_in_its_order(drawn):
    graph, pairs, goals, failed = drawn
    lengths = {each: distance(pairs, goals, failed, each) for each in graph.entry_points if each not in failed}
    found = sorted((each for each, length in lengths.items() if length is not None), key=lambda each: lengths[each])
    assert routes(graph, (), failed) == tuple(found)
    assert [each for each in graph.states if leads_away(graph, each, failed)] == sorted(found)


def ends_without(graph, door, failed):
    """Whether the agent can end without being in a failed leaf after any microstep, by the moves of the checks."""
    seen, waiting = set(), [beginning(graph, graph.entry_points[door].state)]
    while waiting:
        moment = waiting.pop()
        if moment in seen or len(moment.raised) > 6 or not failed.isdisjoint(moment.configuration):
            continue
        if moment.is_final:
            return True
        seen.add(moment)
        assume(len(seen) < 300)  # what is raised in a cycle grows without end
        waiting += [move.after for move in moves(graph, moment)]
    return False


@laws
@given(any_charts(), st.data())
def test_in_any_chart_an_entry_point_is_a_route_if_the_agent_can_end_without_a_failed_leaf(chart, data):
    graph = chart.build()
    leaves = [name for name, node in graph.nodes.items() if node.kind.is_leaf]
    failed = data.draw(st.sets(st.sampled_from(leaves), max_size=3))
    expected = {door for door in graph.entry_points if ends_without(graph, door, failed)}
    assert set(routes(graph, (), failed)) == expected


@laws
@given(any_charts(), st.data())
def test_no_route_enters_what_failed(chart, data):
    graph = chart.build()
    failed = data.draw(st.sets(st.sampled_from(graph.states), max_size=3))
    for door in routes(graph, (), failed):
        assert failed.isdisjoint(plan_entry(graph, (graph.entry_points[door].state,)).entries)
