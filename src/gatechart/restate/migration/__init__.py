"""Migrate all agents of a database to an engine: stop them, compare by count and digest, repeat as often as need be."""

from gatechart.restate.migration.report import Moved, Tell

__all__ = ["Moved", "Tell"]
