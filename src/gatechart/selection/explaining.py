"""Explanations of choices: reasons for excluded candidates, a text for the choice, and its bounded JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic_core import to_json

from gatechart.selection.filters import Fallen
from gatechart.selection.question import Question
from gatechart.values import Candidate, Explanation, Judged, Needs, Payload
from gatechart.values.frozen import replaced

MOST_TOLD: Final = 100
"""Maximum number of candidates in an explanation; the others are counted."""

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
    """Return the explanation of a choice.

    fallen: candidates excluded by filters, in the order of the filters. judged: candidates that passed, the chosen one
        first. tied: ids of the candidates that tie for the best, including the best one. probability: of the choice.
        place: rank among the best few of the candidate drawn to explore; 0 if none was drawn. behind: number of
        registered candidates that rank after the chosen one whatever their scores.
    """
    told = (*judged, *islice(_nearest(fallen), MOST_TOLD - len(judged)))
    drawn_from = tuple(tied[:MOST_TOLD]) if len(tied) > 1 else ()
    left_out = len(question.candidates) - len(told)
    drawn = f"drawn to explore, number {place + 1} of those that fit" if place else ""
    details = _details(question, fallen, chosen, judged, len(tied), drawn, behind)
    return Explanation(question.needs, told, left_out, seed, drawn_from, details, probability)


def _nearest(fallen: Fallen) -> Iterator[Judged]:
    """Yield the excluded candidates with their reasons. Candidates that passed more filters come first."""
    for name, (candidates, reasons) in reversed(fallen.items()):
        excluded = zip(candidates, reasons, strict=True)
        yield from (Judged(candidate.id, fell=f"{name}: {why}") for candidate, why in excluded)


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
        return _named_ones(question.terms.entries, fallen)[:_LONGEST]
    if chosen is None:
        found = f"none of {count} fits" if count else "nobody is in the directory"
    else:
        scores = ", ".join(f"{name} {score:.2f}" for name, score in judged[0].scores)
        how = drawn or _how(chosen, count - sum(len(group) for group, _ in fallen.values()), equal)
        how += f", before {behind} registered" if behind else ""
        found = f"{chosen.id} is {how}" + (f" ({scores})" if scores else "")
    left_out = ", ".join(f"{name} {len(group)}" for name, (group, _) in fallen.items())
    needs = needs_text(question.needs)
    told = [found, *([f"needed: {needs}"] if needs else []), *([f"left out by {left_out}"] if left_out else [])]
    return "; ".join(told)[:_LONGEST]


def _named_ones(entries: Sequence[str], fallen: Fallen) -> str:
    """Explain why no candidate that was requested by name gets the work."""
    why = {each.id: each.fell for each in _nearest(fallen) if each.id in entries}
    return "; ".join(
        f"{each} is left out by {why[each]}" if each in why else f"{each} is not there" for each in entries
    )


def _how(chosen: Candidate, fitting: int, equal: int) -> str:
    if fitting == 1:
        return "the only one that fits"
    among = f"of {fitting} that fit"
    pinned = ", pinned by an operator" if chosen.is_pinned else ""
    return f"drawn from the {equal} best {among}{pinned}" if equal > 1 else f"the best {among}{pinned}"


def needs_text(needs: Needs) -> str:
    """Return needs in words; empty if there are none.

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
    read: Explanation = _adapter().validate_python(stored)
    return read


@cache
def _adapter() -> TypeAdapter[Explanation]:
    return TypeAdapter(Explanation)
