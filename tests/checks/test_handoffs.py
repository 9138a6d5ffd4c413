from __future__ import annotations

import pytest

from gatechart.checks import Allow, check, check_all, report
from gatechart.graph.definition import ANY, Initial, Invoke, State, Transition
from gatechart.graph.graph import StateTransitionGraph
from gatechart.graph.handoff import Fallbacks, Handoff, Human, OtherGraph, SameTarget
from tests.checks.support import found, graph_of, places, yes

ASK = Handoff("refunds", at="REVIEWING")
DELEGATE = Handoff("refunds", at="REVIEWING", mode="delegate")
END = State("DONE", final=True)
GO = Transition("A", "E", "DONE", actions=ASK)
WAIT = Transition("A", "E", "W", actions=ASK)
ANSWERED = Transition("W", "handoff", "A")
refunds = StateTransitionGraph("refunds", states=["REVIEWING"], entry_points=["REVIEWING"])


# GC501


def test_a_handoff_on_the_way_to_the_end_is_found():
    finding, *others = found(graph_of([GO], states=[END]), "GC501")
    assert (finding.place, finding.severity, others) == ("transition 'A --E--> DONE'", "error", [])
    assert (
        "transfer to refunds at REVIEWING: nothing can wait for the answer in the final state DONE" in finding.problem
    )
    assert "a state that waits" in finding.remedy


def test_a_handoff_of_a_final_state_itself_is_found():
    graph = graph_of([Transition("A", "E", "DONE")], states=[State("DONE", final=True, on_entry=ASK)])
    assert places(graph, "GC501") == ["state 'DONE'"]


def test_a_handoff_on_leaving_a_state_for_the_end_is_found_at_each_transition():
    ways = [Transition("A1", "E", "DONE"), Transition(ANY, "F", "DONE"), Transition("A1", "G", "A2")]
    graph = graph_of(ways, states=[State("A", states=["A1", "A2"], on_exit=ASK), END])
    assert sorted(places(graph, "GC501")) == ["transition '* --F--> DONE'", "transition 'A1 --E--> DONE'"]


def test_a_way_that_goes_on_to_the_end_by_itself_is_found():
    ways = [WAIT, Transition("W", None, "DONE")]
    assert places(graph_of(ways, states=[END]), "GC501") == ["transition 'A --E--> W'"]
    inner = State("W", states=[State("W1", final=True)])
    ways = [WAIT, Transition("W", "done.state.W", "DONE")]
    assert places(graph_of(ways, states=[inner, END]), "GC501") == ["transition 'A --E--> W'"]


def test_a_way_that_may_go_on_to_the_end_is_none_of_them():
    ways = [WAIT, ANSWERED, Transition("W", None, "DONE", guard=yes)]
    assert places(graph_of(ways, states=[END]), "GC501") == []


def test_a_final_state_inside_another_state_can_wait():
    states = [State("W", states=[State("W1", final=True)])]
    assert places(graph_of([WAIT, ANSWERED], states=states), "GC501") == []


# GC502


@pytest.mark.parametrize(
    ("ask", "answers"),
    [
        (ASK, ["handoff.rejected"]),
        (Handoff("r", at="R", deadline="30s"), ["handoff.rejected", "handoff.expired"]),
        (Handoff("r", at="R", fallbacks=Fallbacks(SameTarget())), ["handoff.failed"]),
        (Handoff("r", at="R", fallbacks=Fallbacks(OtherGraph("o", at="O"), Human("p", at="P"))), ["handoff.failed"]),
        (DELEGATE, ["handoff.rejected", "handoff.failed", "handoff.completed"]),
    ],
)
def test_each_answer_that_is_not_taken_is_told_at_the_state_that_waits(ask, answers):
    asking = Transition("A", "E", "W", actions=ask)
    for number in range(len(answers)):
        taken = [Transition("W", event, "A") for event in answers[:number]]
        [finding] = found(graph_of([asking, *taken, Transition("W", "LEFT", "A")]), "GC502")
        assert (finding.place, finding.severity) == ("state 'W'", "warning")
        assert all(repr(event) in finding.problem for event in answers[number:])
        assert not any(repr(event) in finding.problem for event in answers[:number])
    taken = [Transition("W", event, "A") for event in answers]
    assert places(graph_of([asking, *taken]), "GC502") == []


