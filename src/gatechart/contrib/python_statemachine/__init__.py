"""Classes of the `python-statemachine` package as graphs."""

from gatechart.contrib.python_statemachine.bridge import graph_from

__all__ = ["graph_from"]
