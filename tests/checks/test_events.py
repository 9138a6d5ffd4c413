from __future__ import annotations

import pytest

from gatechart.graph.definition import ANY, EntryPoint, Invoke, OnRefusal, State, Transition
from gatechart.signals import Repeats, SameCall
from tests.checks.support import Raising, found, graph_of, places


def search(context, work):
    return None


def waits(event, *, source="A", states=()):
    return places(graph_of([Transition(source, event, "B")], states=states), "GC204")


SEARCHING = State("A", invoke=search)
WAITING = State("A", after={"30s": "B"})
ENDING = State("A", states=["A1", State("A2", final=True)])
LEFT = State("L", states=["L1", State("L2", final=True)])
RIGHT = State("R", states=["R1", State("R2", final=True)])


@pytest.mark.parametrize(
    ("event", "state"),
    [
        ("done.invoke.serach", SEARCHING),
        ("error.invoke.other", SEARCHING),
        ("after.20s.A", WAITING),
        ("after.30s.B", WAITING),
        ("done.state.B", ENDING),
        ("done.state.A", State("A", parallel=True, states=[LEFT, State("R", states=["R1"])])),
        ("E done.invoke.serach.*", SEARCHING),
    ],
)
def test_an_event_of_the_machine_that_nothing_raises_is_found(event, state):
    assert waits(event, states=[state]) == [f"state 'A', event {event!r}"]


@pytest.mark.parametrize(
    ("event", "state"),
    [
        ("done.invoke.search", SEARCHING),
        ("done.invoke.*", SEARCHING),
        ("error.invoke", SEARCHING),
        ("after.30s.A", WAITING),
        ("done.state.A", ENDING),
        ("done.state.A", State("A", parallel=True, states=[LEFT, RIGHT])),
        ("E *", "A"),
        ("error.execution", "A"),
        ("afterparty", "A"),
    ],
)
def test_what_the_machine_raises_and_what_comes_from_outside_is_not_found(event, state):
    assert waits(event, states=[state]) == []


def test_the_nearest_event_is_offered():
    (finding,) = found(graph_of([Transition("A", "done.invoke.serach", "B")], states=[SEARCHING]), "GC204")
    assert finding.remedy == "did you mean 'done.invoke.search'?"
    (finding,) = found(graph_of([Transition("A", "done.invoke.x", "B")]), "GC204")
    assert finding.remedy.startswith("name an invoke")


def test_the_end_of_an_invoke_is_awaited_where_it_is_active():
    (finding,) = found(graph_of([Transition("B", "done.invoke.search", "A")], states=[SEARCHING]), "GC204")
    assert "comes while 'A' is active" in finding.problem
    assert waits("done.invoke.search", source=ANY, states=[SEARCHING]) == []
    inner = State("A", states=["A1"], invoke=search)
    assert waits("done.invoke.search", source="A1", states=[inner]) == []


def test_another_region_may_await_the_end_of_an_invoke():
    regions = [State("L", states=[State("L1", invoke=search), "L2"]), State("R", states=["R1"])]
    states = [State("A", parallel=True, states=regions)]
    assert waits("done.invoke.search", source="R1", states=states) == []
    assert waits("done.invoke.search", source="L2", states=states) != []


def test_the_name_of_a_state_may_have_spaces():
    inner = State("MY DESK", states=["A", State("DONE", final=True)])
    assert waits("done.state.MY DESK", source="MY DESK", states=[inner]) == []


def test_a_raised_event_that_nothing_waits_for_is_found():
    graph = graph_of([Transition("A", "E", "B", actions=[Raising("NOTED", "E")])])
    (finding,) = found(graph, "GC205")
    assert finding.place == "state 'A'"
    assert "raises 'NOTED'" in finding.problem


def test_a_raised_event_that_a_descriptor_takes_is_not_found():
    ways = [Transition("A", "tool", "B"), Transition("B", "E", "A")]
    states = [State("A", on_entry=[Raising("tool.failed")], on_exit=[Raising("E")])]
    assert places(graph_of(ways, states=states), "GC205") == []


def test_a_delay_without_a_transition_is_found():
    assert places(graph_of(states=[State("A", after={"30s": ()})]), "GC205") == ["state 'A'"]
    assert places(graph_of(states=[WAITING]), "GC205") == []


