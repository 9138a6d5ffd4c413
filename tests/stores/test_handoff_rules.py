"""The ledger: which operations a commit comes to."""

from datetime import UTC, datetime

import pytest

from gatechart.errors import HandoffStateError
from gatechart.stores.handoff_rules import HandoffLedger
from gatechart.stores.memory_tables import Tables
from gatechart.stores.operations import InsertHandoff, TakeSlot
from gatechart.testing.handoff_contract import offer
from gatechart.values.effects import ChangeHandoff
from gatechart.values.handoffs import HandoffStatus

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
    tables = Tables()
    tables.apply(InsertHandoff(offer("1", status=before).handoff))
    tables.apply(TakeSlot("1", "g"))
    ledger = HandoffLedger(tables)
    with pytest.raises(HandoffStateError):
        ledger.change([ChangeHandoff("1", before, after)], NOON)
    assert tables.handoff("1").status is before
    assert not list(ledger.operations())
