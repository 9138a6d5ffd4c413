"""The book of handoffs: what may follow what."""

from datetime import UTC, datetime

import pytest

from gatechart.errors import HandoffStateError
from gatechart.stores.ledger import Book, Entry
from gatechart.values import ChangeHandoff, HandoffStatus

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (HandoffStatus.PENDING, HandoffStatus.COMPLETED),
        (HandoffStatus.ACCEPTED, HandoffStatus.REJECTED),
        (HandoffStatus.COMPLETED, HandoffStatus.ACCEPTED),
    ],
)
def test_a_change_that_cannot_follow_is_refused_and_changes_nothing(before, after):
    book = Book({"1": Entry(before, ())}, {"1": "g"}, {"g": 1})
    with pytest.raises(HandoffStateError):
        book.settle([ChangeHandoff("1", before, after)], NOON)
    assert book.entries["1"] == Entry(before, ())
    assert not book.touched
