"""Promises of text scores: the expected reward of each candidate before any learning."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

NO_GROUPS: Final[Mapping[str, str]] = MappingProxyType({})

BELIEVED: Final = 0.85
"""Factor between a text score's share and its promise. A higher factor needs more outcomes to depart from it."""


def promised(text_scores: Mapping[str, float], groups: Mapping[str, str] = NO_GROUPS) -> dict[str, float]:
    """Return the reward that each text score promises: 0.85 of its group's share of the best scores, squared.

    Shares do not depend on the range of a scorer's scores; the square favours the best. Within a group, scores keep
    their proportions.

    >>> promised({"orders.A": 0.4, "orders.B": 0.2, "refunds.C": 0.4}, {"orders.A": "orders", "orders.B": "orders"})
    {'orders.A': 0.425, 'orders.B': 0.2125, 'refunds.C': 0.425}
    """
    learners = [groups.get(candidate, candidate) for candidate in text_scores]
    best: dict[str, float] = {}
    for learner, score in zip(learners, text_scores.values(), strict=True):
        best[learner] = max(score, best.get(learner, 0.0))
    highest = max(best.values(), default=0.0) or 1.0
    squares = {learner: (score / highest) * (score / highest) for learner, score in best.items()}
    whole = sum(squares.values()) or 1.0
    return {
        candidate: BELIEVED * max(score, 0.0) / best[learner] * squares[learner] / whole if best[learner] else 0.0
        for (candidate, score), learner in zip(text_scores.items(), learners, strict=True)
    }
