from __future__ import annotations

import pytest

from gatechart.charts import load
from gatechart.graph.definition import ANY, Invoke, Precedence, State, Then, Transition
from tests.checks.support import found, graph_of, places, yes


async def work(context, work):
    return {}


INNER = [Transition("A1", "*", "A2"), Transition("A2", "BACK", "A1")]


def outer(**has):
    return State("A", states=["A1", "A2"], **has)


@pytest.mark.parametrize(
    ("has", "way", "event"),
    [
        ({"after": {"200ms": "B"}}, None, "after.200ms.A"),
        ({"every": {"1h": "B"}}, None, "every.1h.A"),
        ({"invoke": Invoke(work, id="job")}, ("A", "done.invoke.job", "B"), "done.invoke.job"),
        ({"invoke": Invoke(work, id="job")}, ("A", "error.invoke", "B"), "error.invoke"),
        ({}, (ANY, "error.execution", "B"), "error.execution"),
        ({}, (ANY, "handoff.completed", "B"), "handoff.completed"),
    ],
)
def test_an_event_of_the_framework_does_not_reach_an_outer_state(has, way, event):
    ways = [*INNER, *([Transition(*way)] if way else [])]
    (finding,) = found(graph_of(ways, states=[outer(**has)]), "GC212")
    assert finding.place == "transition 'A1 --*--> A2'"
    assert finding.problem.startswith(f"it takes {event!r} before ")


def test_the_end_of_a_state_that_takes_every_event_does_not_reach_an_outer_state():
    inside = State("A", states=[State("A1", states=["X", State("Y", final=True)])])
    ways = [Transition("A1", "*", actions=yes), Transition("X", "E", "Y"), Transition("A", "done.state.A1", "B")]
    assert places(graph_of(ways, states=[inside]), "GC212") == ["transition 'A1 --*'"]


def test_the_end_of_another_state_is_not_hidden():
    inside = State("A", states=["A1", State("A2", states=["X", State("Y", final=True)])])
    ways = [Transition("A1", "*", "A2"), Transition("X", "E", "Y"), Transition("A", "done.state.A2", "B")]
    assert places(graph_of(ways, states=[inside]), "GC212") == []


@pytest.mark.parametrize("event", ["E", "signal.repeats", "*"])
def test_other_events_of_an_outer_state_are_left_alone(event):
    ways = [*INNER, Transition("A", event, "B")]
    assert places(graph_of(ways, states=[outer()]), "GC212") == []


def test_a_guard_may_leave_the_event_to_the_outer_state():
    ways = [Transition("A1", "*", "A2", guard=yes), INNER[1]]
    assert places(graph_of(ways, states=[outer(after={"200ms": "B"})]), "GC212") == []


def test_an_inner_state_with_a_transition_for_the_event_itself_hides_nothing():
    ways = [*INNER, Transition("A1", "after.200ms.A", "B")]
    assert places(graph_of(ways, states=[outer(after={"200ms": "B"})]), "GC212") == []


@pytest.mark.parametrize(("precedence", "hidden"), [(Precedence.SPECIFIC, 0), (Precedence.XSTATE, 1)])
def test_another_region_passes_the_event_on_but_not_in_xstate(precedence, hidden):
    both = State("P", parallel=True, states=[State("A", states=["A1", "A2"]), "C"], after={"200ms": "B"})
    graph = graph_of(INNER, states=[both], entry_points=["P"], precedence=precedence)
    assert len(places(graph, "GC212")) == hidden


def test_the_finding_names_both_transitions_and_a_way_out():
    (finding,) = found(graph_of(INNER, states=[outer(after={"200ms": Then("B")})]), "GC212")
    assert finding.problem == "it takes 'after.200ms.A' before 'A --after.200ms.A--> B' is asked"
    assert finding.remedy == "give 'A1' a transition for 'after.200ms.A', or name events in place of '*'"


def test_it_can_be_allowed_in_a_chart():
    chart = """
    id: desk
    entry_points: [A]
    states:
      A: {after: {1s: B}, initial: A1, states: {A1: {on: {"*": A2}}, A2: {on: {BACK: A1}}}}
      B: {type: final}
    """
    (finding,) = found(load(chart), "GC212")
    allowance = f'allow: [{{code: GC212, place: "{finding.place}", reason: The timer is for A2.}}]'
    assert places(load(f"{chart}\n    {allowance}\n"), "GC212") == []
