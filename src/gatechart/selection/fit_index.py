"""Many regressions asked at once: an inverted index of their rows, so that a text costs what it shares with them.

Needs numpy, from the extra `gatechart[learning]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from gatechart.selection.among import Among
from gatechart.selection.observations import BUCKETS
from gatechart.selection.regression import SHARED, Fit, Row, numpy
from gatechart.values.frozen import value

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

_ALONE: Final = 3_000  # rows that are compared by their regression, before all are indexed anew
_CALL: Final = 100  # rows that can be compared while one more regression is asked


class FitIndex:
    """The rows of regressions, by feature. It never changes."""

    __slots__ = ("_candidates", "_coefficients", "_ends", "_group_of", "_rows", "_starts", "_weights", "codes", "fits")

    def __init__(self, fits: Mapping[str, Fit]) -> None:
        """fits: by group."""
        np = numpy()
        self.fits = dict(fits)
        told = [each.told for each in fits.values()]
        counts = [len(each) for each in told]
        self._ends = np.cumsum([0, *counts])
        self._group_of = np.repeat(np.arange(len(counts)), counts)
        names = [each.candidate for each in chain.from_iterable(told)]
        self.codes = {each: code for code, each in enumerate(dict.fromkeys(names))}  # by candidate
        self._candidates = np.array([self.codes[each] for each in names], dtype=np.int64)
        self._coefficients = _joined(each.coefficients for each in fits.values())
        self._starts, self._rows, self._weights = _inverted(list(fits.values()), counts)

    def changed(self, fits: Mapping[str, Fit]) -> tuple[str, ...]:
        """Return the groups whose regressions are others than here, or there alone, or here alone."""
        others = [name for name, each in fits.items() if self.fits.get(name) is not each]
        return *others, *(name for name in self.fits if name not in fits)

    def views(self, row: Row, firsts: NDArray[Any]) -> tuple[NDArray[float64], NDArray[float64]]:
        """Return what each regression predicts, and the likeness of a text to all rows, as `Fit.view` does of one.

        firsts: the code of the candidate of each group that would be chosen for the text; -1 if it has none.
        """
        np = numpy()
        likeness = self._likeness(row)
        likeness *= np.where(self._candidates == firsts[self._group_of], 1.0, SHARED)
        predicted: NDArray[float64] = np.bincount(self._group_of, likeness * self._coefficients, len(self.fits))
        return predicted, likeness

    def rows_of(self, place: int) -> slice:
        """Return where the rows of a regression are, of which the place among all is known."""
        return slice(self._ends[place], self._ends[place + 1])

    def _likeness(self, row: Row) -> NDArray[float64]:
        """Return the likeness of each row to a text: the sums of what they share, feature by feature."""
        np = numpy()
        begins, ends = self._starts[row.places], self._starts[row.places + 1]
        slices = [slice(*each) for each in zip(begins.tolist(), ends.tolist(), strict=True)]
        rows = np.concatenate([self._rows[:0], *(self._rows[each] for each in slices)])
        weights = _joined(self._weights[each] for each in slices)
        sums: NDArray[float64] = np.bincount(rows, weights * np.repeat(row.weights, ends - begins), len(self._group_of))
        return sums.astype(np.float64, copy=False)  # of nothing, they are whole numbers


class Views:
    """What regressions say of the groups of candidates, of one text after the other. It never changes."""

    __slots__ = ("_changed", "_codes", "_known", "_places", "among", "fits", "index")

    def __init__(self, fits: Mapping[str, Fit], index: FitIndex, among: Among) -> None:
        """index: of these regressions, or of most of them."""
        np = numpy()
        self.fits, self.index, self.among = fits, index, among
        numbers = {each: number for number, each in enumerate(among.groups)}
        self._changed = [numbers[each] for each in index.changed(fits) if each in numbers]
        places = {each: place for place, each in enumerate(index.fits)}
        self._places = np.array([places.get(each, -1) for each in among.groups])
        self._known = np.flatnonzero(self._places >= 0)
        self._codes = np.array([index.codes.get(each, -1) for each in among.ids])

    def of(self, features: str, firsts: NDArray[Any]) -> View:
        """Return what they say of a text. firsts: the place of each group's candidate that would be chosen for it."""
        np = numpy()
        row, known = Row(features), self._known
        codes = np.full(len(self.index.fits), -1)
        codes[self._places[known]] = self._codes[firsts[known]]
        told, likeness = self.index.views(row, codes)
        predicted = np.zeros(len(self.among.groups))
        predicted[known] = told[self._places[known]]
        return View(self, predicted, likeness, self._alone(row, firsts, predicted))

    def _alone(self, row: Row, firsts: NDArray[Any], predicted: NDArray[float64]) -> dict[int, NDArray[float64]]:
        """Put in what regressions predict that are others than in the index; return the likeness to their rows."""
        likenesses = {}
        for each in self._changed:
            fit = self.fits.get(self.among.groups[each])
            predicted[each] = 0.0
            if fit is not None:
                predicted[each], likenesses[each] = fit.view(row, self.among.ids[firsts[each]])
        return likenesses

    def rows_of(self, group: int) -> slice:
        """Return where the rows of a group are among those of the index."""
        return self.index.rows_of(int(self._places[group]))


@value
class View:
    """What regressions say of a text."""

    views: Views
    predicted: NDArray[float64]  # of each group; 0 where nothing is known
    likeness: NDArray[float64]  # to the rows of the index
    likenesses: Mapping[int, NDArray[float64]]  # to those of groups that are others there

    def deviation(self, group: int) -> float:
        """Return the standard deviation of what is predicted for a group; 1 where nothing is known."""
        fit = self.views.fits.get(self.views.among.groups[group])
        if fit is None:
            return 1.0
        own = self.likenesses.get(group)
        return fit.deviation(self.likeness[self.views.rows_of(group)] if own is None else own)


def index_of(fits: Mapping[str, Fit], earlier: FitIndex | None = None) -> FitIndex:
    """Return an index of regressions: an earlier one, as long as few of them have changed since."""
    if earlier is None:
        return FitIndex(fits)
    changed = (fits[each] if each in fits else earlier.fits[each] for each in earlier.changed(fits))
    return FitIndex(fits) if sum(len(each.told) + _CALL for each in changed) > _ALONE else earlier


def _inverted(fits: list[Fit], counts: list[int]) -> tuple[NDArray[Any], NDArray[Any], NDArray[float64]]:
    """Return where each feature begins, and then of all features the rows that have one, and its weight in them."""
    np = numpy()
    widths = np.repeat([each.places.shape[1] for each in fits], counts).astype(np.int64)
    rows = np.repeat(np.arange(len(widths)), widths)
    places = _joined((each.places.ravel() for each in fits), np.int64)
    weights = _joined(each.weights.ravel() for each in fits)
    has_it = weights != 0.0
    rows, places, weights = rows[has_it], places[has_it], weights[has_it]
    order = np.argsort(places.astype(np.uint16), kind="stable")  # 16 bits are sorted in linear time
    starts = np.cumsum([0, *np.bincount(places, minlength=BUCKETS)])
    return starts, rows[order], weights[order]


def _joined(arrays: Iterable[NDArray[Any]], kind: Any = float) -> NDArray[Any]:
    np = numpy()
    joined: NDArray[Any] = np.concatenate([np.zeros(0, kind), *arrays])
    return joined
