"""The text of a trail as it grows: lines are appended unread, and the oldest are cut off once it is too long."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import Final

from gatechart.graph import Signals
from gatechart.values import Trail

_PARTS: Final = 4  # of the lines that are kept, one part at a time is cut off


def grown(trail: Trail, added: str, count: int, terms: Signals) -> tuple[str, int]:
    r"""Return the text of a trail with lines at its end, and how many were appended since it was last shortened.

    added: the lines, each with its end. count: of the lines.

    It is shortened once it is longer than the signals allow, or when a quarter as many lines were appended as are kept:
    a store writes the whole text with each turn, so what nobody looks at any more costs.

    >>> from gatechart.values import Trail
    >>> grown(Trail("mA\n"), "mB\nmC\n", 2, Signals((), states=2, most_bytes=8))
    ('mB\nmC\n', 0)
    """
    text, appended = trail.text + added, trail.appended + count
    if appended * _PARTS > terms.states + terms.calls:
        return _cut(text, terms), 0
    # A character takes up to four bytes. The first test alone is enough nearly always.
    if len(text) * 4 > terms.most_bytes and len(text.encode()) > terms.most_bytes:
        return _cut(text, terms), 0
    return text, appended


def _cut(text: str, terms: Signals) -> str:
    """Return the newest lines: as many moves and calls as are kept, in at most three quarters of the bytes allowed.

    A quarter is left, so that the next turns do not cut again.
    """
    most, count = terms.most_bytes * 3 // 4, text.count("\n")
    if text[0] == "m" and text.count("\nm") == count - 1:  # moves alone, as nearly always, and far quicker
        text = text.split("\n", count - terms.states)[-1] if count > terms.states else text
    else:
        text = _newest_of_each_kind(text, terms)
    if len(text) * 4 <= most:  # characters of four bytes at most
        return text
    kept = _lines(text)
    sizes = accumulate(len(line.encode()) + 1 for line in reversed(kept))
    return _joined(kept[len(kept) - sum(size <= most for size in sizes) :])


def _newest_of_each_kind(text: str, terms: Signals) -> str:
    left = {"c": terms.calls}
    kept = []
    for line in reversed(_lines(text)):
        left[line[0]] = rest = left.get(line[0], terms.states) - 1
        if rest >= 0:
            kept.append(line)
    return _joined(reversed(kept))


def _lines(text: str) -> list[str]:
    return text.split("\n")[:-1]  # and not splitlines: what was said may have other ends of lines in it


def _joined(lines: Iterable[str]) -> str:
    return "\n".join((*lines, ""))
