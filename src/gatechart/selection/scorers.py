"""The scorers of a selection: each rates candidates from 0 to 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isfinite, nan
from typing import Any, Final, TypeAlias

from gatechart.errors import SelectionAnswerError, asking
from gatechart.selection.question import Question
from gatechart.values import LOWEST_TIER, Candidate

Column: TypeAlias = list[float]
"""The score of each candidate."""

BuiltIn: TypeAlias = Callable[[Question, Sequence[Candidate]], Column]

USUAL_PLACES: Final = 10
"""Number of open pieces of work at half load, for a candidate that declares no capacity."""


def columns_of(question: Question, candidates: Sequence[Candidate]) -> list[Column]:
    """Return the scores of the candidates, a column for each scorer of the selection.

    Raises ValueError for an unknown name of a scorer, SelectionAnswerError for a score that is no finite number, and
    SelectionFunctionError.
    """
    return [_column(name, question, candidates) for name in question.scorer_names]


def _column(name: str, question: Question, candidates: Sequence[Candidate]) -> Column:
    if name in BUILT_IN:
        column = BUILT_IN[name](question, candidates)
    elif name in question.functions:
        with asking(f"the scorer {name!r}"):
            column = [number_in(question.functions[name](question.packet, each)) for each in candidates]
    else:
        raise ValueError(f"no scorer is named {name!r}; there are {', '.join((*BUILT_IN, *question.functions))}")
    if not all(map(isfinite, column)):
        wrong = next(each.id for each, score in zip(candidates, column, strict=True) if not isfinite(score))
        raise SelectionAnswerError(f"the scorer {name!r}", f"no finite number for {wrong!r}", "a number from 0 to 1")
    return column


def number_in(answer: Any) -> float:
    """Return the answer of a custom function as a number; NaN if it is not a number."""
    try:
        return float(answer)
    except (TypeError, ValueError, OverflowError):
        return nan


def _given(name: str, question: Question, candidates: Sequence[Candidate]) -> Column:
    """Return precomputed scores; 0 for candidates without one."""
    score = question.scores.get(name, {}).get
    return [score(each.id, 0.0) for each in candidates]


def _performance(_: Question, candidates: Sequence[Candidate]) -> Column:
    return [each.performance for each in candidates]


def _load(_: Question, candidates: Sequence[Candidate]) -> Column:
    return [1.0 if each.load is None and not each.held else 1.0 - _loaded(each) for each in candidates]


def _loaded(candidate: Candidate) -> float:
    load, capacity, held = candidate.load, candidate.capacity, candidate.held
    if load is not None:
        return min(max(load, 0.0), 1.0)
    if capacity is None:
        return held / (held + USUAL_PLACES)
    return held / capacity if held < capacity else 1.0


def _tier(_: Question, candidates: Sequence[Candidate]) -> Column:
    return [1.0 - 1.0 / (each.profile.tier or LOWEST_TIER) for each in candidates]


def _affinity(question: Question, candidates: Sequence[Candidate]) -> Column:
    user = question.packet.user_id
    if not user:
        return [0.0] * len(candidates)
    return [1.0 if each.users and user in each.users else 0.0 for each in candidates]


def _cost(_: Question, candidates: Sequence[Candidate]) -> Column:
    return [1.0 / (1.0 + each.profile.cost) if each.profile.cost else 1.0 for each in candidates]


BUILT_IN: Final[Mapping[str, BuiltIn]] = {
    "text": partial(_given, "text"),
    "history": partial(_given, "history"),
    "learned": partial(_given, "learned"),
    "performance": _performance,
    "load": _load,
    "tier": _tier,
    "affinity": _affinity,
    "cost": _cost,
}
"""The built-in scorers, by name.

text: how near what people say is to what a candidate is for. history: how near it is to work that went well. learned:
what came of earlier choices. performance: how its work went. load: how free it is. tier: 0 for the lowest, more for
higher ones. affinity: 1 if it completed work for the user lately. cost: 1 if it costs nothing, 1/2 if it costs 1.
"""
