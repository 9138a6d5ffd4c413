"""Find repeats at the end of a text where each character represents a move or a call."""

from __future__ import annotations

from typing import Final

from gatechart.values.frozen import value

LONG: Final = 3
"""Length of a block that must occur only twice by default; a shorter one must occur three times."""


@value
class Period:
    """A repeated block at the end of a text."""

    length: int
    times: int  # minimum number of its occurrences


def period_at_end(text: str, length: int | None = None, times: int | None = None) -> Period | None:
    """Return the shortest repeated block at the end of a text; None if there is none.

    length: length of the block; None for any. times: required occurrences; None for the default.

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
    """Return the shortest block whose repeats end at most `margin` characters before the end of a text."""
    for ago in range(min(margin, len(text)) + 1):
        if period := period_at_end(text[: len(text) - ago], length, times):
            return period
    return None
