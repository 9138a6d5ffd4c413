"""The text of a trail as it grows: lines are appended unread, and the oldest are cut off once it is too long."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from gatechart.graph import Signals
from gatechart.values import Trail

_PARTS: Final = 4  # of the lines that are kept, one part at a time is cut off


def grown(trail: Trail, lines: Sequence[str], terms: Signals) -> tuple[str, int]:
    r"""Return the text of a trail with lines at its end, and how many were appended since it was last shortened.

    It is shortened once it is longer than the signals allow, or when a quarter as many lines were appended as are kept:
    a store writes the whole text with each turn, so what nobody looks at any more costs.

    >>> from gatechart.values import Trail
    >>> grown(Trail("mA\n"), ["mB", "mC"], Signals((), states=2, most_bytes=8))
    ('mB\nmC\n', 0)
    """
    text, appended = trail.text, trail.appended + len(lines)
    for line in lines:
        text = f"{text}{line}\n"
    # Text in other scripts takes up to four bytes a character. The first test alone is enough nearly always.
    is_short = len(text) * (1 if text.isascii() else 4) <= terms.most_bytes or len(text.encode()) <= terms.most_bytes
    if is_short and appended * _PARTS <= terms.states + terms.calls:
        return text, appended
    return _cut(text, terms), 0


def _cut(text: str, terms: Signals) -> str:
    """Return the newest lines: as many moves and calls as are kept, in at most three quarters of the bytes allowed.

    A quarter is left, so that the next turns do not cut again.
    """
    left = {"m": terms.states, "c": terms.calls}
    kept: list[str] = []
    for line in reversed(text.split("\n")[:-1]):  # what was said may have other ends of lines in it
        kind = line[0]
        left[kind] = rest = left.get(kind, terms.states) - 1
        if rest >= 0:
            kept.append(line)
    most = terms.most_bytes * 3 // 4
    if sum(map(len, kept), len(kept)) * 4 > most:  # characters of four bytes at most
        sizes = accumulate(len(line.encode()) + 1 for line in kept)
        kept = kept[: sum(size <= most for size in sizes)]
    kept.reverse()
    return "\n".join((*kept, ""))
