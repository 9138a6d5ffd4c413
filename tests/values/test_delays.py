"""How long something takes."""

from datetime import UTC, datetime, timedelta
from math import inf, nan

import pytest

from gatechart.values.delays import LONGEST_S, delay_text, seconds_in, seconds_of

HUNDRED_YEARS = timedelta(days=36525)


@pytest.mark.parametrize("delay", [inf, -inf, nan, 10**400, -1, "9" * 400 + "d", timedelta.max, "36525.1d", "nan", ""])
def test_what_no_moment_could_be_told_of_is_no_delay(delay):
    assert seconds_of(delay) is None


@pytest.mark.parametrize("delay", [LONGEST_S, "36525d", HUNDRED_YEARS])
def test_the_longest_delay_leads_to_a_moment(delay):
    assert datetime(2899, 12, 31, tzinfo=UTC) + timedelta(seconds=seconds_of(delay)) < datetime.max.replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["90m", "1h30m", "1h 30m", "1.5h", "5400s", "5400000ms", "PT1H30M", "PT90M", "PT1.5H", "PT5400S", " 90 m "]
)
def test_one_duration_can_be_written_in_many_ways(text):
    assert seconds_of(text) == seconds_of(timedelta(minutes=90)) == seconds_of(5400) == 5400


@pytest.mark.parametrize(("text", "days"), [("2d", 2), ("1w", 7), ("P2D", 2), ("P1W", 7), ("P1DT24H", 2), ("1d24h", 2)])
def test_days_and_weeks_have_a_fixed_length(text, days):
    assert seconds_of(text) == days * 86400


@pytest.mark.parametrize(
    "text", ["P", "PT", "P1M", "P1Y", "1h30", "30", "h", "1H", "pt1h", "1h-30m", "PT1M1H", "P1.5.5D"]
)
def test_what_leaves_open_how_long_it_is_is_no_duration(text):
    assert seconds_of(text) is None
    with pytest.raises(ValueError, match="is not a duration; write '500ms', '30s', '1h30m', '2d' or 'PT1H30M'"):
        seconds_in(text)


@pytest.mark.parametrize("seconds", [0, 0.25, 1_234_567, 86400.5, LONGEST_S])
def test_a_number_of_seconds_written_as_text_is_the_same_duration(seconds):
    assert seconds_of(delay_text(seconds)) == seconds


def test_a_very_long_text_is_refused_in_no_time():
    assert seconds_of("1h" * 100_000 + "!") is None
    assert seconds_of("1 " * 100_000) is None
