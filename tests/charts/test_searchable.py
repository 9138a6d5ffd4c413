"""Searchable fields in charts as data."""

import pytest

from gatechart.charts import dump, load
from gatechart.errors import InvalidChartError

CHART = """
id: order
entry_points: [OPEN]
context: {customer: Ada, order: {total: 7}}
searchable: %s
states: {OPEN: {}}
"""


@pytest.mark.parametrize(
    ("written", "fields"), [("customer", ("customer",)), ("[customer, order.total]", ("customer", "order.total"))]
)
def test_a_chart_says_by_which_fields_agents_are_found(written, fields):
    graph = load(CHART % written)
    assert graph.searchable == fields
    assert load(dump(graph)).searchable == fields


def test_a_field_that_the_context_lacks_is_a_fault_with_its_place():
    with pytest.raises(InvalidChartError, match=r"5:13 searchable: .*has no field 'custmer'.*did you mean 'customer'"):
        load(CHART % "custmer")
