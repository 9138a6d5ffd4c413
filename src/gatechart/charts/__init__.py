"""Charts as data: YAML and JSON in the shape that XState users know, read into graphs and written from them."""

from gatechart.chartfiles.cel.guard import Cel
from gatechart.chartfiles.model import Dialect
from gatechart.charts.dump import bindings_of, dump
from gatechart.charts.load import load, load_tool_policies
from gatechart.charts.schema import schema

__all__ = ["Cel", "Dialect", "bindings_of", "dump", "load", "load_tool_policies", "schema"]
