"""The candidates of successive choices and the promises of their text scores, for thousands of candidates at once.

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
    """Candidates and their groups, as arrays. It never changes."""

    __slots__ = ("_begins", "_groups_given", "_order", "group_of", "groups", "ids", "places")

    def __init__(self, candidates: Iterable[str], groups: Mapping[str, str]) -> None:
        """candidates: one or more ids. groups: the group of each candidate that has one."""
        np = numpy()
        self.ids, self._groups_given = tuple(candidates), groups
        self.places = {each: place for place, each in enumerate(self.ids)}
        learners = [groups.get(each, each) for each in self.ids]
        numbers = {each: number for number, each in enumerate(dict.fromkeys(learners))}
        self.groups = tuple(numbers)
        self.group_of: NDArray[Any] = np.array([numbers[each] for each in learners])
        ordered = sorted(self.ids, key=lambda each: (numbers[groups.get(each, each)], each))
        self._order: NDArray[Any] = np.array([self.places[each] for each in ordered])
        self._begins = np.searchsorted(self.group_of[self._order], np.arange(len(self.groups)))

    def are(self, candidates: Iterable[str], groups: Mapping[str, str]) -> bool:
        """Return whether the candidates, their order and their groups are the same."""
        return self.ids == tuple(candidates) and self._groups_given == groups

    def promised(self, text_scores: Mapping[str, float]) -> NDArray[float64]:
        """Return the result of `gatechart.selection.promises.promised` for each candidate."""
        np = numpy()
        scores = np.maximum(np.fromiter(text_scores.values(), float, len(self.ids)), 0.0)
        best = self._most(scores)
        shares = best / (best.max() or 1.0)
        squares = shares * shares
        whole = sum(squares.tolist()) or 1.0
        of_group = np.where(best > 0.0, best, 1.0)[self.group_of]
        promised: NDArray[float64] = BELIEVED * scores / of_group * squares[self.group_of] / whole
        return promised

    def firsts(self, priors: NDArray[float64]) -> NDArray[Any]:
        """Return the index of the candidate with the highest promise in each group; the first by name of equal ones."""
        np = numpy()
        is_most = (priors == self._most(priors)[self.group_of])[self._order]
        places = np.where(is_most, np.arange(len(is_most)), len(is_most))
        firsts: NDArray[Any] = self._order[np.minimum.reduceat(places, self._begins)]
        return firsts

    def _most(self, of_each: NDArray[float64]) -> NDArray[float64]:
        """Return the highest in each group."""
        most: NDArray[float64] = numpy().maximum.reduceat(of_each[self._order], self._begins)
        return most
