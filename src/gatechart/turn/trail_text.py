"""Grow the text of a trail: append lines without parsing, and cut off the oldest lines once the text is too long."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import Final

from gatechart.graph import Signals
from gatechart.values import Trail
from gatechart.values.frozen import value

_PARTS: Final = 4  # the kept lines are cut off one such part at a time

_LARGEST: Final = 4  # bytes of a character, at most


@value
class Bounds:
    """The limits on the length of a trail's text."""

    states: int  # moves that are kept
    calls: int  # calls that are kept
    most_bytes: int
    most_appended: int  # lines after which it is cut
    surely_short: int  # number of characters that never exceeds `most_bytes`


def bounds_of(terms: Signals) -> Bounds:
    """Return the bounds for the text of trails, as the signals declare."""
    most_appended = (terms.states + terms.calls) // _PARTS
    return Bounds(terms.states, terms.calls, terms.most_bytes, most_appended, terms.most_bytes // _LARGEST)


def grown(trail: Trail, added: str, count: int, bounds: Bounds) -> tuple[str, int]:
    r"""Append lines to the text of a trail. Return the text, and the number of lines appended since the last cut.

    added: the lines, each with its line end. count: the number of lines.

    The text is cut once it is longer than the signals allow, or once the appended lines number a quarter of the kept
    ones: a store writes the whole text with each turn, so unread lines cost time.

    >>> from gatechart.values import Trail
    >>> grown(Trail("mA\n"), "mB\nmC\n", 2, bounds_of(Signals((), states=2, most_bytes=8)))
    ('mB\nmC\n', 0)
    """
    text, appended = trail.text + added, trail.appended + count
    if appended > bounds.most_appended:
        return _cut(text, bounds), 0
    if len(text) > bounds.surely_short and len(text.encode()) > bounds.most_bytes:
        return _cut(text, bounds), 0
    return text, appended


def _cut(text: str, bounds: Bounds) -> str:
    """Return the newest moves and calls, up to their limits and three quarters of the allowed bytes.

    A quarter is left free, so that the next turns do not cut again.
    """
    most, count = bounds.most_bytes * 3 // 4, text.count("\n")
    if text[0] == "m" and text.count("\nm") == count - 1:  # only moves: the common case, and far faster
        text = text.split("\n", count - bounds.states)[-1] if count > bounds.states else text
    else:
        text = _newest_of_each_kind(text, bounds)
    if len(text) * _LARGEST <= most:
        return text
    kept = _lines(text)
    sizes = accumulate(len(line.encode()) + 1 for line in reversed(kept))
    return _joined(kept[len(kept) - sum(size <= most for size in sizes) :])


def _newest_of_each_kind(text: str, bounds: Bounds) -> str:
    left = {"c": bounds.calls}
    kept = []
    for line in reversed(_lines(text)):
        left[line[0]] = rest = left.get(line[0], bounds.states) - 1
        if rest >= 0:
            kept.append(line)
    return _joined(reversed(kept))


def _lines(text: str) -> list[str]:
    return text.split("\n")[:-1]  # not splitlines, because quoted texts may contain other line ends


def _joined(lines: Iterable[str]) -> str:
    return "\n".join((*lines, ""))
