"""The inverse of a symmetric matrix whose rows come and go one at a time.

Needs numpy, from the extra `gatechart[learning]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gatechart.selection.text_rows import numpy

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

_MOST_TERMS: Final = 32
"""Rank-one terms that are kept beside the matrix. To add them all up at once costs little more than to add one."""


class Inverse:
    """The inverse of a positive definite matrix over slots. It never changes: what differs by a row shares the rest.

    A slot whose row has left is free: it counts as a row and a column of zeros, until another row takes it.
    It is kept as a full matrix and rank-one terms: to take a row in or out is a rank-one update (block inversion, as in
    Golub and Van Loan, Matrix Computations, 2.1.4), and costs O(n) beside one product of the matrix with a vector.
    """

    __slots__ = ("_matrix", "_signs", "_terms", "changes", "size")

    def __init__(
        self,
        matrix: NDArray[float64],
        terms: NDArray[float64] | None = None,
        signs: NDArray[float64] | None = None,
        changes: int = 0,
    ) -> None:
        """matrix: (m, m), of the first slots. terms: (k, n), n >= m. signs: (k,). changes: since it was solved."""
        np = numpy()
        self._matrix = matrix
        self._terms: NDArray[float64] = np.zeros((0, len(matrix))) if terms is None else terms
        self._signs: NDArray[float64] = np.zeros(0) if signs is None else signs
        self.size: int = self._terms.shape[1]
        self.changes = changes

    def times(self, vector: NDArray[float64]) -> NDArray[float64]:
        """Return the product with a vector, shape (size,), which is 0 at free slots."""
        known = len(self._matrix)
        product: NDArray[float64] = (self._signs * (self._terms @ vector)) @ self._terms
        product[:known] += self._matrix @ vector[:known]
        return product

    def column(self, slot: int) -> NDArray[float64]:
        """Return the column of a slot, shape (size,)."""
        known = len(self._matrix)
        column: NDArray[float64] = (self._signs * self._terms[:, slot]) @ self._terms
        if slot < known:
            column[:known] += self._matrix[:, slot]
        return column

    def without(self, slot: int, column: NDArray[float64]) -> Inverse:
        """Return the inverse without the row and the column of a slot, which becomes free. column: of that slot."""
        return self._with(column / column[slot] ** 0.5, -1.0)

    def joined(self, slot: int, product: NDArray[float64], gap: float) -> Inverse:
        """Return the inverse with one more row and column.

        slot: a free one, or the next. product: `times` of the new row over the other slots. gap: by how much the new
        element of the diagonal exceeds the product with that row.
        """
        np = numpy()
        term = np.append(product, 0.0) if slot == self.size else product.copy()
        term[slot] = -1.0
        return self._with(term / gap**0.5, 1.0)

    def _with(self, term: NDArray[float64], sign: float) -> Inverse:
        np = numpy()
        terms = np.zeros((len(self._signs) + 1, len(term)))
        terms[:-1, : self.size], terms[-1] = self._terms, term
        signs = np.append(self._signs, sign)
        if len(signs) <= _MOST_TERMS:
            return Inverse(self._matrix, terms, signs, self.changes + 1)
        known: Any = len(self._matrix)
        matrix = (terms.T * signs) @ terms
        matrix[:known, :known] += self._matrix
        return Inverse(matrix, changes=self.changes + 1)
