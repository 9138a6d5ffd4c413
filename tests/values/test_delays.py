"""How long something takes."""

from datetime import UTC, datetime, timedelta
from math import inf, nan

import pytest

from gatechart.values import LONGEST_S, seconds_of

HUNDRED_YEARS = timedelta(days=36525)


@pytest.mark.parametrize("delay", [inf, -inf, nan, 10**400, -1, "9" * 400 + "d", timedelta.max, "36525.1d", "nan", ""])
def test_what_no_moment_could_be_told_of_is_no_delay(delay):
    assert seconds_of(delay) is None


@pytest.mark.parametrize("delay", [LONGEST_S, "36525d", HUNDRED_YEARS])
def test_the_longest_delay_leads_to_a_moment(delay):
    assert datetime(2899, 12, 31, tzinfo=UTC) + timedelta(seconds=seconds_of(delay)) < datetime.max.replace(tzinfo=UTC)
