"""Short ways to load, to be refused, and to run."""

from __future__ import annotations

from datetime import UTC, datetime
from textwrap import dedent

import pytest

from gatechart.charts import load
from gatechart.context import read_context
from gatechart.errors import InvalidChartError
from gatechart.turn.turns import begin, take_turn
from gatechart.values.agents import Event, Outcome

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def chart(text, **options):
    return load(dedent(text), **options)


def lamp(states, **options):
    """A chart of these states, begun in the first place that it names."""
    return load(f"id: lamp\nentry_points: [A]\nstates:\n{states}", **options)


def faults(text, **options):
    """Each fault as text, without the file's name."""
    with pytest.raises(InvalidChartError) as caught:
        load(dedent(text), **options)
    return [str(fault) for fault in caught.value.faults]


class Life:
    """An agent without a runtime."""

    def __init__(self, graph, at, payload=None):
        self.graph = graph
        entry = graph.entry_point(at)
        self.snapshot = _finish(begin(graph, entry, payload, "agent", Event("started", {}, NOW))).snapshot

    def send(self, name, **payload):
        """The active leaves after the event; None where it was refused."""
        result = _finish(take_turn(self.graph, self.snapshot, Event(name, payload, NOW)))
        if isinstance(result, Outcome):
            self.outcome = result
            return None
        self.snapshot = result.snapshot
        return self.snapshot.configuration

    @property
    def context(self):
        return read_context(self.graph.context, self.snapshot.context_text)


def _finish(turn):
    try:
        turn.send(None)
    except StopIteration as ended:
        return ended.value
    raise AssertionError("the turn waits for something")
