"""The choice among candidates: filters first, then scores, then a seeded draw among equals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from itertools import takewhile
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from gatechart.handoff import Attempt, HandoffPacket, SelectionTerms
from gatechart.selection.explaining import MOST_TOLD, explained
from gatechart.selection.exploration import BEST, Exploring
from gatechart.selection.filters import filtered
from gatechart.selection.question import Functions, Question, Scores
from gatechart.selection.scorers import Column, columns_of
from gatechart.selection.texts import LEAST, Least
from gatechart.values import Candidate, Choice, Judged

MOST_CHANCES: Final = 20
"""Maximum number of candidates whose probabilities a choice reports."""

Parts: TypeAlias = Callable[[str], tuple[tuple[str, float], ...]]
"""Returns the parts of a candidate's scores, by the candidate's id."""

_PARTS: Final = 1 << 32  # resolution of the draw for a probability
_STEPS: Final = 10_000  # resolution of reported scores: four digits
_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


def choose(
    packet: HandoffPacket,
    terms: SelectionTerms,
    candidates: Iterable[Candidate],
    *,
    now: datetime,
    seed: str,
    scores: Scores = _NONE,
    functions: Functions = _NONE,
    least: Least = LEAST,
    allow_registered: bool = False,
    exploring: Exploring = BEST,
    parts: Parts | None = None,
    failed: Sequence[Attempt] = (),
) -> Choice:
    """Choose a target for the work in a packet, and explain it. The order of the candidates does not matter.

    packet: its source, the targets of its attempts, and the agents on its path without progress are left out. Its
        handoff need not have begun.
    terms: the criteria of the selection; `terms_of(best, packet)` builds them.
    candidates: with distinct ids.
    now: aware. seed: of the draw among equals, such as the handoff's id; the same seed draws the same candidate.
    scores: precomputed scores, by scorer ("text", "history" or "learned") and candidate id, from 0 to 1. 0 for
        candidates without one.
    functions: custom filters and scorers by name, from the source's graph.
    least: minimum text scores for a match, unless the terms set them: the `least` of `TextIndex` if there is an index.
        They apply only if the work needs no capability, domain or tier.
    allow_registered: whether candidates registered at run time may outrank candidates that a graph of this home
        declares. Otherwise a registered one is chosen only if no local one passes the filters, or if operators pinned
        it.
    exploring: sometimes draws among the best few that are as pinned and as local as the best one.
    parts: the parts of scores, for the explanation.
    failed: attempts that failed before the packet was built; every candidate of their groups is left out.

    Raises ValueError for a name of a filter or a scorer that is neither built in nor among the functions,
    SelectionAnswerError for a score that is not a finite number, and SelectionFunctionError.
    """
    everybody = sorted(candidates, key=attrgetter("id"))
    question = Question(packet, terms, terms.needs, everybody, now, scores, functions, least, failed)
    left, fallen = filtered(question)
    if not left:
        return Choice(explained(question, seed, fallen))
    columns = columns_of(question, left)
    totals = _sums(question, columns, len(left))
    standing = [each.is_pinned for each in left], [allow_registered or each.is_local for each in left]
    deciding = (*standing, *(columns if terms.order else (totals,)))
    ranked = _ranked(deciding, len(left))
    tied = _tied(deciding, ranked)
    ranked.insert(0, ranked.pop(_draw(seed, len(tied))))
    few = max(min(exploring.among, len(_tied(standing, ranked))), len(tied)) if exploring.share else len(tied)
    place = _explored(exploring.share, few, seed)
    ranked.insert(0, ranked.pop(place))
    chances = [(1 - exploring.share) * (each in tied) / len(tied) + exploring.share / few for each in ranked[:few]]
    chosen = left[ranked[0]]
    judged = _judged(question, left, columns, totals, ranked[:MOST_TOLD], parts)
    told_tied = [left[each].id for each in tied]
    behind = 0 if allow_registered else _behind(chosen, left)
    explanation = explained(question, seed, fallen, chosen, judged, told_tied, chances[0], place, behind)
    told = tuple((left[each].id, chance) for each, chance in zip(ranked[:MOST_CHANCES], chances, strict=False))
    return Choice(explanation, chosen, chances[0], told)


def _sums(question: Question, columns: Sequence[Column], count: int) -> Column:
    """Return the weighted sums of the scores; zeros if an order decides."""
    totals = [0.0] * count
    if question.terms.order:
        return totals
    for name, column in zip(question.scorer_names, columns, strict=True):
        weight = question.terms.weights[name]
        if weight and any(column):
            totals = [total + weight * score for total, score in zip(totals, column, strict=True)]
    return totals


def _ranked(deciding: Sequence[Sequence[float]], count: int) -> list[int]:
    """Return indices, best first: the first column decides, and later columns break ties."""
    ranked = list(range(count))
    for column in reversed(deciding):
        if column.count(column[0]) == count:  # all values are equal
            continue
        ranked.sort(key=column.__getitem__, reverse=True)  # stable: equal ones stay in the order of ids
    return ranked


def _tied(deciding: Sequence[Sequence[float]], ranked: Sequence[int]) -> list[int]:
    """Return the indices that tie with the first of the ranked ones, including the first."""
    first = ranked[0]
    return list(takewhile(lambda each: all(column[each] == column[first] for column in deciding), ranked))


def _behind(chosen: Candidate, left: Iterable[Candidate]) -> int:
    """Count the registered candidates that rank after a local one whatever their scores."""
    return sum(chosen.is_local and not other.is_local and other.is_pinned == chosen.is_pinned for other in left)


def _draw(seed: str, count: int) -> int:
    digest = sha256(seed.encode(errors="surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") % count


def _explored(share: float, few: int, seed: str) -> int:
    """Return the rank of the candidate drawn among the best few; 0 except in the given share of cases."""
    part = _draw(f"{seed}/explore", _PARTS) / _PARTS
    return int(part / share * few) if part < share else 0


def _judged(
    question: Question,
    left: Sequence[Candidate],
    columns: Sequence[Column],
    totals: Column,
    told: Sequence[int],
    parts: Parts | None,
) -> list[Judged]:
    names = question.scorer_names
    rounded = [[_short(column[each]) for each in told] for column in columns]
    scores = zip(*rounded, strict=True) if rounded else [()] * len(told)
    made_of = [() if parts is None else parts(left[each].id) for each in told]
    return [
        Judged(left[each].id, _short(totals[each]), tuple(zip(names, row, strict=True)), parts=made)
        for each, row, made in zip(told, scores, made_of, strict=True)
    ]


def _short(score: float) -> float:
    return (score * _STEPS + 0.5) // 1 / _STEPS  # three times as fast as `round`
