"""Ridge regressions over the features of texts, in dual form, updated as lessons are added and removed.

All regressions are queried at once: a text is compared with all rows of features together.

Needs numpy, from the extra `gatechart[learning]`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from gatechart.selection.inverse import Inverse
from gatechart.selection.lessons import ObservationTable
from gatechart.selection.text_rows import Row, TextRows, numpy
from gatechart.values.frozen import value

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

SHARED: Final = 0.7
"""Factor on the similarity of two texts if different candidates of the group were chosen for them."""

FEW_CHANGES: Final = 4
"""A small group is solved from scratch if more of its lessons change."""

MOST_CHANGES: Final = 10_000
"""Rank-one updates before a regression is solved from scratch, which removes rounding errors."""

_PART: Final = 8  # larger groups are updated up to 1/8 of their lessons; beyond that, solving is cheaper
_MORE: Final = 64  # slots added when the table is full
_FREE: Final = -1
_SLOT: Final = [("lesson", "i8"), ("group", "i4"), ("code", "i4"), ("surprise", "f8"), ("coefficient", "f8")]


@value
class Fit:
    """The ridge regression of one group."""

    slots: NDArray[Any]  # (n,) indices of its lessons in the common table; some may be free
    inverse: Inverse  # of the similarity matrix of its lessons plus the ridge, (n, n)


@value
class Regressions:
    """The regressions of all groups. Immutable."""

    lessons: ObservationTable
    ridge: float
    table: NDArray[Any]  # of _SLOT: the lessons of all groups; lesson is -1 where a slot is free
    fits: Mapping[int, Fit]  # by group number

    @classmethod
    def of(cls, lessons: ObservationTable, ridge: float) -> Regressions:
        """Return the regressions of lessons, solved from scratch."""
        np = numpy()
        revision = _Revision(lessons, ridge, np.zeros(0, _SLOT), {})
        numbers = _lesson_numbers(lessons.is_taught)
        groups = lessons.groups_of(numbers)
        order = np.argsort(groups, kind="stable")
        known, begins = np.unique(groups[order], return_index=True)
        ends = np.append(begins[1:], len(order)) if len(known) else begins
        for group, begin, end in zip(known.tolist(), begins, ends, strict=True):
            revision.solve(group, numbers[order[begin:end]])
        return revision.result

    def revised(self, lessons: ObservationTable) -> Regressions:
        """Return the regressions of lessons that were `revised` from these."""
        before, after = self.lessons.is_taught, lessons.is_taught
        came = after.copy()
        came[: len(before)] &= ~before
        left, new = _lesson_numbers(before & ~after[: len(before)]), _lesson_numbers(came)
        revision = _Revision(lessons, self.ridge, self.table, dict(self.fits), room=len(new))
        revision.follow(left, new)
        return revision.result

    def compacted(self) -> Regressions:
        """Return the same regressions without the rows and slots of removed lessons."""
        np = numpy()
        lessons = self.lessons.compacted()
        row_of = np.full(len(self.lessons.facts), _FREE)
        row_of[self.lessons.order] = np.arange(len(self.lessons.order))
        is_used = self.table["lesson"] >= 0
        used = {group: fit for group, fit in self.fits.items() if is_used[fit.slots].any()}
        kept = np.concatenate([np.zeros(0, np.int64), *(fit.slots for fit in used.values())])
        slot_of = np.full(len(self.table), _FREE)
        slot_of[kept] = np.arange(len(kept))
        table = self.table[kept]
        numbers = table["lesson"]
        table["lesson"] = np.where(numbers >= 0, 2 * row_of[numbers >> 1] + (numbers & 1), _FREE)
        fits = {group: Fit(slot_of[fit.slots], fit.inverse) for group, fit in used.items()}
        return Regressions(lessons, self.ridge, table, fits)

    def view(self, features: str, first_codes: NDArray[Any]) -> View:
        """Return the predictions for a text.

        features: packed. first_codes: by number of the group, the candidate that would be chosen for the text.
        """
        np = numpy()
        table, by_row = self.table, self.lessons.texts.likeness(Row(features))
        likeness = by_row[table["lesson"] >> 1] if len(by_row) else np.zeros(len(table))
        likeness *= _shares(table["code"], first_codes[table["group"]])
        predicted = np.bincount(table["group"], likeness * table["coefficient"], len(first_codes))
        return View(self, predicted, likeness)


@value
class View:
    """The predictions of regressions for a text."""

    regressions: Regressions
    predicted: NDArray[float64]  # by group number; 0 without lessons
    likeness: NDArray[float64]  # similarities to the lessons in the table

    def deviation(self, group: int) -> float:
        """Return the standard deviation of the prediction for a group; 1 without lessons."""
        fit = self.regressions.fits.get(group)
        if fit is None:
            return 1.0
        likeness = self.likeness[fit.slots]
        known = float(likeness @ fit.inverse.times(likeness))
        return float(max(1.0 - known, 0.0) ** 0.5)


class _Revision:
    """Builder of regressions."""

    def __init__(
        self, lessons: ObservationTable, ridge: float, table: NDArray[Any], fits: dict[int, Fit], *, room: int = 0
    ) -> None:
        """table: is copied. fits: is changed. room: number of slots for new lessons."""
        self._lessons, self._ridge = lessons, ridge
        self._count = len(table)  # slots in use, or used before
        self._table = numpy().zeros(len(table) + room, _SLOT)
        self._table[: len(table)] = table
        self._fits = fits
        self._compared: tuple[int, Row, NDArray[float64]] | None = None

    @property
    def result(self) -> Regressions:
        return Regressions(self._lessons, self._ridge, self._table[: self._count], self._fits)

    def follow(self, left: NDArray[Any], came: NDArray[Any]) -> None:
        """Remove and add lessons. left, came: their numbers."""
        changes: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for numbers, index in ((left, 0), (came, 1)):
            for number, group in zip(numbers.tolist(), self._lessons.groups_of(numbers).tolist(), strict=True):
                changes[group][index].append(number)
        for group, (gone, new) in changes.items():
            fit = self._fits.get(group)
            if fit is None or self._is_too_much(fit, len(gone), len(new)):
                self._solve_again(group)
                continue
            for number in gone:
                fit = self._without(fit, number)
            for number in new:
                fit = self._joined(fit, group, number)
            self._fits[group] = fit

    def solve(self, group: int, numbers: NDArray[Any]) -> None:
        """Solve the regression of a group over its lessons."""
        np, lessons = numpy(), self._lessons
        rows = [Row(lessons.features_of(number)) for number in numbers.tolist()]
        codes, surprises = lessons.codes_of(numbers), lessons.surprises_of(numbers)
        texts = TextRows.of(rows)
        products = np.array([texts.likeness(row) for row in rows]).reshape(len(rows), len(rows))
        products *= _shares(codes[:, None], codes[None, :])
        inverse = np.linalg.inv(products + self._ridge * np.eye(len(rows)))
        slots = np.arange(self._count, self._count + len(numbers))
        own = np.zeros(len(numbers), _SLOT)
        own["lesson"], own["group"], own["code"], own["surprise"] = numbers, group, codes, surprises
        own["coefficient"] = inverse @ surprises
        self._table = np.concatenate((self._table[: self._count], own))
        self._count = len(self._table)
        self._fits[group] = Fit(slots, Inverse(inverse))

    def _is_too_much(self, fit: Fit, left: int, came: int) -> bool:
        """Return whether a regression should be solved from scratch: that is cheaper, or more precise."""
        is_worn = fit.inverse.changes + left + came > MOST_CHANGES
        alive = numpy().count_nonzero(self._table["lesson"][fit.slots] >= 0)
        is_hollow = 2 * (alive - left) < len(fit.slots) - came
        return is_worn or is_hollow or left + came > max(FEW_CHANGES, len(fit.slots) // _PART)

    def _solve_again(self, group: int) -> None:
        old = self._fits.pop(group, None)
        if old is not None:
            self._free(old.slots)
        numbers = self._lessons.numbers_of(group)
        if len(numbers):
            self.solve(group, numbers)

    def _without(self, fit: Fit, number: int) -> Fit:
        """Remove a lesson. The other coefficients follow from its column of the inverse."""
        own = self._table["lesson"][fit.slots]
        slot = int((own == number).argmax())
        column = fit.inverse.column(slot)
        coefficients = self._table["coefficient"][fit.slots]
        self._table["coefficient"][fit.slots] = coefficients - column * (coefficients[slot] / column[slot])
        self._free(fit.slots[slot : slot + 1])
        return Fit(fit.slots, fit.inverse.without(slot, column))

    def _joined(self, fit: Fit, group: int, number: int) -> Fit:
        """Add a lesson, in a free slot or a new one."""
        np = numpy()
        numbers = np.array([number])
        row, by_row = self._compare(number >> 1)
        code, surprise = self._lessons.codes_of(numbers)[0], self._lessons.surprises_of(numbers)[0]
        own = self._table[fit.slots]
        likeness = by_row[own["lesson"] >> 1] * _shares(own["code"], code)
        product = fit.inverse.times(likeness)
        gap = row.square + self._ridge - float(likeness @ product)
        coefficient = (surprise - float(likeness @ own["coefficient"])) / gap
        self._table["coefficient"][fit.slots] -= product * coefficient
        free = np.flatnonzero(own["lesson"] < 0)
        slot, slots = (int(free[0]), fit.slots) if len(free) else (len(own), self._with_slot(fit.slots))
        self._table[slots[slot]] = (number, group, code, surprise, coefficient)
        return Fit(slots, fit.inverse.joined(slot, product, gap))

    def _compare(self, row: int) -> tuple[Row, NDArray[float64]]:
        """Return a row and its similarities to all rows. Cached, because most rows teach two groups."""
        if self._compared is None or self._compared[0] != row:
            features = Row(self._lessons.features_of(2 * row))
            self._compared = row, features, self._lessons.texts.likeness(features)
        return self._compared[1:]

    def _with_slot(self, slots: NDArray[Any]) -> NDArray[Any]:
        """Return the slots of a regression plus the next unused one."""
        np = numpy()
        if self._count == len(self._table):
            self._table = np.append(self._table, np.zeros(_MORE, _SLOT))
        self._count += 1
        extended: NDArray[Any] = np.append(slots, self._count - 1)
        return extended

    def _free(self, slots: NDArray[Any]) -> None:
        for name, empty in (("lesson", _FREE), ("code", _FREE), ("surprise", 0.0), ("coefficient", 0.0)):
            self._table[name][slots] = empty


def _lesson_numbers(is_taught: NDArray[Any]) -> NDArray[Any]:
    """Return the numbers of lessons. is_taught: (rows, 2), as in Lessons."""
    numbers: NDArray[Any] = numpy().flatnonzero(is_taught)
    return numbers


def _shares(codes: NDArray[Any], others: Any) -> NDArray[float64]:
    """Return the factors on similarities: 1 for the same candidate, SHARED for another one, 0 for a free slot."""
    np = numpy()
    shares: NDArray[float64] = np.where(codes == _FREE, 0.0, np.where(codes == others, 1.0, SHARED))
    return shares
