"""Machines of the `transitions` package as graphs."""

from gatechart.interop.errors import AutoTransitionsWarning
from gatechart.interop.transitions.bridge import graph_from
from gatechart.interop.transitions.callbacks import EventData

__all__ = ["AutoTransitionsWarning", "EventData", "graph_from"]
