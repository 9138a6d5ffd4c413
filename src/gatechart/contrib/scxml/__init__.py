"""SCXML documents as graphs."""

from gatechart.contrib.scxml.reader import read

__all__ = ["read"]
