"""Machines of the `transitions` package as graphs."""

from gatechart.contrib.errors import AutoTransitionsWarning
from gatechart.contrib.transitions.bridge import graph_from
from gatechart.contrib.transitions.callbacks import EventData

__all__ = ["AutoTransitionsWarning", "EventData", "graph_from"]
