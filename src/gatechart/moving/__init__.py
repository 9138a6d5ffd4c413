"""All agents of a database to an engine: stopped, compared by count and digest, as often as need be.

`to_engine` needs the extra `gatechart[restate]`.
"""

from gatechart.moving.report import Moved, Tell

__all__ = ["Moved", "Tell"]
