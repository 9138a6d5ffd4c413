"""The input of a choice, for filters and scorers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from gatechart.handoff import Attempt, HandoffPacket, SelectionTerms
from gatechart.selection.texts import Least
from gatechart.values import Candidate, Needs
from gatechart.values.frozen import value

Functions: TypeAlias = Mapping[str, Callable[[Any, Candidate], Any]]
"""Custom filters and scorers, by name."""

Scores: TypeAlias = Mapping[str, Mapping[str, float]]
"""Precomputed scores, by scorer and by the candidate's id."""


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
    least: Least  # minimum text scores for a match, unless the terms set their own
    failed: Sequence[Attempt] = ()  # in earlier turns; their groups are left out

    @property
    def is_open(self) -> bool:
        """Whether the terms leave the subject of the work open, so that texts decide."""
        return not (self.terms.entries or self.needs.capabilities or self.needs.domains or self.needs.tier)

    @property
    def scorer_names(self) -> tuple[str, ...]:
        """Names of the scorers: in their deciding order, or sorted by name if their weighted sum decides."""
        return self.terms.order or tuple(sorted(self.terms.weights))  # stored JSON may have its keys in any order
