"""Choose an outline or a map for the given graphs, and the look of the drawing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from gatechart.drawing.graph_map import map_of
from gatechart.drawing.outline import outline
from gatechart.drawing.palette import LIGHT, Theme, theme_of
from gatechart.drawing.shapes import Map, Outline
from gatechart.errors.outside import DrawingError
from gatechart.graph.graph import AnyGraph, StateTransitionGraph
from gatechart.values.agents import Snapshot
from gatechart.values.queries import HistoryEntry


@dataclass(frozen=True, slots=True)
class DrawingStyle:
    """The look of a drawing: its theme, and whether it has a legend."""

    theme: Theme = LIGHT
    has_legend: bool = False  # whether the drawing explains its signs


def look_of(theme: str, *, legend: bool) -> DrawingStyle:
    """Return the look with a named theme. Raises DrawingError if there is no such theme."""
    return DrawingStyle(theme_of(theme), legend)


def sketch(
    graph: AnyGraph | Sequence[AnyGraph],
    *,
    highlight: Snapshot | None = None,
    trail: Sequence[HistoryEntry] = (),
    payloads: bool = False,
    loads: Mapping[str, str] = MappingProxyType({}),
) -> Outline | Map:
    """Return the outline of a graph, or the map of several.

    Raises the errors of `outline`, and DrawingError for no graph, or for a map with `highlight` or `trail`.
    """
    if isinstance(graph, StateTransitionGraph):
        return outline(graph, highlight=highlight, trail=trail, payloads=payloads)
    if highlight is not None or trail:
        raise DrawingError("a map of graphs shows no agent; draw the agent's graph alone")
    if not graph:
        raise DrawingError("no graph to draw; give one, or several for their map")
    return map_of(graph, loads)
