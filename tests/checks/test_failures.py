from __future__ import annotations

import pytest

from gatechart.checks import Allow, check
from gatechart.graph.definition import State, Transition
from tests.checks.support import graph_of


def found(graph):
    return [each.place for each in check(graph) if each.code == "GC104"]


def ends(name, **more):
    return graph_of([Transition("A", "E", name)], states=[State(name, final=True, **more)])


@pytest.mark.parametrize(
    "name",
    [
        "FAILED",
        "Failed",
        "PAYMENT_FAILED",
        "paymentFailed",
        "FAILURE",
        "ERROR",
        "IN_ERROR",
        "ABORTED",
        "on.failed",
        "HTTPError",
    ],
)
def test_a_final_state_that_is_called_like_a_failure_should_say_so(name):
    assert found(ends(name)) == [f"state {name!r}"]
    assert found(ends(name, failed=True)) == []


@pytest.mark.parametrize(
    "name", ["DONE", "REJECTED", "CANCELLED", "EXPIRED", "DENIED", "FAILSAFE", "TERROR", "UNFAILED"]
)
def test_other_ends_are_left_alone(name):
    assert found(ends(name)) == []


def test_a_failure_that_is_none_is_allowed_with_a_reason():
    allow = Allow("GC104", "state 'ERROR'", "An error is what this agent is to find.")
    assert found(graph_of([Transition("A", "E", "ERROR")], states=[State("ERROR", final=True)], allow=allow)) == []


def test_only_what_ends_an_agent_is_asked_for():
    """A state that is not final may go on; one inside another ends only that."""
    inner = State("P", states=["B", State("FAILED", final=True)])
    ways = [Transition("A", "E", "ERROR"), Transition("ERROR", "E", "P"), Transition("B", "E", "FAILED")]
    assert found(graph_of(ways, states=[inner])) == []


def test_the_finding_says_how_to_mend_it():
    (finding,) = [each for each in check(ends("FAILED")) if each.code == "GC104"]
    assert str(finding) == (
        "GC104 warning: state 'FAILED': it is named like a failure, but an agent that ends there counts as done; "
        "add failed=True, in a chart file `failed: true`; or allow it if it is not a failure"
    )