@pytest.mark.parametrize("descriptor", ["handoff", "handoff.*", "*"])
def test_one_transition_may_take_all_answers(descriptor):
    asking = Transition("A", "E", "W", actions=DELEGATE)
    assert places(graph_of([asking, Transition("W", descriptor, "A")]), "GC502") == []


def test_states_around_it_and_other_regions_take_answers_too():
    around = State("O", states=["W"])
    assert places(graph_of([WAIT, Transition("O", "handoff", "A")], states=[around]), "GC502") == []
    assert places(graph_of([WAIT, Transition(ANY, "handoff", "A")]), "GC502") == []
    regions = State("P", parallel=True, states=[State("L", states=["W"]), State("R", states=["R1"])])
    assert places(graph_of([WAIT, Transition("R1", "handoff", "A")], states=[regions]), "GC502") == []
    assert places(graph_of([WAIT, Transition("A", "handoff", "A")], states=[regions]), "GC502") == ["state 'W'"]


def test_a_compound_state_waits_where_it_begins():
    inner = State("W", states=["W1", "W2"], initial=Initial("W2", actions=ASK))
    ways = [Transition("A", "E", "W"), Transition("W1", "handoff", "A")]
    assert places(graph_of(ways, states=[inner]), "GC502") == ["state 'W2'"]


def test_a_handoff_on_entry_waits_wherever_the_state_is_entered():
    inner = State("W", states=["W1", "W2", "W3"], on_entry=ASK)
    ways = [Transition("A", "E", "W2"), Transition("W2", "F", "W3")]
    assert places(graph_of(ways, states=[inner]), "GC502") == ["state 'W1'", "state 'W2'"]
    assert places(graph_of(ways, states=[inner], entry_points=["A", "W3"]), "GC502")[-1] == "state 'W3'"


def test_a_transition_that_leads_nowhere_waits_where_the_agent_is():
    ways = [Transition(ANY, "E", actions=ASK), Transition("A", "F", "B")]
    assert places(graph_of(ways), "GC502") == ["state '*'"]
    assert places(graph_of([Transition("A", "E", actions=ASK)]), "GC502") == ["state 'A'"]


def test_a_handoff_on_leaving_waits_where_the_transition_leads():
    ways = [Transition("A", "E", "B"), Transition("B", "F", "A")]
    assert places(graph_of(ways, states=[State("A", on_exit=ASK)]), "GC502") == ["state 'B'"]


def test_an_agent_that_is_invoked_may_fail():
    states = [State("A", invoke=Invoke(agent="refunds", at="REVIEWING"))]
    done = Transition("A", "done.invoke.refunds", "A")
    [finding] = found(graph_of([done], states=states), "GC502")
    assert finding.problem.endswith("no transition takes 'error.invoke.refunds'")
    assert places(graph_of([done, Transition("A", "error", "A")], states=states), "GC502") == []


# GC503


def test_a_handoff_to_a_graph_that_is_not_there_is_found_among_several():
    asking = graph_of([WAIT, ANSWERED])
    [finding] = [each for each in check_all([asking])["desk"] if each.code == "GC503"]
    assert (finding.place, finding.severity) == ("transition 'A --E--> W'", "error")
    assert finding.problem == "unknown graph 'refunds'"
    assert [each for each in check_all([asking, refunds])["desk"] if each.code == "GC503"] == []
    assert places(asking, "GC503") == []


def test_an_entry_point_that_is_not_there_is_found_with_its_like():
    states = [State("A", invoke=Invoke(agent="refunds", at="REVIEWED"))]
    [finding] = [each for each in check_all([graph_of(states=states), refunds])["desk"] if each.code == "GC503"]
    assert finding.place == "state 'A'"
    assert finding.remedy == "did you mean 'REVIEWING'? There are 'REVIEWING'"


def test_the_targets_of_fallbacks_must_be_there_too():
    fallbacks = Fallbacks(SameTarget(), OtherGraph("refunds", at="OPEN"), Human("desk", at="NORMAL"))
    asking = Transition("A", "E", "W", actions=Handoff("refunds", at="REVIEWING", fallbacks=fallbacks))
    found = [each.problem for each in check_all([graph_of([asking]), refunds])["desk"] if each.code == "GC503"]
    assert found == [
        "'refunds' has no entry point 'OPEN' to hand on to",
        "'desk' has no entry point 'NORMAL' to hand on to",
    ]


