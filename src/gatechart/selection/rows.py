"""Dot products of a text with every candidate at once, in plain Python."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

UNIT: Final = 1 << 15
"""The integer that represents a weight of 1. A product of two fits a lane, as do sums up to 4."""

_LANE: Final = 32  # bits
_SPARSE: Final = 32  # a row with a weight in fewer than 1 of 32 columns is faster as pairs

Whole: TypeAlias = dict[str, int]


class Rows:
    """A matrix of weights with a row for each feature, whose dot products with all columns are computed at once.

    A row is one long integer with 32 bits for each column. Multiplying it by a weight and adding it to a sum takes two
    operations for all columns together, about 2 µs for 1,000 columns. Sparse rows are pairs of column and weight.
    Integer sums do not depend on the order of addition, so neither do scores.
    """

    __slots__ = ("_few", "_lanes", "_long", "_places")

    def __init__(self, columns: Sequence[Mapping[str, float]]) -> None:
        """columns: for each column, the weights of features, from 0 to 1."""
        rows: dict[str, list[tuple[int, int]]] = {}
        for place, column in enumerate(columns):
            for name, weight in whole(column).items():
                rows.setdefault(name, []).append((place, weight))
        self._places = len(columns)
        self._lanes = struct.Struct(f"<{self._places}I")
        is_long = {name: len(row) * _SPARSE >= self._places for name, row in rows.items()}
        self._long = {name: self._joined(row) for name, row in rows.items() if is_long[name]}
        self._few = {name: tuple(row) for name, row in rows.items() if not is_long[name]}

    def sums(self, weights: Whole) -> list[int]:
        """Return the dot product with each column, in units of `UNIT` squared."""
        total, few = 0, []
        for name, weight in weights.items():
            row = self._long.get(name)
            if row is not None:
                total += weight * row
            elif name in self._few:
                few.append((weight, self._few[name]))
        sums = list(self._lanes.unpack(total.to_bytes(self._lanes.size, "little")))
        for weight, pairs in few:
            for place, each in pairs:
                sums[place] += weight * each
        return sums

    def _joined(self, row: Iterable[tuple[int, int]]) -> int:
        lanes = [0] * self._places
        for place, weight in row:
            lanes[place] = weight
        return int.from_bytes(self._lanes.pack(*lanes), "little")


def whole(weights: Mapping[str, float]) -> Whole:
    """Return the weights in whole units, without weights that round to 0."""
    units = {name: round(each * UNIT) for name, each in weights.items()}
    return {name: each for name, each in units.items() if each}
