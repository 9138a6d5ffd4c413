from __future__ import annotations

from itertools import product

import pytest

from gatechart.errors import HandoffStateError
from gatechart.handoff.lifecycle import LEGAL, check_change, is_open
from gatechart.values.handoffs import HandoffStatus

C, P, A = HandoffStatus.CHOOSING, HandoffStatus.PENDING, HandoffStatus.ACCEPTED
ALLOWED = {
    (C, P),
    (C, HandoffStatus.REJECTED),
    (C, HandoffStatus.CANCELLED),
    (C, HandoffStatus.EXPIRED),
    (P, A),
    (P, HandoffStatus.REJECTED),
    (P, HandoffStatus.CANCELLED),
    (P, HandoffStatus.EXPIRED),
    (A, HandoffStatus.COMPLETED),
    (A, HandoffStatus.FAILED),
    (A, HandoffStatus.CANCELLED),
}


@pytest.mark.parametrize(("before", "after"), list(product(HandoffStatus, repeat=2)))
def test_every_change_is_allowed_or_refused_as_the_protocol_says(before: HandoffStatus, after: HandoffStatus) -> None:
    if (before, after) in ALLOWED:
        check_change(before, after)
        return
    with pytest.raises(HandoffStateError) as caught:
        check_change(before, after)
    assert caught.value.allowed == tuple(each.value for each in LEGAL[before])


def test_every_status_has_its_line_in_the_table() -> None:
    assert set(LEGAL) == set(HandoffStatus)
    assert {status for status in HandoffStatus if is_open(status)} == {C, P, A}


def test_a_refused_change_names_what_is_allowed_and_the_handoff() -> None:
    with pytest.raises(HandoffStateError, match=r"handoff 'h1' is 'accepted' and cannot become 'pending'.*'failed'"):
        check_change(A, P, "h1")
    with pytest.raises(HandoffStateError, match=r"the handoff is 'expired'.* nothing else, for it has ended"):
        check_change(HandoffStatus.EXPIRED, A)


def test_the_table_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        LEGAL[P] = ()
