"""The choice among candidates: filters first, then scores, then a seeded draw among equals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from heapq import nsmallest
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from gatechart.handoff import HandoffPacket, SelectionTerms
from gatechart.selection.explaining import MOST_TOLD, details_of, fell_out
from gatechart.selection.filters import Fallen, filtered
from gatechart.selection.question import Functions, Question, Scores
from gatechart.selection.scorers import columns_of
from gatechart.values import Candidate, Choice, Explanation, Judged

LEAST: Final = 0.1
"""The text score from which on there is a match, unless a selection or a directory says another."""

_DIGITS: Final = 9  # of sums; beyond these, candidates would differ by rounding alone
_TOLD_DIGITS: Final = 4  # of scores in explanations
_id: Final = attrgetter("id")
_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


class _Ranking(NamedTuple):
    """Candidates that passed the filters, with columns in the same order."""

    candidates: Sequence[Candidate]
    names: Sequence[str]  # of the scorers
    columns: Sequence[Sequence[float]]  # one for each scorer
    totals: Sequence[float]
    ranks: Sequence[tuple[float, ...]]  # the lowest is the best

    def judged(self, index: int) -> Judged:
        """Return what is told of a candidate."""
        scores = (round(column[index], _TOLD_DIGITS) for column in self.columns)
        total = round(self.totals[index], _TOLD_DIGITS)
        return Judged(self.candidates[index].id, total, tuple(zip(self.names, scores, strict=True)))


def choose(
    packet: HandoffPacket,
    terms: SelectionTerms,
    candidates: Iterable[Candidate],
    *,
    now: datetime,
    seed: str,
    scores: Scores = _NONE,
    functions: Functions = _NONE,
    least: float = LEAST,
    allow_registered: bool = False,
) -> Choice:
    """Choose a target for the work in a packet, and explain it. The order of the candidates does not matter.

    packet: its source, the targets of its attempts, and those on its path without progress are left out. Its handoff
        need not have begun.
    terms: what the selection looks for; `terms_of(best, packet)` makes them.
    candidates: each with another id.
    now: aware. seed: of the draw among equals, such as the handoff's id; the same seed draws the same one.
    scores: by scorer and by candidate's id, from 0 to 1, those that are computed elsewhere: "text", "history" and
        "learned". 0 for candidates without one.
    functions: filters and scorers of the user's own, by name, as the source's graph has them.
    least: text score from which on there is a match, if the terms do not say. It counts where the work needs no
        capability, domain or tier.
    allow_registered: whether what was registered at run time may outrank what a graph of this home declares. Without
        it, such a candidate is chosen only if no local one passes the filters, or if operators pinned it.

    Raises ValueError for a name of a filter or a scorer that is neither built in nor among the functions, and for a
    score that is no finite number; and what the functions raise.
    """
    question = Question(packet, terms, terms.needs, tuple(candidates), now, scores, functions, least)
    left, fallen = filtered(question)
    if not left:
        return Choice(_explanation(question, seed, None, (), (), fallen))
    ranking = _ranking(question, left, allow_registered)
    best = min(ranking.ranks)
    tied = sorted((each for each, rank in zip(left, ranking.ranks, strict=True) if rank == best), key=_id)
    chosen = tied[_draw(seed, len(tied))]
    told = _explanation(question, seed, chosen, tied, _judged(ranking, chosen), fallen)
    return Choice(told, chosen, 1 / len(tied))


def _ranking(question: Question, left: Sequence[Candidate], allow_registered: bool) -> _Ranking:
    columns = columns_of(question, left)
    totals = _totals(question, columns, len(left))
    unpinned = [not each.is_pinned for each in left]
    foreign = [not (allow_registered or each.is_local) for each in left]
    deciding = columns if question.terms.order else [totals]
    ranks = list(zip(unpinned, foreign, *([-score for score in column] for column in deciding), strict=True))
    return _Ranking(left, question.scorer_names, columns, totals, ranks)


def _totals(question: Question, columns: Sequence[Sequence[float]], count: int) -> list[float]:
    """Return the weighted sums; zeros if an order decides."""
    totals = [0.0] * count
    if question.terms.order:
        return totals
    for name, column in zip(question.scorer_names, columns, strict=True):
        weight = question.terms.weights[name]
        totals = [total + weight * score for total, score in zip(totals, column, strict=True)]
    return [round(total, _DIGITS) for total in totals]


def _draw(seed: str, count: int) -> int:
    digest = sha256(seed.encode(errors="surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") % count


def _judged(ranking: _Ranking, chosen: Candidate) -> list[Judged]:
    """Return the best candidates with their scores, the chosen one first."""
    order = ((each is not chosen, each.id) for each in ranking.candidates)
    keys = zip(ranking.ranks, order, range(len(ranking.ranks)), strict=True)
    return [ranking.judged(index) for _, _, index in nsmallest(MOST_TOLD, keys)]


def _explanation(
    question: Question,
    seed: str,
    chosen: Candidate | None,
    tied: Sequence[Candidate],
    judged: Sequence[Judged],
    fallen: Sequence[Fallen],
) -> Explanation:
    told = (*judged, *fell_out(fallen, MOST_TOLD - len(judged)))
    left_out = len(question.candidates) - len(told)
    drawn_from = tuple(each.id for each in tied[:MOST_TOLD]) if len(tied) > 1 else ()
    details = details_of(question, chosen, judged, len(tied), fallen)
    return Explanation(question.needs, told, left_out, seed, drawn_from, details)
