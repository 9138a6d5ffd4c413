"""Agents from one home to another: all of a database, stopped, compared by count and digest, as often as need be.

To an engine (`to_engine`, which needs the extra `gatechart[restate]`) or to another database (`to_database`).
"""

from gatechart.moving.report import Moved, Tell

__all__ = ["Moved", "Tell"]
