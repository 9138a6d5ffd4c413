"""Internal transitions to their own source, which SCXML does not have."""

from __future__ import annotations

import pytest

from gatechart.graph.definition import State, Transition
from gatechart.graph.graph import StateTransitionGraph
from gatechart.kernel.plan import plan_microstep
from gatechart.kernel.select import candidates


def planned(states, transitions, leaves):
    graph = StateTransitionGraph("chart", states=states, transitions=transitions, entry_points=[leaves[0]])
    enabled = tuple(edges[0] for edges in candidates(graph, leaves, "e"))
    return plan_microstep(graph, leaves, (), enabled)


def test_nothing_around_the_source_is_entered():
    plan = planned([State("c", states=["c1"])], [Transition("c1", "e", "c1", internal=True)], ("c1",))
    assert (plan.exits, plan.entries, plan.configuration) == ((), (), ("c1",))


def test_a_compound_source_begins_anew_inside():
    inner = State("d", states=["d1", "d2"])
    plan = planned([State("c", states=[inner])], [Transition("d", "e", "d", internal=True)], ("d2",))
    assert (plan.exits, plan.entries, plan.configuration) == (("d2",), ("d1",), ("d1",))


@pytest.mark.parametrize("source", ["l", "r"])
def test_another_region_may_leave_and_enter_the_source_meanwhile(source):
    ways = [Transition(source, "e", source, internal=True), Transition("p", "e", "p")]
    plan = planned([State("p", parallel=True, states=["l", "r"])], ways, ("l", "r"))
    assert (plan.exits, plan.entries, plan.configuration) == (("r", "l", "p"), ("p", "l", "r"), ("l", "r"))


def test_another_region_may_leave_the_source_for_good_meanwhile():
    ways = [Transition("r", "e", "r", internal=True), Transition("p", "e", "away")]
    plan = planned([State("p", parallel=True, states=["l", "r"])], ways, ("l", "r"))
    assert (plan.exits, plan.configuration) == (("r", "l", "p"), ("away",))
