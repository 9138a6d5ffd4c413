"""A graph from a chart that is data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gatechart.charts.bindings import Bind, Bindings
from gatechart.charts.build import build
from gatechart.charts.model import Dialect
from gatechart.charts.parse import read_chart
from gatechart.charts.source import Source, read
from gatechart.graph import AnyGraph, EntryPoint, Migration
from gatechart.values import Name


def load(
    source: Source,
    *,
    bind: Bind = None,
    dialect: str | None = None,
    entry_points: Sequence[EntryPoint | Name] | None = None,
    migrations: Iterable[Migration] | Migration = (),
) -> AnyGraph:
    r"""Return the graph of a chart in YAML or JSON.

    source: a path; or the chart itself, as bytes, or as a text with a line break or a brace at its beginning.
    bind: what the chart's names stand for: a mapping, a module, an object with functions, or a list of such, the first
    that knows a name being asked. The chart itself can neither import nor run code.
    dialect: "xstate" or "scxml", whatever the file says. entry_points: in place of the file's.
    migrations: how agents of earlier versions come to this one.

    Raises InvalidChartError with every fault, each with line, column and path of keys.

    >>> lamp = load("id: lamp\nentry_points: [OFF]\nstates:\n  OFF: {on: {PRESSED: ON}}\n  ON:\n")
    >>> lamp.transitions[0].label
    'OFF --PRESSED--> ON'
    """
    top, faults = read(source)
    chart = read_chart(top, faults, None if dialect is None else Dialect(dialect))
    return build(chart, Bindings(bind, faults), faults, entry_points, migrations)
