"""The migration of all agents of a database to an engine: stop, compare by count and digest, repeat as needed."""

from gatechart.restate.migration.report import MoveReport, Tell

__all__ = ["MoveReport", "Tell"]
