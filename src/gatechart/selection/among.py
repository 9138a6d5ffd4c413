"""Candidates and the promises of their text scores as arrays, shared by successive choices among thousands.

Needs numpy, from the extra `gatechart[learning]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gatechart.selection.promises import BELIEVED
from gatechart.selection.text_rows import numpy

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray


class Among:
    """Candidates and their groups, as arrays. Immutable."""

    __slots__ = ("_groups_given", "_order", "_starts", "group_of", "groups", "ids", "places")

    def __init__(self, candidates: Iterable[str], groups: Mapping[str, str]) -> None:
        """candidates: one or more ids. groups: by candidate id, for candidates that belong to a group."""
        np = numpy()
        self.ids, self._groups_given = tuple(candidates), groups
        self.places = {candidate: index for index, candidate in enumerate(self.ids)}
        learners = [groups.get(candidate, candidate) for candidate in self.ids]
        numbers = {candidate: number for number, candidate in enumerate(dict.fromkeys(learners))}
        self.groups = tuple(numbers)
        self.group_of: NDArray[Any] = np.array([numbers[candidate] for candidate in learners])
        ordered = sorted(self.ids, key=lambda candidate: (numbers[groups.get(candidate, candidate)], candidate))
        self._order: NDArray[Any] = np.array([self.places[candidate] for candidate in ordered])
        self._starts = np.searchsorted(self.group_of[self._order], np.arange(len(self.groups)))

    def are(self, candidates: Iterable[str], groups: Mapping[str, str]) -> bool:
        """Return whether the candidates, their order and their groups are the same."""
        return self.ids == tuple(candidates) and self._groups_given == groups

    def promised(self, text_scores: Mapping[str, float]) -> NDArray[float64]:
        """Return `gatechart.selection.promises.promised` of each candidate."""
        np = numpy()
        scores = np.maximum(np.fromiter(text_scores.values(), float, len(self.ids)), 0.0)
        best = self._highest(scores)
        shares = best / (best.max() or 1.0)
        squares = shares * shares
        whole = sum(squares.tolist()) or 1.0
        of_group = np.where(best > 0.0, best, 1.0)[self.group_of]
        promised: NDArray[float64] = BELIEVED * scores / of_group * squares[self.group_of] / whole
        return promised

    def firsts(self, priors: NDArray[float64]) -> NDArray[Any]:
        """Return the index of the candidate with the highest prior in each group; the first by name of equal ones."""
        np = numpy()
        is_most = (priors == self._highest(priors)[self.group_of])[self._order]
        indices = np.where(is_most, np.arange(len(is_most)), len(is_most))
        firsts: NDArray[Any] = self._order[np.minimum.reduceat(indices, self._starts)]
        return firsts

    def _highest(self, values: NDArray[float64]) -> NDArray[float64]:
        """Return the highest value in each group."""
        highest: NDArray[float64] = numpy().maximum.reduceat(values[self._order], self._starts)
        return highest
