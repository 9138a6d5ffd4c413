"""Exploration: draws a share of choices from the best few, so that recorded choices allow evaluating other policies."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from heapq import nsmallest
from random import Random
from typing import Final

from gatechart.values.frozen import value

_LIKELY: Final = 0.5  # a choice with a lower probability is a draw, unless most choices are drawn


@value
class Drawn:
    """A drawn candidate."""

    candidate: str
    probability: float


@value
class Exploring:
    """Choose the best candidate, and in a share of the choices one of the best few, with known probabilities.

    Without exploration, every choice is the best one by the current scores, and other scores cannot be evaluated.
    share: share of the choices that are drawn. among: number of best candidates to draw from, with equal probability.
    """

    share: float = 0.1
    among: int = 3

    def probabilities(self, scores: Mapping[str, float]) -> dict[str, float]:
        """Return the probability of each candidate, without candidates whose probability is 0.

        >>> Exploring(0.3).probabilities({"a": 0.9, "b": 0.5, "c": 0.4, "d": 0.1})
        {'a': 0.8, 'b': 0.1, 'c': 0.1}
        """
        best = nsmallest(max(self.among, 1), scores, key=lambda candidate: (-scores[candidate], candidate))
        drawn = self.share / len(best) if best else 0.0
        chances = {
            candidate: round(drawn + (1.0 - self.share if candidate == best[0] else 0.0), 12) for candidate in best
        }
        return {candidate: chance for candidate, chance in chances.items() if chance > 0}

    def draw(self, scores: Mapping[str, float], seed: str) -> Drawn:
        """Draw a candidate, and return it with its probability. The same scores and seed give the same candidate.

        Raises ValueError if there are no candidates.
        """
        chances = self.probabilities(scores)
        if not chances:
            raise ValueError("there are no candidates; give at least one score")
        source = Random(int.from_bytes(sha256(seed.encode(errors="surrogatepass")).digest()[:8], "big"))
        candidate = source.choices(list(chances), list(chances.values()))[0]
        return Drawn(candidate, chances[candidate])


def was_drawn(probability: float) -> bool:
    """Return whether a choice of this probability was drawn, and not determined by the scores."""
    return probability <= _LIKELY


BEST = Exploring(share=0.0, among=1)
"""Choose the best candidate; of equal ones, the first by name."""
