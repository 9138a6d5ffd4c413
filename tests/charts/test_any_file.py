"""Whatever a file holds, it is a chart, or it is refused with what is wrong."""

from __future__ import annotations

import json
from textwrap import dedent

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gatechart.charts import load
from gatechart.charts.schema import KEYS
from gatechart.errors import InvalidChartError
from gatechart.graph.graph import StateTransitionGraph
from tests.charts import functions
from tests.charts.test_loading import BIND, DATA
from tests.charts.test_xstate import MACHINE, Deps

pytestmark = pytest.mark.long

LAW = settings(
    max_examples=200, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
KEY = st.sampled_from(sorted({key for parts in KEYS.values() for keys in parts.values() for key in keys}))
WORDS = ["A", "B", ".A", "#A", "*", "", "note", "is_ready", "Case", "parallel", "final", "history", "30s", "x.*", "1"]
TEXT = st.sampled_from(WORDS)
VALUES = st.recursive(
    TEXT | st.none() | st.booleans() | st.integers(-1, 3) | st.floats(0, 2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEY | TEXT, inner, max_size=4),
    max_leaves=12,
)
STATES = st.recursive(
    st.dictionaries(KEY, VALUES, max_size=4),
    lambda inner: st.fixed_dictionaries({"states": st.dictionaries(TEXT, inner, max_size=3)}, optional={"type": TEXT}),
    max_leaves=6,
)


def is_chart_or_refused(source, **options):
    try:
        found = load(source, **options)
    except InvalidChartError as error:
        found = error
    if isinstance(found, InvalidChartError):
        assert found.faults
        assert all(fault.line >= 1 and fault.column >= 1 and fault.problem and fault.remedy for fault in found.faults)
    else:
        assert isinstance(found, StateTransitionGraph)


@LAW
@given(
    states=st.dictionaries(TEXT, STATES, min_size=1, max_size=4),
    more=st.dictionaries(KEY, VALUES, max_size=3),
    dialect=st.sampled_from(["scxml", "xstate"]),
)
def test_any_values_under_the_keys_of_a_chart(states, more, dialect):
    chart = {"id": "x", "entry_points": ["A"], **more, "states": states, "dialect": dialect}
    is_chart_or_refused(json.dumps(chart), bind=functions)


@LAW
@given(data=st.data(), text=st.sampled_from([dedent(DATA), json.dumps(MACHINE | {"dialect": "xstate"}, indent=1)]))
def test_any_chart_with_a_few_characters_changed(data, text):
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        taken = data.draw(st.integers(0, 3))
        put = data.draw(st.text(st.sampled_from("\n :-{}[],'\"&*!#?|>%@`~ax0.\t\x00é"), max_size=3))
        text = text[:at] + put + text[at + taken :]
    is_chart_or_refused(text.encode(), bind=[*BIND, Deps()])


@LAW
@given(st.binary(max_size=40) | st.text(max_size=40).map(str.encode))
def test_any_bytes(content):
    is_chart_or_refused(content)
