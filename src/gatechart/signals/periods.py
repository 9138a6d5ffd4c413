"""Repeats at the end of a text in which each character stands for a move or a call."""

from __future__ import annotations

from typing import Final

from gatechart.values.frozen import value

LONG: Final = 3
"""Length of a block that counts as repeated when it is seen twice; a shorter one must be seen three times."""


@value
class Period:
    """A block at the end of a text that repeats what stands before it."""

    length: int
    times: int  # that it is seen, at least


def period_at_end(text: str, length: int | None = None, times: int | None = None) -> Period | None:
    """Return the shortest block with whose repeats a text ends; None if it ends with none.

    length: of the block; None for any. times: that it must be seen; None for the usual number.

    >>> period_at_end("xabcabc"), period_at_end("xabab"), period_at_end("xababab")
    (Period(length=3, times=2), None, Period(length=2, times=3))
    """
    last = len(text) - 1
    at = text.rfind(text[last], 0, last) if last > 0 else -1
    while at >= 0:
        candidate = last - at
        least = times or (2 if candidate >= LONG else 3)
        repeated = candidate * least
        if repeated > last + 1:
            return None
        if length in (None, candidate) and text[-repeated:-candidate] == text[candidate - repeated :]:
            return Period(candidate, least)
        at = text.rfind(text[last], 0, at)
    return None


def recent_period(text: str, length: int | None, times: int | None, margin: int) -> Period | None:
    """Return the block with whose repeats a text ended at most so many characters ago."""
    for ago in range(min(margin, len(text)) + 1):
        if found := period_at_end(text[: len(text) - ago], length, times):
            return found
    return None
