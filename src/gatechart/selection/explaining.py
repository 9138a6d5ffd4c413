"""Explanations of choices: reasons for excluded candidates, a description of the choice, and its bounded JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic_core import to_json

from gatechart.selection.filters import Fallen
from gatechart.selection.question import Question
from gatechart.values.frozen import replaced
from gatechart.values.names import Payload
from gatechart.values.profiles import Candidate, Explanation, Judged, Needs

MOST_TOLD: Final = 100
"""Maximum number of candidates in an explanation; the rest is counted."""

MOST_BYTES: Final = 32_768
"""Maximum size of an explanation's JSON, in bytes."""

_LONGEST: Final = 1_000  # characters of details


def explained(
    question: Question,
    seed: str,
    fallen: Fallen,
    chosen: Candidate | None = None,
    judged: Sequence[Judged] = (),
    tied: Sequence[str] = (),
    probability: float = 1.0,
    place: int = 0,
    behind: int = 0,
) -> Explanation:
    """Build the explanation of a choice.

    fallen: excluded candidates, in the order of the filters. judged: candidates that passed, the chosen one first.
    tied: ids of the candidates that equal the best one, itself included. probability: of choosing the chosen one.
    place: index of the candidate that was drawn to explore among the best few; 0 if none was.
    behind: number of registered candidates that rank below the chosen one regardless of their scores.
    """
    shown = (*judged, *islice(_nearest(fallen), MOST_TOLD - len(judged)))
    drawn_from = tuple(tied[:MOST_TOLD]) if len(tied) > 1 else ()
    left_out = len(question.candidates) - len(shown)
    drawn = f"drawn to explore, number {place + 1} of those that fit" if place else ""
    details = _details(question, fallen, chosen, judged, len(tied), drawn, behind)
    return Explanation(question.needs, shown, left_out, seed, drawn_from, details, probability)


def _nearest(fallen: Fallen) -> Iterator[Judged]:
    """Yield the excluded candidates with their reasons. Candidates that passed more filters come first."""
    for name, (candidates, reasons) in reversed(fallen.items()):
        yield from (
            Judged(candidate.id, fell=f"{name}: {reason}")
            for candidate, reason in zip(candidates, reasons, strict=True)
        )


def _details(
    question: Question,
    fallen: Fallen,
    chosen: Candidate | None,
    judged: Sequence[Judged],
    equal: int,
    drawn: str,
    behind: int,
) -> str:
    count = len(question.candidates)
    if chosen is None and question.terms.entries:
        return _why_not_named(question.terms.entries, fallen)[:_LONGEST]
    if chosen is None:
        result = f"none of {count} fits" if count else "the directory is empty"
    else:
        scores = ", ".join(f"{name} {score:.2f}" for name, score in judged[0].scores)
        manner = drawn or _how_chosen(chosen, count - sum(len(group) for group, _ in fallen.values()), equal)
        manner += f", before {behind} registered" if behind else ""
        result = f"{chosen.id} is {manner}" + (f" ({scores})" if scores else "")
    left_out = ", ".join(f"{name} {len(group)}" for name, (group, _) in fallen.items())
    needs = needs_text(question.needs)
    parts = [result, *([f"needed: {needs}"] if needs else []), *([f"left out by {left_out}"] if left_out else [])]
    return "; ".join(parts)[:_LONGEST]


def _why_not_named(entries: Sequence[str], fallen: Fallen) -> str:
    """Explain why none of the entries requested by name gets the work."""
    reasons = {judged.id: judged.fell for judged in _nearest(fallen) if judged.id in entries}
    return "; ".join(
        f"{entry} is left out by {reasons[entry]}" if entry in reasons else f"{entry} is not in the directory"
        for entry in entries
    )


def _how_chosen(chosen: Candidate, fitting: int, equal: int) -> str:
    if fitting == 1:
        return "the only one that fits"
    among = f"of {fitting} that fit"
    pinned = ", pinned by an operator" if chosen.is_pinned else ""
    return f"drawn from the {equal} best {among}{pinned}" if equal > 1 else f"the best {among}{pinned}"


def needs_text(needs: Needs) -> str:
    """Describe needs for people; empty if there are none.

    >>> needs_text(Needs(capabilities=("query_order", "modify_order"), tier=2))
    'query_order or modify_order, tier 2'
    """
    return needs.text


def explanation_json(explanation: Explanation) -> Payload:
    """Return an explanation as JSON values of at most MOST_BYTES, with fewer candidates if necessary."""
    while True:
        plain: dict[str, Any] = _adapter().dump_python(explanation, mode="json", exclude_defaults=True)
        if len(to_json(plain)) <= MOST_BYTES:
            return plain
        explanation = _shortened(explanation)


def _shortened(explanation: Explanation) -> Explanation:
    judged, tied, needs = explanation.judged, explanation.tied, explanation.needs
    if not (judged or tied):
        return Explanation(Needs(tier=needs.tier), (), explanation.left_out, explanation.seed[:_LONGEST])
    kept = judged[: len(judged) // 2]
    left_out = explanation.left_out + len(judged) - len(kept)
    return replaced(explanation, judged=kept, left_out=left_out, tied=tied[: len(tied) // 2])


def explanation_of(stored: Mapping[str, Any]) -> Explanation:
    """Read an explanation from its JSON values. Raises pydantic's ValidationError."""
    explanation: Explanation = _adapter().validate_python(stored)
    return explanation


@cache
def _adapter() -> TypeAdapter[Explanation]:
    return TypeAdapter(Explanation)
