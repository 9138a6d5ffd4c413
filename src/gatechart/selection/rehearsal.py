"""What learning would have chosen, had it been switched on while choices were recorded: the gate before it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from gatechart.selection.evaluation import Evaluation, Recorded, evaluate
from gatechart.selection.exploration import BEST, Exploring
from gatechart.selection.learned import Learned, Scored
from gatechart.values.frozen import value

JUDGED: Final = 0.75
"""The part of recorded choices that is judged, the last. Those before only teach."""


@value
class Rehearsal:
    """What learning knew and would have chosen at each recorded choice, from those before it alone."""

    judged: tuple[Recorded, ...]
    chances: Mapping[str, Mapping[str, float]]  # by id of the handoff, then by candidate
    expected: Mapping[str, Mapping[str, float]]


def rehearsed(
    learned: Learned, records: Sequence[Recorded], exploring: Exploring = BEST, judged: float = JUDGED
) -> Rehearsal:
    """Return what learning would have chosen at recorded choices, in their order.

    judged: the part of the records that is judged, the last; those before only teach.
    """
    first = round(len(records) * (1.0 - judged))
    model, chances, expected = learned.model(), {}, {}
    for number, record in enumerate(records):
        if number >= first:
            scored = model.scores(record.observation.features, dict(record.text_scores), dict(record.groups))
            chances[record.id] = exploring.probabilities(scored.totals)
            expected[record.id] = {each: _expected(one) for each, one in scored.items()}
        model = model.after(record.observation)
    return Rehearsal(tuple(records[first:]), chances, expected)


def evaluate_learned(
    learned: Learned,
    records: Sequence[Recorded],
    exploring: Exploring = BEST,
    *,
    judged: float = JUDGED,
    confidence: float = 0.95,
    seed: int = 0,
) -> Evaluation:
    """Tell whether learning is better than the text scores alone. `gatechart directory evaluate` shows what it returns.

    exploring: how both would choose by their scores. Raises ExtraMissingError without numpy.
    """
    rehearsal = rehearsed(learned, records, exploring, judged)
    return evaluate(
        rehearsal.judged,
        lambda record: rehearsal.chances[record.id],
        lambda record: exploring.probabilities(dict(record.text_scores)),
        expected=lambda record: rehearsal.expected[record.id],
        confidence=confidence,
        seed=seed,
    )


def _expected(scored: Scored) -> float:
    return min(max(scored.prior + scored.learned, 0.0), 1.0)
