"""What is tried earlier because of what was learned. Pure.

The order that somebody wrote is by cost, so it changes only where the evidence is clear: something is tried before what
stands in front of it if the worst that its record allows is better than the best that the record of the other allows.
Both bounds are those of Wilson's interval for a rate, which suits few attempts: without any it reaches from 0 to 1, so
nothing moves.
Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22, 1927.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import sqrt
from types import MappingProxyType
from typing import Final, TypeVar

from gatechart.values import Lessons, Tally

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
    """Return what is to be tried in order: as written, but for what is clearly better than what stands before it.

    may_move: whether something may be tried earlier than it was written.

    >>> record = {"nudge": (0, 12), "reroute": (9, 1), "restart": (1, 0)}
    >>> clearly_better_first(["nudge", "reroute", "restart"], record.__getitem__)
    ['reroute', 'nudge', 'restart']
    """
    found: list[T] = []
    for each in written:
        place = len(found)
        while place and may_move(each) and wilson(tally(each))[0] > wilson(tally(found[place - 1]))[1]:
            place -= 1
        found.insert(place, each)
    return found


def fails_least_first(
    tools: Sequence[str], lessons: Lessons, error: str = "", able: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> list[str]:
    """Return tools by how seldom they fail with an error, then by how seldom they fail at all.

    A tool that nobody called is expected to fail as the tools do that can do the same; without any, every other time
    (Laplace's rule of succession). Those that are equal stay in order. error: the type's name; empty for any. able: the
    capabilities of tools.
    """

    def failing(tool: str) -> tuple[float, float]:
        own = lessons.tools.get(tool)
        of_tools, of_errors = (lessons.capabilities,) * 2 if own is None else (lessons.tools, lessons.errors)
        names = (tool,) if own is not None else able.get(tool, ())
        well, badly = _summed(of_tools.get(each, NONE) for each in names)
        so = _summed(of_errors.get(f"{each} {error}", NONE) for each in names)[1] if error else badly
        return (so + 1) / (well + badly + 2), (badly + 1) / (well + badly + 2)

    return sorted(tools, key=failing)


def _summed(tallies: Iterable[Tally]) -> Tally:
    counts = [*tallies]
    return sum(well for well, _ in counts), sum(badly for _, badly in counts)
