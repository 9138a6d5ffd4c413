"""The text of a trail as it grows: lines are appended unread, and the oldest are cut off once it is too long."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import Final

from gatechart.graph.signals import Signals
from gatechart.values.frozen import value
from gatechart.values.trail import Trail

_PARTS: Final = 4  # of the lines that are kept, one part at a time is cut off

_LARGEST: Final = 4  # bytes of a character, at most


@value
class Bounds:
    """How long the text of a trail may get."""

    states: int  # moves that are kept
    calls: int  # calls that are kept
    most_bytes: int
    most_appended: int  # lines after which it is cut
    surely_short: int  # characters up to which it has no more bytes than it may have


def bounds_of(terms: Signals) -> Bounds:
    """Return the bounds of the text of trails that are kept on these terms."""
    most_appended = (terms.states + terms.calls) // _PARTS
    return Bounds(terms.states, terms.calls, terms.most_bytes, most_appended, terms.most_bytes // _LARGEST)


def grown(trail: Trail, added: str, count: int, bounds: Bounds) -> tuple[str, int]:
    r"""Return the text of a trail with lines at its end, and how many were appended since it was last shortened.

    added: the lines, each with its end. count: of the lines.

    It is shortened once it is longer than the signals allow, or when a quarter as many lines were appended as are kept:
    a store writes the whole text with each turn, so what nobody looks at any more costs.

    >>> from gatechart.values.trail import Trail
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
    """Return the newest lines: as many moves and calls as are kept, in at most three quarters of the bytes allowed.

    A quarter is left, so that the next turns do not cut again.
    """
    most, count = bounds.most_bytes * 3 // 4, text.count("\n")
    if text[0] == "m" and text.count("\nm") == count - 1:  # moves alone, as nearly always, and far quicker
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
    return text.split("\n")[:-1]  # and not splitlines: what was said may have other ends of lines in it


def _joined(lines: Iterable[str]) -> str:
    return "\n".join((*lines, ""))
