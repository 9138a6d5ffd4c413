"""What the weights of a detector come from: a logistic regression, and measures of how well one predicts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import exp, inf
from typing import TypeAlias

Row: TypeAlias = Sequence[float]


def weights_of(rows: Sequence[Row], labels: Sequence[bool], *, held_small: float = 3.0) -> list[float]:
    """The weights of a logistic regression, by Newton's method, the constant first.

    held_small: by how much the squares of the weights, for numbers in units of their spread, count against them.
    """
    columns = list(zip(*rows, strict=True))
    spread = [_spread(each) for each in columns]
    points = [[1.0, *(number / unit for number, unit in zip(row, spread, strict=True))] for row in rows]
    size = len(spread) + 1
    weights = [0.0] * size
    for _ in range(12):
        chances = [_chance(weights, point) for point in points]
        misses = [label - chance for label, chance in zip(labels, chances, strict=True)]
        slope = [sum(miss * point[i] for miss, point in zip(misses, points, strict=True)) for i in range(size)]
        curve = [[sum(c * (1 - c) * p[i] * p[j] for c, p in zip(chances, points, strict=True)) for j in range(size)]
                 for i in range(size)]  # fmt: skip
        for i in range(1, size):
            slope[i] -= held_small * weights[i]
            curve[i][i] += held_small
        weights = [weight + step for weight, step in zip(weights, _solved(curve, slope), strict=True)]
    return [weights[0], *(weight / unit for weight, unit in zip(weights[1:], spread, strict=True))]


def auc(scores: Sequence[float], labels: Sequence[bool]) -> float:
    """The chance that a positive scores higher than a negative."""
    positive = [score for score, label in zip(scores, labels, strict=True) if label]
    negative = [score for score, label in zip(scores, labels, strict=True) if not label]
    won = sum((high > low) + (high == low) / 2 for high in positive for low in negative)
    return won / len(positive) / len(negative)


def recall_at(precision: float, scores: Sequence[float], labels: Sequence[bool]) -> float:
    """The greatest part of the positives above a threshold at which so many alarms are right."""
    ranked = sorted(zip(scores, labels, strict=True), reverse=True)
    right = list(accumulate(label for _, label in ranked))
    ends = [i for i, (score, _) in enumerate(ranked) if i + 1 == len(ranked) or ranked[i + 1][0] < score]
    return max((right[i] for i in ends if right[i] / (i + 1) >= precision), default=0) / sum(labels)


def threshold_at(precision: float, scores: Sequence[float], labels: Sequence[bool]) -> float:
    """The lowest score from which on so many alarms are right; infinite if there is none."""
    right = [sum(label for score, label in zip(scores, labels, strict=True) if score >= least) for least in scores]
    alarms = [sum(score >= least for score in scores) for least in scores]
    enough = (least for least, good, all_ in zip(scores, right, alarms, strict=True) if good >= precision * all_)
    return min(enough, default=inf)


def score(weights: Sequence[float], row: Row) -> float:
    """Constant and weighted numbers, summed."""
    return weights[0] + sum(weight * number for weight, number in zip(weights[1:], row, strict=True))


def _chance(weights: Sequence[float], point: Sequence[float]) -> float:
    return 1 / (1 + exp(-sum(weight * number for weight, number in zip(weights, point, strict=True))))


def _spread(numbers: Sequence[float]) -> float:
    mean = sum(numbers) / len(numbers)
    return (sum((each - mean) ** 2 for each in numbers) / len(numbers)) ** 0.5


def _solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Solve linear equations by elimination; the matrix is positive definite."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for i in range(len(rows)):
        pivot = rows[i] = [each / rows[i][i] for each in rows[i]]
        for j, other in enumerate(rows):
            if j != i:
                rows[j] = [a - other[i] * b for a, b in zip(other, pivot, strict=True)]
    return [row[-1] for row in rows]
