"""Lessons that agents of a graph learned from their escapes: strategies that helped, and repeated failures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from gatechart.values.framework import DIRECTORY_GRAPH, LESSONS_GRAPH
from gatechart.values.frozen import value

LEARN: Final = "gatechart.learn"
"""Event that reports an attempt to escape, or its result, to the agent that keeps a graph's lessons."""

KEEPERS: Final = frozenset({DIRECTORY_GRAPH, LESSONS_GRAPH})
"""Graphs whose agents keep data for all others. Runtimes read each of their commits, even one without effects."""

Tally: TypeAlias = tuple[int, int]
"""Number of successes, and number of failures."""


@value
class Lessons:
    """Counts of successes and failures, by name."""

    strategies: Mapping[str, Tally]  # by "signal strategy": attempts that led to progress, and attempts that did not
    tools: Mapping[str, Tally]  # by tool: calls that succeeded, and that failed, shortly before an attempt
    errors: Mapping[str, Tally]  # by "tool error": 0, and the calls that failed with this error
    places: Mapping[str, Tally]  # by state, and by "event --> state": led to progress, and occurred in the evidence
    capabilities: Mapping[str, Tally]  # by capability: as for tools; and by "capability error": as for errors


NO_LESSONS: Final = Lessons({}, {}, {}, {}, {})
