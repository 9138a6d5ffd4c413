"""The migration of all agents of a database to an engine: stop, compare by count and digest, repeat as needed."""

from gatechart.restate.migration.report import Moved, Tell

__all__ = ["Moved", "Tell"]
