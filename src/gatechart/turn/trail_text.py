"""The text of a trail: lines are appended without parsing it, and the oldest are cut once it is too long."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import Final

from gatechart.graph.signals import Signals
from gatechart.values.frozen import value
from gatechart.values.trail import Trail

_PARTS: Final = 4  # a cut removes one of this many parts of the lines

_LARGEST: Final = 4  # maximum bytes of a character


@value
class TrailBounds:
    """Limits of a trail's text."""

    states: int  # moves that are kept
    calls: int  # calls that are kept
    most_bytes: int
    most_appended: int  # lines appended before the text is cut
    surely_short: int  # characters that cannot exceed `most_bytes`, whatever they are


def bounds_of(terms: Signals) -> TrailBounds:
    """Return the bounds of a trail's text under these terms."""
    most_appended = (terms.states + terms.calls) // _PARTS
    return TrailBounds(terms.states, terms.calls, terms.most_bytes, most_appended, terms.most_bytes // _LARGEST)


def grown(trail: Trail, added: str, count: int, bounds: TrailBounds) -> tuple[str, int]:
    r"""Append lines to the text of a trail. Return the text, and the number of lines appended since its last cut.

    added: the lines, each with its end. count: number of lines.

    The text is cut once it is longer than the signals allow, or once the appended lines exceed a quarter of the lines
    kept: a store writes the whole text with each turn, so lines that no detector reads any more cost time.

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


def _cut(text: str, bounds: TrailBounds) -> str:
    """Return the newest lines: the moves and calls to keep, in at most three quarters of the bytes allowed.

    A quarter stays free, so that the next turns do not cut again.
    """
    most, count = bounds.most_bytes * 3 // 4, text.count("\n")
    if text[0] == "m" and text.count("\nm") == count - 1:  # only moves: the usual case, and far quicker
        text = text.split("\n", count - bounds.states)[-1] if count > bounds.states else text
    else:
        text = _newest_of_each_kind(text, bounds)
    if len(text) * _LARGEST <= most:
        return text
    kept = _lines(text)
    sizes = accumulate(len(line.encode()) + 1 for line in reversed(kept))
    return _joined(kept[len(kept) - sum(size <= most for size in sizes) :])


def _newest_of_each_kind(text: str, bounds: TrailBounds) -> str:
    remaining = {"c": bounds.calls}
    kept = []
    for line in reversed(_lines(text)):
        remaining[line[0]] = count_left = remaining.get(line[0], bounds.states) - 1
        if count_left >= 0:
            kept.append(line)
    return _joined(reversed(kept))


def _lines(text: str) -> list[str]:
    return text.split("\n")[:-1]  # not splitlines, because messages may contain other line separators


def _joined(lines: Iterable[str]) -> str:
    return "\n".join((*lines, ""))
