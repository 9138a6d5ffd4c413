"""Cron expressions: ranges past the end of a week, day or year, names, and suggestions in place of wrong ones."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatechart.values.recurrence import Every
from tests.skipped import LOUD

cronsim = pytest.importorskip("cronsim", reason=f"{LOUD}cron expressions: `make test` installs cronsim")

START = datetime(2030, 1, 1, 12, tzinfo=UTC)
DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")


def moments(every, count=20):
    due = [START]
    while len(due) <= count:
        due.append(every.next_after(due[-1]))
    return due[1:]


@pytest.mark.parametrize(
    ("written", "same"),
    [
        ("0 9 * * FRI-SUN", "0 9 * * FRI,SAT,SUN"),
        ("0 9 * * fri-sun", "0 9 * * FRI,SAT,SUN"),
        ("0 9 * * Friday-Sunday", "0 9 * * 0,5,6"),
        ("0 9 * * 5-7", "0 9 * * FRI,SAT,SUN"),
        ("0 9 * * 5-0", "0 9 * * FRI,SAT,SUN"),
        ("0 9 * * 7-2", "0 9 * * SUN-TUE"),
        ("0 9 * * SAT-MON", "0 9 * * 6,0,1"),
        ("0 9 * * SUN-FRI", "0 9 * * 0-5"),
        ("0 9 * * FRI-MON/2", "0 9 * * FRI,SUN"),
        ("0 9 * * WED,SAT-MON", "0 9 * * WED,SAT,SUN,MON"),
        ("0 9 * * FRIL", "0 9 * * 5L"),
        ("0 9 * * Monday#1", "0 9 * * 1#1"),
        ("0 9 1 NOV-FEB *", "0 9 1 11,12,1,2 *"),
        ("0 9 1 sept-jan/2 *", "0 9 1 SEP,NOV,JAN *"),
        ("0 22-2 * * *", "0 22,23,0,1,2 * * *"),
        ("50-10/5 * * * *", "50,55,0,5,10 * * * *"),
        ("0 9 30-2 * *", "0 9 30,31,1,2 * *"),
    ],
)
def test_a_range_may_go_past_the_end(written, same):
    every = Every(cron=written)
    assert every.fault is None
    assert moments(every) == moments(Every(cron=same))


@given(st.sampled_from([("0 9 * * {}-{}", DAYS), ("0 9 1 {}-{} *", MONTHS)]), st.integers(0, 11), st.integers(0, 11))
def test_every_range_of_names_holds_all_names_from_the_first_to_the_last(of, first, last):
    form, names = of
    first, last = first % len(names), last % len(names)
    after = first
    within = [names[first]]
    while after != last:
        after = (after + 1) % len(names)
        within.append(names[after])
    listed = form.replace("{}-{}", ",".join(within))
    assert moments(Every(cron=form.format(names[first], names[last])), 10) == moments(Every(cron=listed), 10)


VALUES = st.integers(0, 70).map(str) | st.sampled_from(
    [*DAYS, *MONTHS, "*", "L", "LW", "Friday", "x", "", "5L", "MON#1"]
)
RANGES = st.builds("{}{}{}".format, VALUES, st.sampled_from(["-", "/", "#", ",", "L"]), VALUES)
PARTS = st.one_of(VALUES, RANGES, st.builds("{}/{}".format, RANGES, VALUES), st.text(max_size=3))
EXPRESSIONS = st.lists(PARTS, max_size=7).map(" ".join) | st.text(max_size=12) | st.sampled_from(["@daily", "@hourly"])


@given(EXPRESSIONS.filter(bool))
def test_what_is_suggested_is_accepted_and_differs_from_what_is_refused(expression):
    every = Every(cron=expression)
    if every.fault is not None:
        suggested = re.fullmatch("write one such as '(.+)'", every.fault[1])
        assert suggested is not None
        assert Every(cron=suggested[1]).fault is None
        assert suggested[1].upper().split() != expression.upper().split()


@given(st.lists(PARTS, min_size=5, max_size=5).map(" ".join))
def test_what_the_library_takes_is_taken_and_means_the_same(expression):
    try:
        due = next(cronsim.CronSim(expression, START))
    except Exception:  # the library raises several
        return
    if len(expression.split()) == 5:
        assert Every(cron=expression).fault is None
        assert Every(cron=expression).next_after(START) == due


@pytest.mark.parametrize(
    ("expression", "suggested"),
    [
        ("0 9 * * FR", "0 9 * * MON-FRI"),
        ("0 25 * * SAT-MON", "0 9 * * SAT-MON"),
        ("0 0 9 * * FRI-SUN", "0 9 * * FRI-SUN"),
        ("@weekly", "0 0 * * SUN"),
        ("0 9 31 FEB *", "0 9 L FEB *"),
    ],
)
def test_the_suggestion_keeps_what_is_right(expression, suggested):
    assert Every(cron=expression).fault[1] == f"write one such as '{suggested}'"
