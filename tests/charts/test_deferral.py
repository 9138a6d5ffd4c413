"""Deferred events in charts as data."""

from __future__ import annotations

import pytest

from gatechart.charts import dump, load
from gatechart.errors import InvalidChartError

CHART = """
id: desk
entry_points: [IDLE]
states:
  IDLE: {on: {ASKED: THINKING}}
  THINKING: {defer: %s, on: {ANSWERED: IDLE}}
"""


@pytest.mark.parametrize(("written", "events"), [("ASKED", ("ASKED",)), ("[ASKED, TOLD]", ("ASKED", "TOLD"))])
def test_a_state_defers_one_event_or_several(written, events):
    graph = load(CHART % written)
    assert graph.nodes["THINKING"].defers == events
    again = load(dump(graph))
    assert again.fingerprint == graph.fingerprint
    assert f"defer: {written}" in dump(graph) or "defer:\n" in dump(graph)


@pytest.mark.parametrize(
    ("written", "fault"),
    [("done.invoke.scan", "an event of the framework"), ("{a: b}", "expected a text"), ("['']", "the text is empty")],
)
def test_what_cannot_be_deferred_is_a_fault_with_its_place(written, fault):
    with pytest.raises(InvalidChartError, match=fault) as raised:
        load(CHART % written)
    assert raised.value.faults[0].line == 6


def test_a_machine_of_xstate_cannot_defer():
    with pytest.raises(InvalidChartError, match="unknown key 'defer'"):
        load("dialect: xstate\nid: m\ninitial: a\nstates: {a: {defer: ASKED}}")
