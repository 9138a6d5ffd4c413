"""The question of a choice: the input of filters and scorers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from gatechart.handoff.packet import Attempt, HandoffPacket, SelectionTerms
from gatechart.selection.texts import Least
from gatechart.values.frozen import value
from gatechart.values.profiles import Candidate, Needs

Functions: TypeAlias = Mapping[str, Callable[[Any, Candidate], Any]]
"""The application's filters and scorers, by name."""

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
    least: Least  # minimum text scores of a match, unless the terms set one
    failed: Sequence[Attempt] = ()  # in earlier turns; candidates of their groups are excluded

    @property
    def is_open(self) -> bool:
        """Whether the terms name no entries or needs, so that only texts can decide."""
        return not (self.terms.entries or self.needs.capabilities or self.needs.domains or self.needs.tier)

    @property
    def scorer_names(self) -> tuple[str, ...]:
        """Names of the scorers: in their order of precedence, or by name if a weighted sum decides."""
        return self.terms.order or tuple(sorted(self.terms.weights))  # stored JSON may have its keys in any order
