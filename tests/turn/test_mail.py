"""The order of an agent's mail, and what is logged of mail that fails."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from gatechart.turn.mail import after_failure, in_order
from gatechart.values.delays import Retry
from gatechart.values.mail import Mail, MailStatus
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


def test_mail_that_fails_again_in_the_same_way_is_logged_without_its_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broken, failing = Retry(attempts=4, first_s=1), mail(1, 0)
    for problem in ("it broke", "it broke", "it burnt", "it burnt"):
        failing = after_failure(failing, ValueError(problem), NOW, broken, "desk")
    assert failing.status is MailStatus.DEAD
    assert [record.exc_info is not None for record in caplog.records] == [True, False, True, False]
    again = "mail failed, and will be retried: M1 (mail 1) of agent a, graph desk, attempt"
    assert [record.message for record in caplog.records] == [
        f"{again} 1: ValueError: it broke",
        f"{again} 2: ValueError: it broke",
        f"{again} 3: ValueError: it burnt",
        "mail is dead: every attempt failed: M1 (mail 1) of agent a, graph desk, attempt 4: ValueError: it burnt",
    ]


def test_the_waits_of_mail_that_fails_at_once_are_spread_by_jitter() -> None:
    broken = Retry(first_s=100, most_s=1000, jitter=0.1)
    failed = [after_failure(mail(number, 0), ValueError("down"), NOW, broken, "desk") for number in range(1, 11)]
    waits_s = [(each.retry_at - NOW).total_seconds() for each in failed if each.retry_at is not None]
    assert len(set(waits_s)) == 10
    assert 90 <= min(waits_s) < max(waits_s) <= 110
