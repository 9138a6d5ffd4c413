"""Policies of tool calls in charts as data."""

import pytest
from jsonschema import Draft202012Validator

from gatechart import Retry
from gatechart.chartfiles.faults import Spot
from gatechart.chartfiles.source import read
from gatechart.charts import dump, load, schema
from gatechart.errors import InvalidChartError
from gatechart.tools import BreakerPolicy, Capability, ToolPolicies
from gatechart.values.tool_policies import Rate

CHART = """
id: shop
entry_points: [OPEN]
tools:
  "*": {timeout_s: 5, total_s: 60.5}
  lookup: %s
states:
  OPEN:
    tools: {lookup: {retry: off}}
    states:
      DEEP: {tools: {"*": {bulkhead: 3}}}
"""
VALIDATOR = Draft202012Validator(schema())
EVERYTHING = (
    "{total_s: off, alternatives: [cache, {capability: orders}], retry: {attempts: 3, jitter: 0.1},"
    " breaker: {failure_ratio: 0.5, window_s: 10, permits: 2}, bulkhead: 4, rate: 60/min, timeout_s: 2.5}"
)


def plain(text):
    return Spot(read(text)[0]).plain()


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (
            EVERYTHING,
            ToolPolicies(
                total_s="off",
                alternatives=["cache", Capability("orders")],
                retry=Retry(attempts=3, jitter=0.1),
                breaker=BreakerPolicy(failure_ratio=0.5, window_s=10, permits=2, break_s=60),
                bulkhead=4,
                rate="60/min",
                timeout_s=2.5,
            ),
        ),
        ("{retry: null, breaker: null}", ToolPolicies(retry=Retry(), breaker=BreakerPolicy(break_s=60))),
        ("{breaker: {failures_in_a_row: 2}}", ToolPolicies(breaker=BreakerPolicy(failures_in_a_row=2, break_s=60))),
        ("{breaker: off, rate: off, bulkhead: off}", ToolPolicies(breaker="off", rate="off", bulkhead="off")),
        ("{alternatives: cache, rate: 10/30s}", ToolPolicies(alternatives="cache", rate=Rate(10, 30))),
        ("{alternatives: off}", ToolPolicies(alternatives="off")),
        ("{}", ToolPolicies()),
    ],
)
def test_policies_are_read_and_written(written, meant):
    graph = load(CHART % written)
    assert graph.tools == {"*": ToolPolicies(timeout_s=5, total_s=60.5), "lookup": meant}
    assert graph.nodes["OPEN"].tools == {"lookup": ToolPolicies(retry="off")}
    assert graph.nodes["DEEP"].tools == {"*": ToolPolicies(bulkhead=3)}
    assert VALIDATOR.is_valid(plain(CHART % written))
    again = load(dump(graph))
    assert again.tools == graph.tools
    assert again.nodes["OPEN"].tools == graph.nodes["OPEN"].tools
    assert VALIDATOR.is_valid(plain(dump(graph)))


def test_policies_are_no_part_of_the_fingerprint():
    assert load(CHART % "{}").fingerprint == load(CHART % EVERYTHING).fingerprint


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ("{timeout: 5}", "6:12 tools.lookup.timeout: unknown key 'timeout'; did you mean 'timeout_s'"),
        ("{timeout_s: 0}", "tools.lookup.timeout_s: expected a number above 0, found 0; write seconds above 0, or off"),
        ("{timeout_s: soon}", "expected a number above 0, found 'soon'; write seconds above 0, or off"),
        ("{bulkhead: 1.5}", "expected a number above 0, found 1.5; write a whole number above 0, or off"),
        ("{rate: often}", "tools.lookup.rate: 'often' is not a rate; write '60/min'"),
        ("{retry: {attempts: 0}}", "it is not possible: attempts and factor are 1 or more"),
        ("{breaker: {permits: 1.5}}", "tools.lookup.breaker.permits: 1.5 is not a whole number"),
        ("{breaker: {failure_ratio: 2}}", "failure_ratio is above 0 and at most 1"),
        ("{breaker: soon}", "expected keys with values, found 'soon'"),
        ("{alternatives: [{capabilty: x}]}", "unknown key 'capabilty'; did you mean 'capability'"),
        ("soon", "tools.lookup: expected keys with values, found 'soon'"),
    ],
)
def test_a_fault_has_its_place_and_what_would_have_worked(written, fault):
    with pytest.raises(InvalidChartError) as raised:
        load(CHART % written)
    assert fault in str(raised.value)
    assert not VALIDATOR.is_valid(plain(CHART % written)) or "rate" in written
