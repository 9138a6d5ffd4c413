"""No fault text of a chart changes unless somebody wants it to: `python -m tests.charts.pinned` takes it over."""

from __future__ import annotations

import re

from tests.charts.pinned import pinned, told


def test_every_bad_chart_gets_the_faults_that_are_pinned():
    assert told() == pinned()


OF_PYTHON = re.compile(r"\b[a-z_]+=(?![=>])|\bTrue\b|\bon_(entry|exit)\b|\b[A-Z]\w+\(")
OF_CALLERS = re.compile(r"load\(entry_points=\[\.\.\.\]\)|bind=|Handoff\(\.\.\.\)")  # what only a program can do


def test_the_faults_of_a_chart_file_name_its_keys_and_no_arguments_of_python():
    told = [text for name, texts in pinned().items() if name.split(" ")[0] in ("chart", "xstate") for text in texts]
    assert [text for text in told if OF_PYTHON.search(OF_CALLERS.sub("", text))] == []
