"""The text of a trail as it grows: lines are appended unread, and the oldest are cut off once it is too long."""

from __future__ import annotations

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
    # A character takes up to four bytes. The first test alone is enough nearly always.
    is_short = len(text) * 4 <= terms.most_bytes or len(text.encode()) <= terms.most_bytes
    if is_short and appended * _PARTS <= terms.states + terms.calls:
        return text, appended
    return _cut(text, terms), 0


def _cut(text: str, terms: Signals) -> str:
    """Return the newest lines: as many moves and calls as are kept, in at most three quarters of the bytes allowed.

    A quarter is left, so that the next turns do not cut again.
    """
    kept = text.split("\n")[:-1]  # what was said may have other ends of lines in it
    if text.count("\nm") == len(kept) - 1 and text[0] == "m":  # moves alone, as nearly always, and far quicker
        kept = kept[-terms.states :]
    else:
        kept = _newest_of_each_kind(kept, terms)
    most = terms.most_bytes * 3 // 4
    if sum(map(len, kept), len(kept)) * 4 > most:  # characters of four bytes at most
        sizes = accumulate(len(line.encode()) + 1 for line in reversed(kept))
        kept = kept[len(kept) - sum(size <= most for size in sizes) :]
    return "\n".join((*kept, ""))


def _newest_of_each_kind(lines: list[str], terms: Signals) -> list[str]:
    left = {"c": terms.calls}
    kept = []
    for line in reversed(lines):
        left[line[0]] = rest = left.get(line[0], terms.states) - 1
        if rest >= 0:
            kept.append(line)
    kept.reverse()
    return kept
