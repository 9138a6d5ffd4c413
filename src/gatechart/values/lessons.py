"""What agents of a graph have learned from their escapes: which strategies led on, and what keeps failing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gatechart.values.frozen import value


@value
class Lessons:
    """Counts of what went well and what did not, by name."""

    strategies: Mapping[str, tuple[int, int]]  # by "signal strategy": (to progress, to nothing)
    tools: Mapping[str, tuple[int, int]]  # by "tool error": (calls that went well, that failed so)
    places: Mapping[str, tuple[int, int]]  # by state or transition: (led on, was in what was found)


NO_LESSONS: Final = Lessons({}, {}, {})
