"""Declared events in charts as data."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from gatechart.charts import dump, load
from gatechart.charts.dump import bindings_of
from gatechart.errors import InvalidChartError
from gatechart.graph.events import EventType

CHART = """
id: leave
entry_points: [WAITING]
events:
  APPROVED: {takes: Decision, description: Somebody decided.}
  NOTED: {takes: {type: object, properties: {text: {type: string}}, required: [text]}}
  CANCELLED:
events_closed: true
states:
  WAITING: {on: {APPROVED: DONE, NOTED: WAITING, CANCELLED: DONE}}
  DONE: {type: final}
"""


class Decision(BaseModel):
    approved: bool


def test_a_chart_declares_events_by_a_bound_model_a_schema_or_a_name():
    graph = load(CHART, bind={"Decision": Decision})
    assert graph.event_types == {
        "APPROVED": EventType("APPROVED", takes=Decision, description="Somebody decided."),
        "NOTED": EventType(
            "NOTED", takes={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        ),
        "CANCELLED": EventType("CANCELLED"),
    }
    assert graph.events_closed


def test_a_list_of_names_declares_events_of_any_payload():
    chart = CHART.replace(CHART[CHART.index("events:") : CHART.index("events_closed")], "events: [APPROVED, NOTED]\n")
    assert load(chart).event_types == {name: EventType(name) for name in ("APPROVED", "NOTED")}


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_declared_events_come_back_from_a_dump(form):
    graph = load(CHART, bind={"Decision": Decision})
    again = load(dump(graph, format=form), bind=bindings_of(graph))
    assert (again.event_types, again.events_closed) == (graph.event_types, True)
    assert again.fingerprint == graph.fingerprint


@pytest.mark.parametrize(
    ("wrong", "right", "fault"),
    [
        ("Decison", "Decision", "5:21 events.APPROVED.takes: no BaseModel is bound to 'Decison'"),
        ("{type: strin}", "{type: string}", "6:3 events.NOTED: properties.text.type: 'strin' is not valid"),
        ("tkes:", "takes:", "5:14 events.APPROVED.tkes: unknown key 'tkes'"),
        ("done.invoke.x:", "CANCELLED:", "7:3 events.done.invoke.x: only gatechart itself sends"),
    ],
)
def test_faults_of_declared_events_have_positions(wrong, right, fault):
    with pytest.raises(InvalidChartError) as raised:
        load(CHART.replace(right, wrong, 1), bind={"Decision": Decision})
    assert any(str(each).startswith(fault) for each in raised.value.faults), str(raised.value)
