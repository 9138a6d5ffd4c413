"""Ridge regressions over the features of texts, in their dual form, which follow rows that come and go.

Needs numpy, from the extra `gatechart[learning]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gatechart.errors import needing
from gatechart.selection.observations import BUCKETS, Observation, unpacked
from gatechart.values.frozen import value

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

SHARED: Final = 0.7
"""How alike a text is to itself where another candidate of the group was chosen for it, or would be."""

_FEW: Final = 4  # rows that come and go at once, up to which an inverse is moved on; to solve it anew is exact


class Told(NamedTuple):
    """What an observation tells a group: by how much a reward for its text differed from what was promised."""

    observation: Observation
    candidate: str  # of the group, to which it is told
    surprise: float


class Row:
    """The features of a text, with squares that add up to 1."""

    __slots__ = ("_dense", "places", "weights")

    def __init__(self, features: str) -> None:
        np = numpy()
        pairs = np.array(unpacked(features), dtype=np.float64).reshape(-1, 2)
        self.places: NDArray[Any] = pairs[:, 0].astype(np.int64)
        length = float(np.sqrt(pairs[:, 1] @ pairs[:, 1]))
        self.weights: NDArray[float64] = pairs[:, 1] / length if length else pairs[:, 1]
        self._dense: NDArray[float64] | None = None

    @property
    def dense(self) -> NDArray[float64]:
        """The weight of every feature there is."""
        if self._dense is None:
            self._dense = numpy().zeros(BUCKETS)
            self._dense[self.places] = self.weights
        return self._dense


@value
class Fit:
    """The ridge regression of one group: rows of features, in which those that are missing have a weight of 0."""

    told: tuple[Told, ...]
    places: NDArray[Any]  # (rows, features)
    weights: NDArray[float64]  # (rows, features)
    candidates: NDArray[Any]  # (rows,)
    only: str  # the candidate of all rows; empty if there are several
    inverse: NDArray[float64]  # of the products of all rows, plus the ridge
    coefficients: NDArray[float64]

    def view(self, row: Row, candidate: str) -> tuple[float, NDArray[float64]]:
        """Return what is predicted for a text if a candidate is chosen for it, and its likeness to each row."""
        likeness = _likeness(self.places, self.weights, row)
        if self.only != candidate:
            likeness *= _shared(self.candidates, candidate)
        return float(likeness @ self.coefficients), likeness

    def deviation(self, likeness: NDArray[float64]) -> float:
        """Return the standard deviation of a prediction; 1 where nothing is known."""
        known = float(likeness @ self.inverse @ likeness)
        return float(max(1.0 - known, 0.0) ** 0.5)


def fitted(told: tuple[Told, ...], ridge: float, earlier: Fit | None = None) -> Fit:
    """Return the regression over rows, from an earlier one if it differs by a few of them."""
    if earlier is None:
        return _solved_anew(told, ridge)
    if earlier.told == told:
        return earlier
    left, came = _change(earlier.told, told)
    if len(left) + len(came) > _FEW:
        return _solved_anew(told, ridge)
    return _moved_on(earlier, told, left, came, ridge)


def _change(before: Sequence[Told], after: Sequence[Told]) -> tuple[list[int], Sequence[Told]]:
    """Return the places of rows to take out, and the rows to append then, so that one becomes the other."""
    left, at = [], 0
    for place, each in enumerate(before):
        if at < len(after) and after[at] == each:
            at += 1
        else:
            left.append(place)
    return left, after[at:]


def _solved_anew(told: tuple[Told, ...], ridge: float) -> Fit:
    np = numpy()
    rows = [Row(each.observation.features) for each in told]
    places, weights = _table(rows)
    candidates = np.array([each.candidate for each in told], dtype=object)
    products = np.array([_likeness(places, weights, each) for each in rows]).reshape(len(rows), len(rows))
    products *= np.array([_shared(candidates, each) for each in candidates]).reshape(products.shape)
    return _solved(told, places, weights, candidates, np.linalg.inv(products + ridge * np.eye(len(rows))))


def _moved_on(earlier: Fit, told: tuple[Told, ...], left: Sequence[int], came: Sequence[Told], ridge: float) -> Fit:
    np = numpy()
    inverse, places, weights, candidates = earlier.inverse, earlier.places, earlier.weights, earlier.candidates
    for place in reversed(left):
        inverse = _without(inverse, place)
        places, weights = np.delete(places, place, 0), np.delete(weights, place, 0)
        candidates = np.delete(candidates, place)
    for each in came:
        row = Row(each.observation.features)
        likeness = _likeness(places, weights, row) * _shared(candidates, each.candidate)
        inverse = _bordered(inverse, likeness, float(row.weights @ row.weights) + ridge)
        places, weights = _joined(places, weights, row)
        candidates = np.append(candidates, each.candidate)
    return _solved(told, places, weights, candidates, inverse)


def _without(inverse: NDArray[float64], place: int) -> NDArray[float64]:
    """Return the inverse of what was inverted without the row and the column of a place."""
    np = numpy()
    column = np.delete(inverse[:, place], place)
    rest: NDArray[float64] = np.multiply.outer(column, column / -inverse[place, place])
    rest[:place, :place] += inverse[:place, :place]
    rest[:place, place:] += inverse[:place, place + 1 :]
    rest[place:, :place] += inverse[place + 1 :, :place]
    rest[place:, place:] += inverse[place + 1 :, place + 1 :]
    return rest


def _bordered(inverse: NDArray[float64], likeness: NDArray[float64], own: float) -> NDArray[float64]:
    """Return the inverse of what was inverted with one more row and column."""
    np = numpy()
    moved = np.append(inverse @ likeness, -1.0)
    bordered: NDArray[float64] = np.multiply.outer(moved, moved / (own - float(moved[:-1] @ likeness)))
    bordered[:-1, :-1] += inverse
    return bordered


def _solved(
    told: tuple[Told, ...],
    places: NDArray[Any],
    weights: NDArray[float64],
    candidates: NDArray[Any],
    inverse: NDArray[float64],
) -> Fit:
    surprises = numpy().array([each.surprise for each in told])
    names = {each.candidate for each in told}
    only = names.pop() if len(names) == 1 else ""
    return Fit(told, places, weights, candidates, only, inverse, inverse @ surprises)


def _shared(candidates: NDArray[Any], candidate: str) -> NDArray[float64]:
    """Return the factors by which likenesses to rows count for a candidate."""
    factors: NDArray[float64] = SHARED + (1.0 - SHARED) * (candidates == candidate)
    return factors


def _likeness(places: NDArray[Any], weights: NDArray[float64], row: Row) -> NDArray[float64]:
    likeness: NDArray[float64] = (row.dense[places] * weights).sum(axis=1)
    return likeness


def _table(rows: list[Row]) -> tuple[NDArray[Any], NDArray[float64]]:
    np = numpy()
    width = max((len(each.places) for each in rows), default=0)
    places, weights = np.zeros((len(rows), width), np.int64), np.zeros((len(rows), width))
    for at, each in enumerate(rows):
        places[at, : len(each.places)], weights[at, : len(each.places)] = each.places, each.weights
    return places, weights


def _joined(places: NDArray[Any], weights: NDArray[float64], row: Row) -> tuple[NDArray[Any], NDArray[float64]]:
    np = numpy()
    missing = len(row.places) - places.shape[1]
    before, after = (0, max(missing, 0)), (0, max(-missing, 0))
    tables = (np.pad(places, ((0, 0), before)), np.pad(weights, ((0, 0), before)))
    new = (np.pad(row.places, after), np.pad(row.weights, after))
    return np.vstack((tables[0], new[0])), np.vstack((tables[1], new[1]))


def numpy() -> Any:
    """Return numpy. Raises ExtraMissingError where it is missing."""
    with needing("learning", "learning of choices"):
        import numpy as np  # noqa: PLC0415 (an extra)
    return np
