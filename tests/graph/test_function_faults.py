"""What a graph says of handoffs that cannot be."""

from __future__ import annotations

from datetime import timedelta

import pytest

from gatechart.errors import InvalidGraphError
from gatechart.graph.definition import Invoke, State, Transition
from gatechart.graph.graph import StateTransitionGraph
from gatechart.graph.handoff import Accepts, Fallbacks, Handoff, OtherGraph, SameTarget
from gatechart.values.delays import Retry


def graph_of(*actions, invoke=(), **more):
    states = [State("A", invoke=invoke)]
    ways = [Transition("A", "E", "B", actions=actions)]
    return StateTransitionGraph("orders", states=states, transitions=ways, entry_points=["A"], **more)


def faults(*actions, **more) -> list[str]:
    with pytest.raises(InvalidGraphError) as caught:
        graph_of(*actions, **more)
    return [str(fault) for fault in caught.value.faults]


async def later(context, event): ...


HERE = "transition 'A --E--> B', handoff: "
DELAY = "write '500ms', '30s', '1h30m', '2d' or 'PT1H30M', or seconds"


def test_a_handoff_needs_a_graph_and_an_entry_point():
    assert faults(Handoff("", at="")) == [
        f"{HERE}its graph is ''; name the graph that takes the work",
        f"{HERE}its entry point is ''; name it with at=",
    ]


@pytest.mark.parametrize("deadline", ["soon", -1, timedelta(seconds=-1), True, float("nan"), [3]])
def test_a_deadline_must_be_a_delay(deadline):
    assert faults(Handoff("refunds", at="REVIEWING", deadline=deadline)) == [
        f"{HERE}its deadline {deadline!r} is not a duration; {DELAY}"
    ]


@pytest.mark.parametrize("deadline", ["2m", 0, 1.5, timedelta(minutes=2), None])
def test_a_delay_of_any_kind_is_a_deadline(deadline):
    graph_of(Handoff("refunds", at="REVIEWING", deadline=deadline))


def test_its_functions_are_plain_ones_of_context_and_event():
    assert faults(Handoff("refunds", at="REVIEWING", packet=lambda: 1, agent=later, achieved="done")) == [
        f"{HERE}packet=<lambda> does not take (context, event); pass a function of (context, event)",
        f"{HERE}agent=later is async; answer at once: pass a fast, plain function",
        f"{HERE}achieved=str cannot be called; pass a function of (context, event)",
    ]


def test_fallbacks_are_fallbacks_and_lead_to_entry_points():
    [told] = faults(Handoff("refunds", at="REVIEWING", fallbacks=[SameTarget()]))
    assert told.startswith(f"{HERE}fallbacks=[SameTarget(attempts=3")
    assert told.endswith(
        "write Fallbacks(SameTarget(), OtherGraph(graph, at=entry_point), Human(graph, at=entry_point))"
    )
    [told] = faults(Handoff("refunds", at="REVIEWING", fallbacks=Fallbacks(OtherGraph("orders"))))
    assert told == "transition 'A --E--> B', handoff, fallbacks: the entry point of 'orders' is ''; name it with at="


@pytest.mark.parametrize(
    ("invoke", "told"),
    [
        (Invoke(agent="refunds"), ", invoke refunds: its entry point is ''; name it with at="),
        (
            Invoke(later, agent="refunds", at="OPEN"),
            ", invoke refunds: it has both a function and an agent; give it one of them",
        ),
        (
            Invoke(agent="refunds", at="OPEN", timeout_s=-1),
            ", invoke refunds: its timeout_s -1 is not a duration; write a number of seconds",
        ),
        (
            Invoke(agent="refunds", at="OPEN", retry=Retry()),
            ", invoke refunds: an agent is not retried; give it fallbacks=Fallbacks(SameTarget(...))",
        ),
        (
            Invoke(agent="refunds", at="OPEN", packet=later),
            ", invoke refunds: packet=later is async; answer at once: pass a fast, plain function",
        ),
        (Invoke(later, at="OPEN"), ", invoke later: it has at=, but no agent; give it agent=, or no at="),
        (Invoke(id="x"), ": an invoke has neither a function nor an agent; give it a function, or agent= and at="),
    ],
)
def test_an_invoke_is_of_a_function_or_of_an_agent(invoke, told):
    assert faults(invoke=invoke) == [f"state 'A'{told}"]


def test_what_is_accepted_is_bounded_by_a_plain_function_of_the_packet():
    assert faults(accepts=3) == ["accepts: 3 is not an Accepts; write Accepts(capacity=..., policy=...)"]
    assert faults(accepts=Accepts(policy=lambda: True)) == [
        "accepts: policy <lambda> does not take (packet); pass a function of (packet)"
    ]


def test_all_faults_are_told_at_once():
    wrong = Handoff("", at="OPEN", deadline="soon")
    assert len(faults(wrong, wrong, invoke=Invoke(agent="refunds"), accepts=3)) == 6
