"""Reorder options by their success rates. Pure.

The written order is by cost, so it changes only with clear evidence: an option moves before its predecessor if the
lower bound of its success rate exceeds the upper bound of the predecessor's. The bounds are the ends of Wilson's score
interval, which suits few attempts: without attempts it spans 0 to 1, so no option moves.
Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22, 1927.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import sqrt
from types import MappingProxyType
from typing import Final, TypeVar

from gatechart.values.lessons import Lessons, Tally

T = TypeVar("T")

Z: Final = 1.96
"""Standard deviations of the interval: a true rate is within it 95 times out of 100."""

NONE: Final[Tally] = (0, 0)


def wilson(tally: Tally, z: float = Z) -> tuple[float, float]:
    """Return the bounds between which the true rate of success lies.

    >>> [tuple(round(bound, 2) for bound in wilson(tally)) for tally in ((0, 0), (1, 0), (8, 2), (0, 10))]
    [(0.0, 1.0), (0.21, 1.0), (0.49, 0.94), (0.0, 0.28)]
    """
    well, badly = tally
    total = well + badly
    if not total:
        return 0.0, 1.0
    rate, square = well / total, z * z
    middle = rate + square / (2 * total)
    reach = z * sqrt(rate * (1 - rate) / total + square / (4 * total * total))
    scale = 1 + square / total
    return max((middle - reach) / scale, 0.0), min((middle + reach) / scale, 1.0)


def clearly_better_first(
    written: Sequence[T], tally: Callable[[T], Tally], may_move: Callable[[T], bool] = lambda _: True
) -> list[T]:
    """Return the options in the written order, except that a clearly better one moves before its predecessors.

    may_move: whether an option may move forward.

    >>> record = {"nudge": (0, 12), "reroute": (9, 1), "restart": (1, 0)}
    >>> clearly_better_first(["nudge", "reroute", "restart"], record.__getitem__)
    ['reroute', 'nudge', 'restart']
    """
    ranked: list[T] = []
    for option in written:
        index = len(ranked)
        while index and may_move(option) and wilson(tally(option))[0] > wilson(tally(ranked[index - 1]))[1]:
            index -= 1
        ranked.insert(index, option)
    return ranked


def fails_least_first(
    tools: Sequence[str], lessons: Lessons, error: str = "", able: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> list[str]:
    """Sort tools by their failure rate with an error, then by their total failure rate, the lowest first.

    A tool without calls gets the rate of the tools with the same capabilities; without any, one half (Laplace's rule of
    succession). Equal tools keep their order. error: the type's name; empty for any. able: the capabilities of tools.
    """

    def failure_rates(tool: str) -> tuple[float, float]:
        own = lessons.tools.get(tool)
        of_tools, of_errors = (lessons.capabilities,) * 2 if own is None else (lessons.tools, lessons.errors)
        names = (tool,) if own is not None else able.get(tool, ())
        well, badly = _summed(of_tools.get(name, NONE) for name in names)
        with_error = _summed(of_errors.get(f"{name} {error}", NONE) for name in names)[1] if error else badly
        return (with_error + 1) / (well + badly + 2), (badly + 1) / (well + badly + 2)

    return sorted(tools, key=failure_rates)


def _summed(tallies: Iterable[Tally]) -> Tally:
    counts = [*tallies]
    return sum(well for well, _ in counts), sum(badly for _, badly in counts)
