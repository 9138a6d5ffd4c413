from __future__ import annotations

from time import process_time

import pytest

from gatechart.checks import RULES, Allow, Severity, check, report
from gatechart.errors import InvalidGraphError
from gatechart.graph.definition import ANY, EntryPoint, State, Transition
from statecharts import examples
from tests.checks.support import graph_of

TRAP = graph_of([Transition("A", "E", "B")], entry_points=[EntryPoint("A", description="a customer asks")])


def test_a_finding_says_what_where_and_how_to_mend_it():
    (finding,) = check(TRAP)
    assert str(finding) == (
        "GC102 warning: state 'B': no transition leaves it; let a transition leave it, or make it final"
    )


def test_a_graph_without_fault_has_no_findings():
    ways = [Transition("A", "E", "B"), Transition(ANY, "FAILED", "B")]
    graph = graph_of(ways, states=[State("B", final=True)], entry_points=[EntryPoint("A", description="it begins")])
    assert check(graph) == ()


def test_findings_are_ordered_by_code():
    graph = graph_of([Transition("A", "E", "B"), Transition("A", "E", "C"), Transition("LOST", None, "LOST")])
    codes = [finding.code for finding in check(graph)]
    assert codes == sorted(codes)
    assert len(set(codes)) > 3


def test_codes_are_told_apart():
    assert len({rule.code for rule in RULES}) == len(RULES)
    assert all(rule.meaning for rule in RULES)
    assert all(rule.explanation for rule in RULES)
    assert [rule.code for rule in RULES] == sorted(rule.code for rule in RULES)


def test_what_is_allowed_with_a_reason_is_left_out():
    assert check(TRAP, allow=[Allow("GC102", "state 'B'", "an operator ends it")]) == ()


@pytest.mark.parametrize(
    ("allowance", "remedy"),
    [
        (Allow("GC102", "state 'A'", "why not"), "There are \"state 'B'\""),
        (Allow("GC101", "state 'B'", "why not"), "drop it"),
        (Allow("GC999", "state 'B'", "why not"), "unknown code 'GC999': did you mean 'GC903' or 'GC902' or 'GC901'?"),
    ],
)
def test_an_allowance_for_nothing_is_a_finding(allowance, remedy):
    stuck, unused = check(TRAP, allow=[allowance])
    assert (stuck.code, unused.code, unused.severity) == ("GC102", "GC401", Severity.WARNING)
    assert allowance.code in unused.place
    assert remedy in unused.remedy


def test_an_allowance_without_a_reason_allows_nothing():
    assert [finding.code for finding in check(TRAP, allow=[Allow("GC102", "state 'B'", " ")])] == ["GC102", "GC402"]


def test_a_graph_may_itself_allow_what_is_found_in_it():
    doors = [EntryPoint("A", description="a customer asks")]
    graph = graph_of(
        [Transition("A", "E", "B")], entry_points=doors, allow=Allow("GC102", "state 'B'", "an operator ends it")
    )
    assert check(graph) == ()
    assert [(each.finding, each.reason) for each in report(graph).allowed] == [(*check(TRAP), "an operator ends it")]
    assert graph.fingerprint == TRAP.fingerprint
    assert report(TRAP, allow=graph.allow) == report(graph)


def test_what_a_graph_allows_is_judged_with_it():
    with pytest.raises(InvalidGraphError) as caught:
        graph_of(
            [Transition("A", "E", "B", guard=3), Transition("A", "E", "B")],
            allow=[
                Allow("XX120", "state 'BB'", ""),
                "GC102",
                Allow("GC201", "transition 'A --E--> B #2'", 7),
                Allow("GC201", "transition 'A --E--> B #2'", "so it is"),
            ],
        )
    assert [fault.place for fault in caught.value.faults] == [
        "transition 'A --E--> B'",
        "allow[0], code",
        "allow[0], place",
        "allow[0], reason",
        "allow[1]",
        "allow[2]",
    ]


def test_only_so_many_wrong_allowances_are_told():
    with pytest.raises(InvalidGraphError) as caught:
        graph_of([Transition("A", "E", "B")], allow=[Allow("GC102", f"state {n}", "x") for n in range(300)])
    assert len(caught.value.faults) == 100


@pytest.mark.parametrize("graph", examples, ids=lambda graph: graph.name)
def test_the_example_charts_have_no_errors(graph):
    assert [finding for finding in check(graph) if finding.severity is Severity.ERROR] == []


def test_a_thousand_states_take_well_under_a_second():
    ways = [Transition(f"S{number}", "NEXT", f"S{number + 1}") for number in range(1000)]
    graph = graph_of([*ways, Transition(ANY, "ERROR", "S0")], entry_points=["S0", "S500"])
    began = process_time()
    check(graph)
    assert process_time() - began < 0.8