def test_a_graph_that_runs_elsewhere_may_be_allowed_and_is_no_finding_alone():
    allow = Allow("GC503", "transition 'A --E--> W'", "It runs elsewhere.")
    asking = graph_of([WAIT, ANSWERED], allow=allow)
    assert [each.finding.code for each in report(asking, among=[asking]).allowed if each.reason == allow.reason] == [
        "GC503"
    ]
    assert [each for each in check(asking) if each.code == "GC401"] == []


# GC103


def test_a_state_in_which_the_work_is_given_away_is_an_end():
    ways = [WAIT, Transition("W", "handoff.rejected", "A"), Transition("C", "E", "DONE")]
    assert places(graph_of(ways, states=[END], entry_points=["A", "C"]), "GC103") == []
    ways = [*ways, Transition("W", "handoff.accepted", "A")]
    assert places(graph_of(ways, states=[END], entry_points=["A", "C"]), "GC103") == ["entry point 'A'"]


# GC504

ACCEPTED = Transition("W", "handoff.accepted", "AWAY")
BACK = Transition("AWAY", "handoff.offered.A", "A")


def given_away(*more, **parts):
    return graph_of([WAIT, ACCEPTED, BACK, *more], states=[END, *parts.pop("states", ())], **parts)


def test_a_transition_from_anywhere_that_leaves_what_was_given_away_is_found():
    finding, *others = found(given_away(Transition(ANY, "MOVED_ON", "A")), "GC504")
    assert (finding.place, finding.severity, others) == ("transition '* --MOVED_ON--> A'", "warning", [])
    assert "'AWAY', where the work is another agent's" in finding.problem
    assert "the states that have the work" in finding.remedy


def test_it_is_found_where_only_the_answer_tells_of_the_transfer():
    ways = [Transition("A", "E", "W"), ACCEPTED, BACK, Transition(ANY, "MOVED_ON", "W")]
    assert places(graph_of(ways), "GC504") == ["transition '* --MOVED_ON--> W'"]


@pytest.mark.parametrize(
    "way",
    [
        Transition("A", "MOVED_ON", "W"),
        Transition(ANY, "MOVED_ON"),
        Transition(ANY, "CANCELLED", "DONE"),
        Transition(ANY, "handoff.offered.A", "A"),
        Transition(ANY, "RESTED", "AWAY"),
    ],
    ids=["from a state that has it", "that leaves nothing", "to the end", "of a new offer", "to where it is away"],
)
def test_what_makes_no_second_owner_is_no_finding(way):
    assert places(given_away(way), "GC504") == []


def test_a_state_that_takes_the_event_itself_is_not_left():
    assert places(given_away(Transition("AWAY", "MOVED_ON"), Transition(ANY, "MOVED_ON", "A")), "GC504") == []
    guarded = Transition("AWAY", "MOVED_ON", guard=yes)
    assert places(given_away(guarded, Transition(ANY, "MOVED_ON", "A")), "GC504") != []


def test_what_was_delegated_comes_back_and_may_be_left():
    ways = [Transition("A", "E", "W", actions=DELEGATE), ACCEPTED, Transition("AWAY", "handoff.completed", "A")]
    assert places(graph_of([*ways, Transition(ANY, "MOVED_ON", "A")]), "GC504") == []


def test_a_transition_of_a_state_around_what_was_given_away_is_found_too():
    outer = State("CASE", states=["OPEN", "W", "AWAY"])
    ways = [Transition("OPEN", "E", "W", actions=ASK), ACCEPTED, Transition("CASE", "MOVED_ON", "OPEN")]
    finding, *others = found(graph_of([*ways, BACK], states=[outer, "A"], entry_points=["CASE"]), "GC504")
    assert (finding.place, others) == ("transition 'CASE --MOVED_ON--> OPEN'", [])
    assert finding.remedy == "let it leave the states that have the work, instead of all of 'CASE'"


def test_a_transition_of_a_state_beside_what_was_given_away_is_no_finding():
    outer = State("CASE", states=["OPEN", "W"])
    ways = [Transition("OPEN", "E", "W", actions=ASK), ACCEPTED, Transition("CASE", "MOVED_ON", "OPEN")]
    assert places(graph_of([*ways, BACK], states=[outer, "A"], entry_points=["CASE"]), "GC504") == []