def test_an_invoke_whose_end_nothing_waits_for_is_noted():
    graph = graph_of([Transition("A", "E", "B")], states=[State("A", invoke=Invoke(search, id="kb"))])
    (finding,) = found(graph, "GC206")
    assert (finding.place, finding.severity) == ("state 'A'", "note")
    assert "'done.invoke.kb'" in finding.problem


def test_an_invoke_whose_end_is_awaited_is_not_noted():
    ways = [Transition("A", "done", "B"), Transition("A", "error", "B")]
    assert places(graph_of(ways, states=[SEARCHING]), "GC206") == []


def test_an_invoke_whose_failure_leads_nowhere_is_noted_unless_a_timer_does():
    (finding,) = found(graph_of([Transition("A", "done", "B")], states=[SEARCHING]), "GC206")
    assert "'error.invoke.search', and the agent stays here if it fails" in finding.problem
    timed = State("A", invoke=search, after={"1d": "B"})
    assert places(graph_of([Transition("A", "done", "B")], states=[timed]), "GC206") == []
    around = State("O", states=[SEARCHING], after={"1d": "B"})
    assert places(graph_of([Transition("A", "done", "B")], states=[around]), "GC206") == []


@pytest.mark.parametrize(
    "event",
    [
        "progress.invoke.x",
        "handoff.agreed",
        "handoff.offered.ELSEWHERE",
        "handoff.requested",
        "agent.started.A",
        "agent.stopped",
        "agent.rolled_back",
        "agent.forked",
        "agent.migrated",
        "signal.loop",
        "escape.reroute",
        "alarm.watchdog.fire",
        "plan.ready",
        "workspace.changed",
        "message.hello",
        "transfer.refunds",
    ],
)
def test_a_reserved_name_that_nothing_produces_is_waited_for_in_vain(event):
    (finding,) = found(graph_of([Transition("A", event, "B")]), "GC204")
    assert finding.problem == f"nothing raises {event!r}"


@pytest.mark.parametrize(
    "event",
    [
        "error.execution",
        "error.mail",
        "error.platform",
        "error.*",
        "handoff.accepted",
        "handoff.*",
        "handoff.offered.A",
        "progress.invoke.search",
        "*",
        "plan",
        "agent.hired",
        "alarm.watchdog.stuck",
        "alarm.*",
        "alarm.disk",
    ],
)
def test_what_the_framework_can_send_in_any_state_is_not_waited_for_in_vain(event):
    assert waits(event, states=[SEARCHING]) == []


def test_what_an_action_says_that_it_raises_is_not_waited_for_in_vain():
    def ring(context, event, turn):
        turn.raise_event("plan.ready")

    ring.raises = ("plan.ready",)
    graph = graph_of([Transition("A", "RUNG", actions=ring), Transition("A", "plan.ready", "B")])
    assert found(graph, "GC204") == ()


def test_a_transition_for_a_signal_waits_in_vain_where_none_has_that_name():
    transitions = [Transition("A", "signal.repeats", "B"), Transition("A", "signal.same_call", "B")]
    assert places(graph_of(transitions, signals=Repeats()), "GC204") == ["state 'A', event 'signal.same_call'"]
    doors = [EntryPoint("A", signals=[Repeats(), SameCall()])]
    assert places(graph_of(transitions, entry_points=doors), "GC204") == []


def test_refusals_that_are_to_be_an_event_need_a_transition_that_takes_it():
    told = graph_of([Transition("A", "GO", "B"), Transition("B", "error", "A")], on_refusal=OnRefusal.EVENT)
    assert places(told, "GC211") == places(told, "GC204") == []
    untold = graph_of([Transition("A", "GO", "B")], on_refusal=OnRefusal.EVENT)
    assert [str(finding) for finding in found(untold, "GC211")] == [
        "GC211 error: on_refusal: no transition takes 'error.refused'; "
        "add one to an error state, such as Transition('OPEN', 'error.refused', 'STUCK')"
    ]


def test_a_transition_for_refusals_waits_in_vain_where_they_are_no_event():
    graph = graph_of([Transition("A", "error.refused", "B")])
    assert [str(finding) for finding in found(graph, "GC204")] == [
        "GC204 warning: state 'A', event 'error.refused': nothing raises 'error.refused'; "
        "declare the graph with on_refusal=OnRefusal.EVENT"
    ]
