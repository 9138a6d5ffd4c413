"""No fault text of a chart changes unless somebody wants it to: `python -m tests.charts.pinned` takes it over."""

from __future__ import annotations

from tests.charts.pinned import pinned, told


def test_every_bad_chart_gets_the_faults_that_are_pinned():
    assert told() == pinned()
