"""The clock that is set by hand."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from gatechart import Runtime
from gatechart.testing import VirtualClock
from tests.runtime.support import parcel

pytestmark = pytest.mark.sqlite_is_enough

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def test_a_virtual_clock_stands_still_until_it_is_told_to_go_on():
    clock = VirtualClock(NOON)
    assert clock.now() == clock.now() == clock.at == NOON
    clock.advance(1.5)
    assert clock.now() == NOON + timedelta(seconds=1.5)
    clock.advance(-2)
    assert clock.now() == NOON - timedelta(seconds=0.5)


def test_a_virtual_clock_begins_in_the_year_2000():
    assert VirtualClock().now() == datetime(2000, 1, 1, tzinfo=UTC)


def test_a_virtual_clock_is_set_to_any_moment_and_shows_it_in_utc():
    clock = VirtualClock()
    clock.at = datetime(2030, 1, 1, 14, tzinfo=timezone(timedelta(hours=2)))
    assert clock.now() == NOON
    assert clock.now().tzinfo is UTC


def test_a_virtual_clock_refuses_a_moment_without_a_time_zone():
    clock = VirtualClock(NOON)
    for naive in (datetime(2030, 1, 1), datetime.min):  # noqa: DTZ001, DTZ901
        with pytest.raises(ValueError, match="has no time zone"):
            clock.at = naive
        with pytest.raises(ValueError, match="has no time zone"):
            VirtualClock(naive)
    assert clock.now() == NOON


@pytest.mark.needs("takes_a_clock")
async def test_a_runtime_tells_the_time_of_its_clock(place):
    clock = VirtualClock(NOON)
    async with Runtime.open(place, graphs=[parcel], clock=clock) as runtime:
        agent = await runtime.start("parcel", at="PACKING")
        for seconds in (0.000001, 3600):
            clock.advance(seconds)
            await agent.send("STAMPED")
        times = [entry.event.time for entry in await agent.history()]
    assert times == [NOON, NOON + timedelta(microseconds=1), NOON + timedelta(seconds=3600, microseconds=1)]


async def test_a_runtime_without_a_clock_tells_the_machines(place):
    before = datetime.now(UTC)
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="PACKING")
        [entry] = await agent.history()
    assert before <= entry.event.time <= datetime.now(UTC)
