"""Choices of a target as tables: a row for each candidate, and a column for each scorer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gatechart.api.descriptions import Fact, choice_facts
from gatechart.values.frozen import value
from gatechart.values.profiles import Explanation, Judged


@value
class CandidateRow:
    """A candidate: its scores in the order of the table's headings, or why it was excluded."""

    id: str
    scores: tuple[str, ...]
    fell: str


@value
class ChoiceTable:
    """Why a target was chosen, or why none was."""

    facts: tuple[Fact, ...]  # the outcome and the requirements
    headings: tuple[str, ...]  # of the scores: the total (unless an order decided), then the scorers
    rows: tuple[CandidateRow, ...]
    left_out: int  # number of further candidates that the explanation omits


def choice_table(why: Explanation) -> ChoiceTable:
    """Return the table of an explanation."""
    scored = [_score_texts(judged) for judged in why.judged]
    headings = tuple(dict.fromkeys(name for texts in scored for name in texts))
    rows = tuple(
        CandidateRow(judged.id, tuple(texts.get(name, "") for name in headings), judged.fell)
        for judged, texts in zip(why.judged, scored, strict=True)
    )
    return ChoiceTable(tuple(choice_facts(why)), headings, rows, why.left_out)


def _score_texts(judged: Judged) -> Mapping[str, str]:
    texts = {"total": f"{judged.total:.2f}"} if judged.total else {}
    texts |= {name: f"{score:.2f}" for name, score in judged.scores}
    if judged.parts:
        texts["learned"] = f"{texts.get('learned', '')} ({_parts_text(judged.parts)})".lstrip()
    return texts


def _parts_text(parts: Sequence[tuple[str, float]]) -> str:
    return ", ".join(f"{name} {part:.2f}" for name, part in parts)
