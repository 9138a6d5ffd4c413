"""The inverse of a symmetric matrix, updated as single rows are added and removed.

Needs numpy, from the extra `gatechart[learning]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gatechart.selection.text_rows import numpy

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

MOST_TERMS: Final = 32
"""Rank-one terms that are kept beside the matrix. Adding all of them at once costs little more than adding one."""


class Inverse:
    """The inverse of a positive definite matrix over slots. Immutable: instances that differ by a row share the rest.

    The slot of a removed row is free: its row and column are zero until another row is added there. The inverse is
    stored as a full matrix plus rank-one terms. Adding or removing a row is a rank-one update (block inversion, as in
    Golub and Van Loan, Matrix Computations, 2.1.4). It costs O(n) plus one product of the matrix with a vector.
    """

    __slots__ = ("_matrix", "_signs", "_terms", "changes", "size")

    def __init__(
        self,
        matrix: NDArray[float64],
        terms: NDArray[float64] | None = None,
        signs: NDArray[float64] | None = None,
        changes: int = 0,
    ) -> None:
        """matrix: (m, m), of the first slots. terms: (k, n), n >= m. signs: (k,). changes: since the full solve."""
        np = numpy()
        self._matrix = matrix
        self._terms: NDArray[float64] = np.zeros((0, len(matrix))) if terms is None else terms
        self._signs: NDArray[float64] = np.zeros(0) if signs is None else signs
        self.size: int = self._terms.shape[1]
        self.changes = changes

    def times(self, vector: NDArray[float64]) -> NDArray[float64]:
        """Return the product with a vector that is 0 at free slots. vector, result: shape (size,)."""
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
        """Return the inverse without the row and the column of a slot, which becomes free. column: of the slot."""
        return self._with(column / column[slot] ** 0.5, -1.0)

    def joined(self, slot: int, product: NDArray[float64], gap: float) -> Inverse:
        """Return the inverse with one more row and column.

        slot: a free one, or `size`. product: `times` of the new row over the other slots. gap: the Schur complement,
        which is the new diagonal element minus the dot product of the new row and `product`.
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
        if len(signs) <= MOST_TERMS:
            return Inverse(self._matrix, terms, signs, self.changes + 1)
        known: Any = len(self._matrix)
        matrix = (terms.T * signs) @ terms
        matrix[:known, :known] += self._matrix
        return Inverse(matrix, changes=self.changes + 1)
