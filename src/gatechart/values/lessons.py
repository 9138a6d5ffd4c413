"""What agents of a graph have learned from their escapes: which strategies led on, and what keeps failing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from gatechart.values.framework import DIRECTORY_GRAPH, LESSONS_GRAPH
from gatechart.values.frozen import value

LEARN: Final = "gatechart.learn"
"""Event that reports an attempt to escape, or its result, to the agent that keeps a graph's lessons."""

KEEPERS: Final = frozenset({DIRECTORY_GRAPH, LESSONS_GRAPH})
"""Graphs of agents that keep something for all others, of which the hosts are told with each commit."""

Tally: TypeAlias = tuple[int, int]
"""How often something went well, and how often it did not."""


@value
class Lessons:
    """Counts of what went well and what did not, by name."""

    strategies: Mapping[str, Tally]  # by "signal strategy": attempts that came to progress, and to nothing
    tools: Mapping[str, Tally]  # by tool: calls that went well, and that failed, lately before an attempt
    errors: Mapping[str, Tally]  # by "tool error": 0, and the calls that failed so
    places: Mapping[str, Tally]  # by state, and by "event --> state": led on, and was in what was found
    capabilities: Mapping[str, Tally]  # by capability: as by tool; and by "capability error": as by "tool error"


NO_LESSONS: Final = Lessons({}, {}, {}, {}, {})
