"""Policies of tool calls, and what several layers of them come to."""

import pytest

from gatechart.values.breakers import BreakerPolicy
from gatechart.values.delays import Retry
from gatechart.values.tool_policies import Capability, Rate, ToolPolicies, effective_policies


@pytest.mark.parametrize(
    ("text", "calls", "per_s"),
    [("60/min", 60, 60), ("5/s", 5, 1), ("1000 / hour", 1000, 3600), ("10/30s", 10, 30), ("3/1h30m", 3, 5400)],
)
def test_a_rate_is_calls_over_a_time(text, calls, per_s):
    assert Rate.of(text) == Rate(calls, per_s)
    assert Rate.of(str(Rate.of(text))) == Rate(calls, per_s)


@pytest.mark.parametrize("text", ["", "60", "60/", "/min", "0/min", "-1/min", "1.5/min", "60/month", "10001/s", "5/0s"])
def test_what_is_no_rate_is_refused_with_what_would_be_one(text):
    with pytest.raises(ValueError, match="write '60/min', '5/s', '1000/h' or '10/30s'"):
        Rate.of(text)


def test_a_stronger_layer_counts_field_by_field():
    own = ToolPolicies(timeout_s=9, retry=Retry(attempts=4), bulkhead=2)
    of_graph = {"*": ToolPolicies(timeout_s=8, rate="5/s"), "lookup": ToolPolicies(timeout_s=7)}
    of_state = {"*": ToolPolicies(bulkhead="off")}
    of_deployment = {"other": ToolPolicies(timeout_s=1)}
    assert effective_policies("lookup", own, [of_graph, of_state, of_deployment]) == ToolPolicies(
        timeout_s=7, retry=Retry(attempts=4), rate="5/s", bulkhead="off"
    )


def test_alternatives_are_names_and_capabilities():
    assert ToolPolicies(alternatives="cache").alternatives == ("cache",)
    assert ToolPolicies(alternatives=Capability("orders")).alternatives == (Capability("orders"),)
    assert ToolPolicies(alternatives=["cache", Capability("orders")]).over(ToolPolicies(alternatives="off")) == (
        ToolPolicies(alternatives=["cache", Capability("orders")])
    )


@pytest.mark.parametrize(
    "given", [{"timeout_s": 0}, {"total_s": -1}, {"bulkhead": 0}, {"bulkhead": True}, {"timeout_s": "5"}]
)
def test_a_policy_that_lets_no_call_through_is_refused(given):
    with pytest.raises(ValueError, match="give a number above 0, or 'off'"):
        ToolPolicies(**given)


def test_what_is_no_alternative_is_refused():
    with pytest.raises(ValueError, match="name a tool, or write Capability"):
        ToolPolicies(alternatives=[""])
    with pytest.raises(ValueError, match="names nothing"):
        Capability("")


def test_a_breaker_under_a_tool_breaks_for_a_minute_where_it_says_nothing_else():
    assert ToolPolicies(breaker=BreakerPolicy(failure_ratio=0.5)).breaker.break_after(1) == 60
    assert ToolPolicies(breaker=BreakerPolicy(break_s=5)).breaker.break_after(1) == 5
    assert BreakerPolicy(failure_ratio=0.5).break_after(1) == 300
