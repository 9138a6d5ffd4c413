"""When recurring timers are due: no drift, the clocks of a zone, and what was missed."""

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest

from gatechart.values.recurrence import Every
from tests.skipped import LOUD

pytest.importorskip("cronsim", reason=f"{LOUD}cron expressions: `make test` installs cronsim")

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
FIVE_FIELDS = "it needs 5 fields (minute, hour, day of the month, month, weekday)"
DAILY = Every(cron="30 2 * * *", zone="Europe/Berlin")


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def moments(every, after, count):
    found = [after]
    while len(found) <= count:
        found.append(every.following(found[-1], found[-1]))
    return found[1:]


def test_each_moment_follows_from_the_one_before_and_not_from_when_that_was_handled():
    hourly = Every("1h")
    assert hourly.next_after(NOON) == NOON + HOUR
    assert hourly.following(NOON, NOON + timedelta(minutes=59, seconds=59)) == NOON + HOUR
    cron = Every(cron="0 * * * *")
    assert cron.following(NOON, NOON + timedelta(minutes=59)) == NOON + HOUR


def test_a_cron_expression_follows_the_clocks_of_its_zone():
    weekdays = Every(cron="0 9 * * MON-FRI", zone="America/New_York")
    assert weekdays.next_after(at("2030-01-04 15:00")) == at("2030-01-07 14:00")  # from Friday to Monday


def test_a_time_that_the_clocks_skip_is_due_once_they_go_on():
    # On 31 March 2030 the clocks of Berlin went from 02:00 to 03:00, which is 01:00 UTC.
    assert moments(DAILY, at("2030-03-29 12:00"), 3) == [
        at("2030-03-30 01:30"), at("2030-03-31 01:00"), at("2030-04-01 00:30"),
    ]  # fmt: skip


def test_a_time_that_the_clocks_repeat_is_due_once():
    # On 27 October 2030 the clocks of Berlin went back from 03:00 to 02:00, which is 01:00 UTC.
    assert moments(DAILY, at("2030-10-26 12:00"), 2) == [at("2030-10-27 00:30"), at("2030-10-28 01:30")]
    in_second_pass = at("2030-10-27 01:15")
    assert DAILY.next_after(in_second_pass) == at("2030-10-28 01:30")


def test_every_hour_is_every_hour_also_when_the_clocks_change():
    hourly = Every(cron="0 * * * *", zone="Europe/Berlin")
    for change in ("2030-03-30 20:00", "2030-10-26 20:00"):
        assert all(later - earlier == HOUR for earlier, later in pairwise(moments(hourly, at(change), 12)))


@pytest.mark.parametrize("every", [Every("1h"), Every(cron="0 * * * *")])
def test_of_several_missed_moments_one_is_made_up_for(every):
    assert every.following(NOON, NOON + 3.5 * HOUR) == NOON + 4 * HOUR
    assert every.following(NOON, NOON + 3 * HOUR) == NOON + 4 * HOUR
    assert not every.is_skipped(NOON, NOON + 3 * HOUR)


@pytest.mark.parametrize("every", [Every("1h", missed="each"), Every(cron="0 * * * *", missed="each")])
def test_each_missed_moment_is_made_up_for_up_to_a_bound(every):
    assert every.following(NOON, NOON + 3.5 * HOUR) == NOON + HOUR
    assert every.following(NOON, NOON + 1000 * HOUR) == NOON + 901 * HOUR
    assert not every.is_skipped(NOON, NOON + 3 * HOUR)


@pytest.mark.parametrize("every", [Every("1h", missed="none"), Every(cron="0 * * * *", missed="none")])
def test_no_missed_moment_is_made_up_for(every):
    assert every.following(NOON, NOON + 3.5 * HOUR) == NOON + 4 * HOUR
    assert every.is_skipped(NOON, NOON + timedelta(minutes=2))
    assert not every.is_skipped(NOON, NOON + timedelta(seconds=30))


def test_a_clock_that_was_set_back_does_not_repeat_a_moment():
    assert Every("1h").following(NOON, NOON - 5 * HOUR) == NOON + HOUR
    assert Every(cron="0 * * * *").following(NOON, NOON - 5 * HOUR) == NOON + HOUR


