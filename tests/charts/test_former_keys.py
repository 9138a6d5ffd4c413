"""Machines of XState 4: each key that XState 5 no longer has gets a fault with what to write in its place."""

from __future__ import annotations

import json

import pytest

from gatechart.charts import load
from gatechart.errors import InvalidChartError


def fault(**changes):
    machine = {"id": "m", "initial": "a", "states": {"a": {}, "b": {"type": "final"}}}
    machine.update(changes)
    with pytest.raises(InvalidChartError) as raised:
        load(json.dumps(machine), dialect="xstate", bind={"count": print, "search": print})
    (only,) = raised.value.faults
    return only.remedy


def of_state(**keys):
    return fault(states={"a": keys, "b": {"type": "final"}})


@pytest.mark.parametrize(
    ("key", "value", "remedy"),
    [
        ("cond", "is_open", "write 'guard', as in XState 5"),
        ("in", "#b", "write a 'guard' (in XState 5 stateIn('#id')), or put the transition into that state"),
        (
            "internal",
            True,
            "drop it: XState 5 stays in the source where it can, unless it has 'reenter: true'",
        ),
        ("delay", 100, "write the transition under 'after'"),
    ],
)
def test_a_key_of_a_transition(key, value, remedy):
    assert of_state(on={"E": {"target": "b", key: value}}) == remedy


@pytest.mark.parametrize(
    ("key", "value", "remedy"),
    [
        ("activities", ["ring"], "write 'invoke', as in XState 5"),
        ("onEntry", "count", "write 'entry', as in XState 5"),
        ("onExit", "count", "write 'exit', as in XState 5"),
        ("parallel", True, "write 'type: parallel', as in XState 5"),
        ("after", [{"delay": 100, "target": "b"}], "write 'after: {1000: target}', as in XState 5"),
        ("on", {"": "b"}, "write the transition under 'always', as in XState 5"),
    ],
)
def test_a_key_of_a_state(key, value, remedy):
    assert of_state(**{key: value}) == remedy


@pytest.mark.parametrize("key", ["forward", "autoForward"])
def test_an_invoke_that_forwards_events(key):
    remedy = of_state(invoke={"src": "search", key: True})
    assert remedy == "XState 5 forwards no events: send the needed ones from an action"


def test_data_is_input_or_output():
    assert of_state(invoke={"src": "search", "data": {"depth": 2}}) == "write 'input', as in XState 5"
    states = {"a": {"on": {"E": "b"}}, "b": {"type": "final", "data": {"found": 1}}}
    assert fault(states=states) == "write 'output', as in XState 5"


@pytest.mark.parametrize(
    ("key", "part"),
    [
        ("strict", "no strict mode"),
        ("delimiter", "'.' separates"),
        ("preserveActionOrder", "drop it"),
        ("schema", "setup({types: ...})"),
        ("guards", "with bind="),
        ("services", "with bind="),
        ("actors", "with bind="),
        ("delays", "with bind="),
        ("activities", "write 'invoke'"),
    ],
)
def test_a_key_of_the_machine(key, part):
    assert part in fault(**{key: {}})


def test_a_chart_without_the_dialect_gets_the_same_hint():
    with pytest.raises(InvalidChartError) as raised:
        load("id: m\nentry_points: [a]\nstates: {a: {on: {E: {target: a, cond: is_open}}}}")
    assert [each.remedy for each in raised.value.faults] == ["write 'guard', as in XState 5"]


def test_another_key_gets_the_known_keys():
    assert "there are 'target', 'guard'" in of_state(on={"E": {"target": "b", "zzz": 1}})
