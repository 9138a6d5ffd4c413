"""The order of an agent's mail."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from gatechart.turn import in_order
from gatechart.values import Mail
from tests.support import NOW


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def mail(number: int, accepted: float, due: float | None = None) -> Mail:
    return Mail(number, "a", f"M{number}", {}, at(accepted), due=None if due is None else at(due))


@pytest.mark.parametrize(
    ("mails", "order"),
    [
        pytest.param([], [], id="there is none"),
        pytest.param([mail(2, 0), mail(1, 0), mail(3, 5)], [1, 2, 3], id="as accepted"),
        pytest.param([mail(1, 0, 3), mail(2, 0), mail(3, 5)], [2, 1, 3], id="a timer when it is due"),
        pytest.param([mail(1, 0, 9), mail(2, 0, 3)], [2, 1], id="timers as they are due"),
        pytest.param([mail(1, 0, 3), mail(2, 0, 3), mail(3, 3)], [1, 2, 3], id="at the same moment as accepted"),
        pytest.param([mail(1, 4), mail(2, 5, -5), mail(3, 5, -9)], [1, 2, 3], id="never before it was accepted"),
    ],
)
def test_mail_is_ordered_by_when_it_became_ready(mails: list[Mail], order: list[int]) -> None:
    assert [each.number for each in in_order(mails)] == order


def test_a_clock_that_was_set_back_reorders_no_mail_without_a_due_time() -> None:
    assert [each.number for each in in_order([mail(1, 60), mail(2, 0), mail(3, 0, 5), mail(4, 0)])] == [1, 2, 3, 4]


def test_a_timer_set_while_the_clock_was_ahead_moves_no_other_mail() -> None:
    assert [each.number for each in in_order([mail(1, 60, 90), mail(2, 0, 5), mail(3, 0)])] == [3, 2, 1]
