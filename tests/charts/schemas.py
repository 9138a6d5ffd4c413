"""Read a chart file as plain data."""

from __future__ import annotations

from gatechart.chartfiles.faults import Spot
from gatechart.chartfiles.source import read


def plain(text):
    node, _ = read(text)
    return Spot(node).plain()
