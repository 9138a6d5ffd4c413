"""Performance: a number from 0 to 1 for each candidate, which successes raise and failures lower.

It is displayed to operators, and it is a scorer. It measures a candidate's work in general, not its fit for a text: as
the only scorer it finds the right one of ten candidates no more often than a guess. See `gatechart.selection.learned`
for that.
"""

from __future__ import annotations

from typing import Final

from gatechart.selection.rewards import ANY_KIND
from gatechart.values.frozen import replaced, value

AT_FIRST: Final = 1.0
SUCCESS: Final = 0.5
"""Minimum reward of work that counts as a success."""

MOST_KINDS: Final = 50
"""Maximum number of kinds of problems per candidate; further kinds count only in its overall performance."""


def after(performance: float, reward: float) -> float:
    """Return the performance after one more unit of work.

    >>> after(0.5, 1.0), after(0.5, 0.0), after(1.0, 1.0)
    (0.535, 0.465, 1.0)
    """
    changed = performance * 1.05 + 0.01 if reward >= SUCCESS else performance * 0.95 - 0.01
    return min(max(round(changed, 9), 0.0), 1.0)


@value
class Performance:
    """The performance of a candidate, overall and for each kind of problem."""

    overall: float = AT_FIRST
    kinds: tuple[tuple[str, float], ...] = ()

    def of(self, kind: str = ANY_KIND) -> float:
        """Return the performance for a kind of problem; the overall one if the candidate had no such work."""
        return dict(self.kinds).get(kind, self.overall)

    def after(self, reward: float, kind: str = ANY_KIND) -> Performance:
        """Return the performance after one more unit of work.

        >>> Performance().after(0.0, "refunds").of("refunds")
        0.94
        """
        kinds = dict(self.kinds)
        if kind != ANY_KIND and (kind in kinds or len(kinds) < MOST_KINDS):
            kinds[kind] = after(kinds.get(kind, AT_FIRST), reward)
        return replaced(self, overall=after(self.overall, reward), kinds=tuple(sorted(kinds.items())))
