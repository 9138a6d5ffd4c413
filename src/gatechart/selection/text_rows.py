"""Similarity of a text to many others, by an inverted index of features. The cost depends on the shared features.

Needs numpy, from the extra `gatechart[learning]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import modules
from typing import TYPE_CHECKING, Any, Final

from gatechart.errors.extras import needing
from gatechart.selection.observations import BUCKETS, unpacked

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

_FEW: Final = 32  # rows; an index does not pay for fewer

MOST_RECENT: Final = 500
"""Rows that are compared one by one before they are moved to the index."""


class Row:
    """The features of a text, with squares that add up to 1."""

    __slots__ = ("_dense", "buckets", "weights")

    def __init__(self, features: str) -> None:
        np = numpy()
        pairs = np.array(unpacked(features), dtype=np.float64).reshape(-1, 2)
        self.buckets: NDArray[Any] = pairs[:, 0].astype(np.int64)
        length = float(np.sqrt(pairs[:, 1] @ pairs[:, 1]))
        self.weights: NDArray[float64] = pairs[:, 1] / length if length else pairs[:, 1]
        self._dense: NDArray[float64] | None = None

    @property
    def square(self) -> float:
        """The likeness of the text to itself: 1, or 0 without features."""
        return float(self.weights @ self.weights)

    @property
    def dense(self) -> NDArray[float64]:
        """Weights of all features, shape (BUCKETS,)."""
        if self._dense is None:
            self._dense = numpy().zeros(BUCKETS)
            self._dense[self.buckets] = self.weights
        return self._dense


class _Cells:
    """The nonzero weights of rows, in three columns of the same length."""

    __slots__ = ("buckets", "numbers", "weights")

    def __init__(self, numbers: NDArray[Any], buckets: NDArray[Any], weights: NDArray[float64]) -> None:
        self.numbers, self.buckets, self.weights = numbers, buckets, weights

    @classmethod
    def of(cls, rows: Sequence[Row], first: int = 0) -> _Cells:
        np = numpy()
        numbers = np.repeat(np.arange(first, first + len(rows), dtype=np.int32), [len(row.buckets) for row in rows])
        buckets = np.concatenate([np.zeros(0, np.int64), *(row.buckets for row in rows)]).astype(np.uint16)
        return cls(numbers, buckets, np.concatenate([np.zeros(0), *(row.weights for row in rows)]))

    def joined(self, other: _Cells) -> _Cells:
        np = numpy()
        pairs = (
            (self.numbers, other.numbers),
            (self.buckets, other.buckets),
            (self.weights, other.weights),
        )
        return _Cells(*(np.concatenate(pair) for pair in pairs))

    def by_bucket(self) -> _Cells:
        order = numpy().argsort(self.buckets, kind="stable")  # 16 bits are sorted in linear time
        return _Cells(self.numbers[order], self.buckets[order], self.weights[order])


class TextRows:
    """Rows of features, numbered from 0. Immutable: `with_row` shares the index."""

    __slots__ = ("_recent", "_sorted", "_starts", "count")

    def __init__(self, count: int, cells: _Cells, recent: _Cells) -> None:
        """count: of rows. cells: of the older rows, sorted by bucket. recent: of the newer rows."""
        np = numpy()
        self.count, self._sorted, self._recent = count, cells, recent
        self._starts = np.zeros(BUCKETS + 1 if len(cells.buckets) else 0, np.int64)
        np.cumsum(np.bincount(cells.buckets, minlength=BUCKETS)[: len(self._starts)], out=self._starts[1:])

    @classmethod
    def of(cls, rows: Sequence[Row]) -> TextRows:
        """Return an index of rows, numbered in their order."""
        cells, empty = _Cells.of(rows), _Cells.of(())
        return cls(len(rows), empty, cells) if len(rows) <= _FEW else cls(len(rows), cells.by_bucket(), empty)

    def with_row(self, row: Row) -> TextRows:
        """Return the index with one more row."""
        extended = object.__new__(TextRows)
        extended.count, extended._sorted, extended._starts = self.count + 1, self._sorted, self._starts
        extended._recent = self._recent.joined(_Cells.of([row], self.count))
        return extended

    @property
    def needs_sorting(self) -> bool:
        """Whether too many rows are outside the index for a query to be fast."""
        recent = self._recent.numbers
        return bool(len(recent)) and self.count - int(recent[0]) > MOST_RECENT

    def kept(self, numbers: NDArray[Any]) -> TextRows:
        """Return an index of some of the rows, renumbered in the given order."""
        np = numpy()
        renumbered = np.full(self.count, -1, np.int32)
        renumbered[numbers] = np.arange(len(numbers))
        cells = self._sorted.joined(self._recent)
        new = renumbered[cells.numbers]
        is_kept = new >= 0
        kept = _Cells(new[is_kept], cells.buckets[is_kept], cells.weights[is_kept])
        return TextRows(len(numbers), kept.by_bucket(), _Cells.of(()))

    def likeness(self, row: Row) -> NDArray[float64]:
        """Return the similarities of all rows to a text, shape (count,): the dot products of their features."""
        np = numpy()
        numbers, products = [self._recent.numbers], [self._recent.weights]
        if len(self._recent.numbers):
            products = [self._recent.weights * row.dense[self._recent.buckets]]
        if len(self._starts):
            cells, weights = self._sharing(row)
            numbers.append(self._sorted.numbers[cells])
            products.append(self._sorted.weights[cells] * weights)
        sums: NDArray[float64] = np.bincount(np.concatenate(numbers), np.concatenate(products), self.count)
        return sums.astype(np.float64, copy=False)  # bincount returns integers for empty input

    def _sharing(self, row: Row) -> tuple[NDArray[Any], NDArray[float64]]:
        """Return the cells of the index that share a feature with a text, and the text's weights of these features."""
        np = numpy()
        begins = self._starts[row.buckets]
        lengths = self._starts[row.buckets + 1] - begins
        cells = np.arange(lengths.sum()) + np.repeat(begins - np.cumsum(lengths) + lengths, lengths)
        return cells, np.repeat(row.weights, lengths)


def numpy() -> Any:
    """Return numpy. Raises ExtraMissingError if it is not installed."""
    return modules.get("numpy") or _imported()  # an import statement costs more than most sums here


def _imported() -> Any:
    with needing("learning", "learning of choices"):
        import numpy as np  # noqa: PLC0415 (an extra)
    return np
