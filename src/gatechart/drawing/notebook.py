"""Draw graphs and agents in a notebook: `_repr_svg_` of `StateTransitionGraph` and of `Agent`."""

from __future__ import annotations

import logging

from gatechart.drawing.render import to_svg
from gatechart.errors.outside import DrawingError
from gatechart.graph.graph import AnyGraph
from gatechart.values.agents import Snapshot

logger = logging.getLogger(__name__)


def shown(graph: AnyGraph, *, highlight: Snapshot | None = None) -> str | None:
    """Return the SVG of a graph for a notebook; None if the graph cannot be drawn, so that the notebook shows text."""
    try:
        return to_svg(graph, highlight=highlight)
    except DrawingError as error:  # if raised, the notebook would print a traceback for each graph that it shows
        facts = {"graph": graph.name, "problem": str(error)}
        logger.warning("the graph %(graph)s is shown as text: %(problem)s", facts, extra=facts)
        return None