@pytest.mark.parametrize(
    ("every", "problem"),
    [
        (Every(), "it has neither or both of a period and cron="),
        (Every("1d", cron="0 9 * * *"), "it has neither or both of a period and cron="),
        (Every("soon"), "'soon' is not a duration"),
        (Every(0), "0 is too short a period"),
        (Every("1d", zone="Europe/Berlin"), "zone='Europe/Berlin', but a period is the same in all zones"),
        (Every("1d", missed="some"), "missed='some'"),
        (
            Every(cron="0 9 * *"),
            f"'0 9 * *' is not a cron expression: {FIVE_FIELDS}, not 4",
        ),
        (
            Every(cron="0 9 31 2 *"),
            "'0 9 31 2 *' is not a cron expression: it is never due: no such month has such a day",
        ),
        (
            Every(cron="0 0 9 * * *"),
            f"'0 0 9 * * *' is not a cron expression: {FIVE_FIELDS}, not 6",
        ),
        (
            Every(cron="0 9 * * FR"),
            "'0 9 * * FR' is not a cron expression: its weekday is 'FR', not 0 to 7 or SUN to SAT",
        ),
        (Every(cron="0 25 * * *"), "'0 25 * * *' is not a cron expression: its hour is '25', not 0 to 23"),
        (Every(cron="0 9 * * *", zone="Mars/Olympus"), "unknown time zone 'Mars/Olympus'"),
        (Every(cron="0 9 * * *", zone="../etc"), "unknown time zone '../etc'"),
    ],
)
def test_what_is_no_recurrence_has_a_fault(every, problem):
    assert every.fault is not None
    assert every.fault[0] == problem


@pytest.mark.parametrize("every", [Every("1d"), Every(60), Every(cron="0 9 * * MON-FRI"), DAILY])
def test_a_recurrence_has_none(every):
    assert every.fault is None


LATEST = datetime.max.replace(tzinfo=UTC)
EARLIEST = datetime.min.replace(tzinfo=UTC)
EDGES = [
    LATEST,
    datetime.max.replace(tzinfo=timezone(-timedelta(hours=14))),
    datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
    EARLIEST,
]
RECURRENCES = [
    Every("1ms"),
    Every("100d", missed="each"),
    Every(36_525 * 86_400),
    Every(cron="0 9 * * *", zone="Pacific/Kiritimati"),
    Every(cron="0 0 29 2 *", missed="each"),
]


@pytest.mark.parametrize("every", RECURRENCES, ids=lambda every: every.text)
def test_there_is_no_moment_after_the_year_9999(every):
    assert every.next_after(LATEST) is None
    assert every.following(LATEST, LATEST) is None
    for moment in EDGES:
        every.next_after(moment)
        every.following(EARLIEST, moment)
        every.following(moment, NOON)


@pytest.mark.parametrize(
    "cron",
    [
        "1" * 100_000 + " * * * *",
        "1" * 5_000,
        "*/" + "9" * 5_000 + " * * * *",
        "\N{ARABIC-INDIC DIGIT ONE} * * * *",
        "\x00 * * * *",
        "\ud800 * * * *",
        "0 0 30 2 *",
        5,
    ],
    ids=lambda cron: f"{cron!r:.12}",
)
def test_whatever_is_no_cron_expression_is_a_fault_that_names_what_would_be_one(cron):
    problem, remedy = Every(cron=cron).fault
    assert "cron expression" in problem
    suggested = remedy.partition("'")[2].rpartition("'")[0]
    assert "1,000 or fewer" in remedy or Every(cron=suggested).fault is None


@pytest.mark.parametrize("zone", ["\x00", "\ud800", "a" * 5_000, "../../etc/passwd", "", ".", 5])
def test_whatever_is_no_time_zone_is_a_fault(zone):
    problem, _ = Every(cron="0 9 * * *", zone=zone).fault
    assert problem.startswith("unknown time zone")


@pytest.mark.parametrize("every", [Every("1d"), Every(cron="0 9 * * *")])
def test_a_moment_without_a_time_zone_is_refused(every):
    with pytest.raises(ValueError, match="has no time zone; give it one"):
        every.next_after(datetime(2030, 1, 1))  # noqa: DTZ001


@pytest.mark.parametrize(
    "every", [Every("1d" * 100_000), Every(cron="0 9 * * *", zone="x" * 100_000), Every("1d", missed="x" * 100_000)]
)
def test_a_fault_repeats_only_the_beginning_of_a_long_text(every):
    assert every.fault is not None
    assert len(every.fault[0]) < 200
