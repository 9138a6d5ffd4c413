"""Charts as data: YAML and JSON in the shape that XState users know, read into graphs and written from them."""

from gatechart.charts.dumping import bindings_of, dump
from gatechart.charts.expressions import Cel
from gatechart.charts.forms import Dialect
from gatechart.charts.loading import load
from gatechart.charts.schema import schema

__all__ = ["Cel", "Dialect", "bindings_of", "dump", "load", "schema"]
