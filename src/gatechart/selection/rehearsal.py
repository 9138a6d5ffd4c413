"""Rehearse learning on recorded choices, to evaluate it before it is switched on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from gatechart.selection.evaluation import Evaluation, Recorded, evaluate
from gatechart.selection.exploration import BEST, Exploring
from gatechart.selection.learned import Learned, Scored
from gatechart.values.frozen import value

JUDGED: Final = 0.75
"""Share of recorded choices to evaluate: the last ones. Earlier ones only train the model."""


@value
class RehearsedChoice:
    """The predictions of learning at each recorded choice, trained only on earlier choices."""

    judged: tuple[Recorded, ...]
    chances: Mapping[str, Mapping[str, float]]  # by id of the handoff, then by candidate
    expected: Mapping[str, Mapping[str, float]]


def rehearsed(
    learned: Learned, records: Sequence[Recorded], exploring: Exploring = BEST, judged: float = JUDGED
) -> RehearsedChoice:
    """Replay recorded choices in their order with a model that learns from them.

    judged: share of the records to evaluate, the last ones; earlier ones only train the model.
    """
    first = round(len(records) * (1.0 - judged))
    model, chances, expected = learned.model(), {}, {}
    for number, record in enumerate(records):
        if number >= first:
            scored = model.scores(record.observation.features, dict(record.text_scores), dict(record.groups))
            chances[record.id] = exploring.probabilities(scored.totals)
            expected[record.id] = {candidate: _expected(score) for candidate, score in scored.items()}
        model = model.after(record.observation)
    return RehearsedChoice(tuple(records[first:]), chances, expected)


def evaluate_learned(
    learned: Learned,
    records: Sequence[Recorded],
    exploring: Exploring = BEST,
    *,
    judged: float = JUDGED,
    confidence: float = 0.95,
    seed: int = 0,
) -> Evaluation:
    """Evaluate whether learning is better than the text scores alone. `gatechart directory evaluate` prints the result.

    exploring: exploration of both policies. Raises ExtraMissingError without numpy.
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
