"""A chart is the same graph, whether it is written in code or as data."""

import pytest

from gatechart.charts import bindings_of, dump, load
from gatechart.drawing import to_dot
from statecharts import examples
from tests.statecharts.in_code.customer_service import customer_service
from tests.statecharts.in_code.leave_approval import leave_approval
from tests.statecharts.in_code.service_desk import service_desk

IN_CODE = (customer_service, leave_approval, service_desk)
PAIRS = list(zip(examples, IN_CODE, strict=True))


@pytest.mark.parametrize(("data", "code"), PAIRS, ids=[graph.name for graph in examples])
def test_a_chart_in_data_has_the_fingerprint_of_the_same_chart_in_code(data, code):
    assert data.fingerprint == code.fingerprint


@pytest.mark.parametrize(("data", "code"), PAIRS, ids=[graph.name for graph in examples])
def test_a_chart_in_data_is_drawn_like_the_same_chart_in_code(data, code):
    assert to_dot(data) == to_dot(code)


@pytest.mark.parametrize("graph", examples, ids=lambda graph: graph.name)
@pytest.mark.parametrize("kind", ["yaml", "json"])
def test_an_example_survives_being_written_and_read_again(graph, kind):
    again = load(dump(graph, format=kind), bind=bindings_of(graph))
    assert again.fingerprint == graph.fingerprint
    assert dump(again, format=kind) == dump(graph, format=kind)
