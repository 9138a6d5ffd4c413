"""The choice among candidates: filters first, then scores, then a seeded draw among equals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from itertools import takewhile
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from gatechart.handoff.packet import Attempt, HandoffPacket, SelectionTerms
from gatechart.selection.explaining import MOST_TOLD, explained
from gatechart.selection.exploration import BEST, Exploring
from gatechart.selection.filters import filtered
from gatechart.selection.question import Functions, Question, Scores
from gatechart.selection.scorers import Column, columns_of
from gatechart.selection.texts import LEAST, Least
from gatechart.values.profiles import Candidate, Choice, Judged

MOST_CHANCES: Final = 20
"""Maximum number of candidates whose probabilities a choice reports."""

Parts: TypeAlias = Callable[[str], tuple[tuple[str, float], ...]]
"""Returns the parts of a candidate's scores, by its id."""

_RESOLUTION: Final = 1 << 32  # number of steps of a drawn probability
_ROUNDING: Final = 10_000  # scores are reported with four digits
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
    """Choose a target for the work in a packet, and explain the choice. The order of the candidates does not matter.

    packet: its source, the targets of its attempts, and agents on its path without progress are excluded. The handoff
        need not have begun.
    terms: the criteria of the selection, from `terms_of(best, packet)`.
    candidates: with distinct ids.
    now: aware. seed: for the draw among equals, such as the handoff's id; the same seed draws the same candidate.
    scores: by scorer and by candidate's id, from 0 to 1, for scorers that are computed elsewhere: "text", "history" and
        "learned". 0 for candidates without one.
    functions: the application's filters and scorers, by name, from the source's graph.
    least: minimum text scores of a match, unless the terms set one; see `TextIndex.least`. They apply to work that
        needs no capability, domain or tier.
    allow_registered: whether candidates registered at run time may outrank those declared by a graph of this home.
        Otherwise such a candidate is chosen only if no local one passes the filters, or if operators pinned it.
    exploring: draws a share of the choices among the best few that are as pinned and as local as the best one.
    parts: returns the parts of scores for the explanation.
    failed: attempts that failed before the packet was created; candidates of their groups are excluded.

    Raises ValueError for a name of a filter or a scorer that is neither built in nor among the functions,
    SelectionAnswerError for a score that is not a finite number, and SelectionFunctionError.
    """
    ordered = sorted(candidates, key=attrgetter("id"))
    question = Question(packet, terms, terms.needs, ordered, now, scores, functions, least, failed)
    left, fallen = filtered(question)
    if not left:
        return Choice(explained(question, seed, fallen))
    columns = columns_of(question, left)
    totals = _sums(question, columns, len(left))
    rank_first = [entry.is_pinned for entry in left], [allow_registered or entry.is_local for entry in left]
    deciding = (*rank_first, *(columns if terms.order else (totals,)))
    ranked = _ranked(deciding, len(left))
    tied = _tied(deciding, ranked)
    ranked.insert(0, ranked.pop(_draw(seed, len(tied))))
    contenders = max(min(exploring.among, len(_tied(rank_first, ranked))), len(tied)) if exploring.share else len(tied)
    drawn_index = _explored(exploring.share, contenders, seed)
    ranked.insert(0, ranked.pop(drawn_index))
    drawn, best = exploring.share / contenders, (1 - exploring.share) / len(tied)
    chances = [drawn + best * (index in tied) for index in ranked[:contenders]]
    chosen = left[ranked[0]]
    judged = _judged(question, left, columns, totals, ranked[:MOST_TOLD], parts)
    tied_ids = [left[index].id for index in tied]
    outranked = 0 if allow_registered else _outranked(chosen, left)
    explanation = explained(question, seed, fallen, chosen, judged, tied_ids, chances[0], drawn_index, outranked)
    chances_by_id = tuple(
        (left[index].id, chance) for index, chance in zip(ranked[:MOST_CHANCES], chances, strict=False)
    )
    return Choice(explanation, chosen, chances[0], chances_by_id)


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
        if column.count(column[0]) == count:  # all are equal
            continue
        ranked.sort(key=column.__getitem__, reverse=True)  # stable: equal candidates stay in the order of ids
    return ranked


def _tied(deciding: Sequence[Sequence[float]], ranked: Sequence[int]) -> list[int]:
    """Return the indices that tie with the first of the ranked ones, including the first."""
    first = ranked[0]
    return list(takewhile(lambda index: all(column[index] == column[first] for column in deciding), ranked))


def _outranked(chosen: Candidate, left: Iterable[Candidate]) -> int:
    """Count the registered candidates that rank below the chosen local one regardless of their scores."""
    return sum(chosen.is_local and not entry.is_local and entry.is_pinned == chosen.is_pinned for entry in left)


def _draw(seed: str, count: int) -> int:
    digest = sha256(seed.encode(errors="surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") % count


def _explored(share: float, contenders: int, seed: str) -> int:
    """Return the rank of the candidate drawn among the best few; 0 except in the given share of cases."""
    fraction = _draw(f"{seed}/explore", _RESOLUTION) / _RESOLUTION
    return int(fraction / share * contenders) if fraction < share else 0


def _judged(
    question: Question,
    left: Sequence[Candidate],
    columns: Sequence[Column],
    totals: Column,
    indices: Sequence[int],
    parts: Parts | None,
) -> list[Judged]:
    names = question.scorer_names
    rounded = [[_rounded(column[index]) for index in indices] for column in columns]
    scores = zip(*rounded, strict=True) if rounded else [()] * len(indices)
    parts_of = [() if parts is None else parts(left[index].id) for index in indices]
    return [
        Judged(left[index].id, _rounded(totals[index]), tuple(zip(names, row, strict=True)), parts=candidate_parts)
        for index, row, candidate_parts in zip(indices, scores, parts_of, strict=True)
    ]


def _rounded(score: float) -> float:
    return (score * _ROUNDING + 0.5) // 1 / _ROUNDING  # in a third of the time of `round`
