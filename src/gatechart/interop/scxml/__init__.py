"""SCXML documents as graphs."""

from gatechart.interop.scxml.reader import read

__all__ = ["read"]
