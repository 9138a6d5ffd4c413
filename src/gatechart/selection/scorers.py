"""The scorers of a selection: each rates candidates from 0 to 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isfinite, nan
from typing import Any, Final, TypeAlias

from gatechart.errors.failures import SelectionAnswerError, asking
from gatechart.selection.question import Question
from gatechart.values.profiles import LOWEST_TIER, Candidate

Column: TypeAlias = list[float]
"""The score of each candidate."""

BuiltIn: TypeAlias = Callable[[Question, Sequence[Candidate]], Column]

USUAL_PLACES: Final = 10
"""Number of open units of work that count as half load for a candidate without a declared capacity."""


def columns_of(question: Question, candidates: Sequence[Candidate]) -> list[Column]:
    """Return the scores of the candidates, a column for each scorer of the selection.

    Raises ValueError for an unknown name of a scorer, SelectionAnswerError for a score that is not a finite number, and
    SelectionFunctionError.
    """
    return [_column(name, question, candidates) for name in question.scorer_names]


def _column(name: str, question: Question, candidates: Sequence[Candidate]) -> Column:
    if name in BUILT_IN:
        column = BUILT_IN[name](question, candidates)
    elif name in question.functions:
        with asking(f"the scorer {name!r}"):
            column = [number_in(question.functions[name](question.packet, candidate)) for candidate in candidates]
    else:
        raise ValueError(f"no scorer is named {name!r}; there are {', '.join((*BUILT_IN, *question.functions))}")
    if not all(map(isfinite, column)):
        scored = zip(candidates, column, strict=True)
        offender = next(candidate.id for candidate, score in scored if not isfinite(score))
        raise SelectionAnswerError(f"the scorer {name!r}", f"no finite number for {offender!r}", "a number from 0 to 1")
    return column


def number_in(answer: Any) -> float:
    """Convert the answer of an application's function to a number; NaN if it is not one."""
    try:
        return float(answer)
    except (TypeError, ValueError, OverflowError):
        return nan


def _precomputed(name: str, question: Question, candidates: Sequence[Candidate]) -> Column:
    """Return precomputed scores; 0 for candidates without one."""
    score = question.scores.get(name, {}).get
    return [score(candidate.id, 0.0) for candidate in candidates]


def _performance(_: Question, candidates: Sequence[Candidate]) -> Column:
    return [candidate.performance for candidate in candidates]


def _load(_: Question, candidates: Sequence[Candidate]) -> Column:
    return [1.0 if entry.load is None and not entry.held else 1.0 - _load_of(entry) for entry in candidates]


def _load_of(candidate: Candidate) -> float:
    load, capacity, held = candidate.load, candidate.capacity, candidate.held
    if load is not None:
        return min(max(load, 0.0), 1.0)
    if capacity is None:
        return held / (held + USUAL_PLACES)
    return held / capacity if held < capacity else 1.0


def _tier(_: Question, candidates: Sequence[Candidate]) -> Column:
    return [1.0 - 1.0 / (candidate.profile.tier or LOWEST_TIER) for candidate in candidates]


def _affinity(question: Question, candidates: Sequence[Candidate]) -> Column:
    user = question.packet.user_id
    if not user:
        return [0.0] * len(candidates)
    return [1.0 if candidate.users and user in candidate.users else 0.0 for candidate in candidates]


def _cost(_: Question, candidates: Sequence[Candidate]) -> Column:
    return [1.0 / (1.0 + candidate.profile.cost) if candidate.profile.cost else 1.0 for candidate in candidates]


BUILT_IN: Final[Mapping[str, BuiltIn]] = {
    "text": partial(_precomputed, "text"),
    "history": partial(_precomputed, "history"),
    "learned": partial(_precomputed, "learned"),
    "performance": _performance,
    "load": _load,
    "tier": _tier,
    "affinity": _affinity,
    "cost": _cost,
}
"""The built-in scorers by name.

text: similarity of the problem to the candidate's texts. history: similarity to its successful work. learned: outcomes
of earlier choices. performance: its success so far. load: its free capacity. tier: 0 for the lowest, more for higher
ones. affinity: 1 if it recently completed work for the user. cost: 1 if it costs nothing, 1/2 if it costs 1.
"""
