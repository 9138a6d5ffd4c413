"""The graphs of the framework that every home has, beside that of its schedules."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gatechart.alerts.alarm_graph import alarm_graph
from gatechart.graph.graph import AnyGraph
from gatechart.hosting.directory_graph import directory_graph
from gatechart.hosting.lessons import lessons_graph
from gatechart.hosting.registry import Registry
from gatechart.values.framework import ALARM_GRAPH, ALERTS_GRAPH, DIRECTORY_GRAPH, LESSONS_GRAPH, WATCHDOG_GRAPH
from gatechart.watchdog.graph import watchdog_graph
from gatechart.watchdog.home import Watchdog


def register_own_graphs(registry: Registry, alerts: Callable[[], AnyGraph], watchdog: Watchdog | None = None) -> None:
    """Register them. alerts: makes the graph of alerts."""
    registry.register_own(DIRECTORY_GRAPH, directory_graph)
    registry.register_own(ALARM_GRAPH, alarm_graph)
    registry.register_own(LESSONS_GRAPH, lessons_graph)
    registry.register_own(ALERTS_GRAPH, alerts)
    registry.register_own(WATCHDOG_GRAPH, partial(watchdog_graph, watchdog or Watchdog()))
