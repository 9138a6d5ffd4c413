"""Occasional draws among the best few candidates, so that other policies can be evaluated from recorded choices."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from heapq import nsmallest
from random import Random
from typing import Final

from gatechart.values.frozen import value

_LIKELY: Final = 0.5  # below this is a draw, unless most choices are drawn


@value
class Drawn:
    """A candidate that was drawn."""

    candidate: str
    probability: float


@value
class Exploring:
    """Choose the best candidate, and in some cases one of the best few, with known probabilities.

    Without exploration, every choice is the best one by the scores in use, and other scores cannot be evaluated.
    share: share of choices that are drawn. among: number of the best candidates to draw from, with equal probability.
    """

    share: float = 0.1
    among: int = 3

    def probabilities(self, scores: Mapping[str, float]) -> dict[str, float]:
        """Return the probability of each candidate, without candidates of probability 0.

        >>> Exploring(0.3).probabilities({"a": 0.9, "b": 0.5, "c": 0.4, "d": 0.1})
        {'a': 0.8, 'b': 0.1, 'c': 0.1}
        """
        best = nsmallest(max(self.among, 1), scores, key=lambda each: (-scores[each], each))
        each_one = self.share / len(best) if best else 0.0
        chances = {each: round(each_one + (1.0 - self.share if each == best[0] else 0.0), 12) for each in best}
        return {each: chance for each, chance in chances.items() if chance > 0}

    def draw(self, scores: Mapping[str, float], seed: str) -> Drawn:
        """Return a candidate and its probability; the same one for the same scores and seed.

        Raises ValueError if there are no candidates.
        """
        chances = self.probabilities(scores)
        if not chances:
            raise ValueError("there are no candidates; give at least one score")
        source = Random(int.from_bytes(sha256(seed.encode(errors="surrogatepass")).digest()[:8], "big"))
        candidate = source.choices(list(chances), list(chances.values()))[0]
        return Drawn(candidate, chances[candidate])


def was_drawn(probability: float) -> bool:
    """Return whether a draw made the choice, not the scores, judging by the probability of the choice."""
    return probability <= _LIKELY


BEST = Exploring(share=0.0, among=1)
"""Choose the best candidate; of equal ones, the first by name."""
