from __future__ import annotations

from gatechart.checks import check, report
from gatechart.graph.definition import EntryPoint, State, Transition
from gatechart.graph.graph import StateTransitionGraph
from gatechart.graph.transfers import To, Transfers


async def choose(context, work): ...


def graph_of(*targets, otherwise="B", final=True, description="writes it up"):
    states = [
        State("A", invoke=choose, transfers=Transfers([*targets, "B"], otherwise=otherwise), description="checks it"),
        State("B", final=final, description=description),
    ]
    ways = [Transition("A", "error.invoke.choose", "B"), *([] if final else [Transition("B", "AGAIN", "A")])]
    entry = EntryPoint("A", description="begins")
    return StateTransitionGraph("g", states=states, transitions=ways, entry_points=[entry])


def codes(graph, **more):
    return [finding.code for finding in check(graph, **more)]


def test_nothing_is_found_in_transfers_that_end_and_are_described():
    assert codes(graph_of("A")) == []


def test_transfers_that_never_end_are_found():
    assert "GC601" in codes(graph_of("A", final=False))


def test_a_target_without_a_description_is_found():
    (finding,) = check(graph_of("A", description=""))
    assert (finding.code, finding.place) == ("GC602", "state 'A'")
    assert finding.problem == "its transfer to 'B' has no description"


def test_an_entry_point_describes_its_target_if_its_graph_is_known():
    graph = graph_of(To("refunds", at="REVIEWING"))
    assert codes(graph) == []

    def among(description):
        entry = EntryPoint("REVIEWING", description=description)
        refunds = StateTransitionGraph("refunds", states=[State("REVIEWING")], entry_points=[entry])
        return [each.code for each in report(graph, among=[graph, refunds]).findings]

    assert among("decides on refunds") == []
    assert among("") == ["GC602"]


def test_a_state_that_waits_for_another_graph_is_no_finding():
    assert codes(graph_of(To("refunds", at="REVIEWING", description="decides"))) == []
