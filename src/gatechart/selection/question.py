"""What a choice is about, as filters and scorers see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from gatechart.handoff.packet import Attempt, HandoffPacket, SelectionTerms
from gatechart.selection.texts import Least
from gatechart.values.frozen import value
from gatechart.values.profiles import Candidate, Needs

Functions: TypeAlias = Mapping[str, Callable[[Any, Candidate], Any]]
"""Filters and scorers of a user's own, by name."""

Scores: TypeAlias = Mapping[str, Mapping[str, float]]
"""Scores that were computed elsewhere, by scorer and by the candidate's id."""


@value
class Question:
    """A choice to be made."""

    packet: HandoffPacket
    terms: SelectionTerms
    needs: Needs
    candidates: Sequence[Candidate]  # all of them
    now: datetime
    scores: Scores
    functions: Functions
    least: Least  # text scores from which on there is a match, unless the terms have their own
    failed: Sequence[Attempt] = ()  # in earlier turns; nobody of their groups is asked

    @property
    def is_open(self) -> bool:
        """Whether the terms leave open what the work is about, so that texts have to tell."""
        return not (self.terms.entries or self.needs.capabilities or self.needs.domains or self.needs.tier)

    @property
    def scorer_names(self) -> tuple[str, ...]:
        """Names of the scorers: in the order in which they decide, or by name if their weighted sum does."""
        return self.terms.order or tuple(sorted(self.terms.weights))  # stored JSON may have its keys in any order
