"""Agents of the tool ring that share circuit breakers: their plan waits for these, so that they finish."""

import logging

import pytest

from statecharts.tool_ring.play import Situation, play
from statecharts.tool_ring.shared_breakers import SEEDS, play_groups, row
from statecharts.tool_ring.tools import Chances

EIGHT_HOURS_S = 8 * 3600


@pytest.fixture(autouse=True)
def _quiet():
    """What fails on purpose is not logged."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(before)


def situation(seed, **more):
    return Situation("shared breakers", Chances(seed=seed), **more)


def check(played, agents):
    """Four of five finish at least, none is without an end, and no wait is longer than the plan allows."""
    assert sum(count for _, count in played.ends) == played.count == agents
    assert played.finished >= 0.8 * agents
    assert not dict(played.ends)["EXHAUSTED"]
    assert len(played.waited_s) == agents
    assert played.waited_s[-1] <= EIGHT_HOURS_S


@pytest.mark.parametrize("seed", SEEDS)
async def test_in_a_ring_of_ten_all_finish(seed):
    played = await play(situation(seed), 10, measures_waits=True)
    check(played, 10)
    assert played.finished == 10


@pytest.mark.parametrize(("seed", "size"), [(3, 1), (4, 1), (3, 10), (4, 10), (1, 100)])
async def test_few_and_many_at_once_finish(seed, size):
    check(await play_groups(situation(seed), size), 100)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("size", [1, 10, 100, 1_000])
async def test_few_and_many_at_once_finish_on_every_seed(seed, size):
    check(await play_groups(situation(seed), size), max(100, size))


async def test_agents_at_once_on_a_database_wait_and_finish(sqlite_url):
    check(await play(situation(2), 10, sqlite_url, measures_waits=True), 10)


async def test_the_same_seed_plays_the_same():
    first, again = [await play(situation(3), 20, measures_waits=True) for _ in range(2)]
    assert first == again


async def test_with_the_plan_as_many_finish_as_without_it_or_more():
    for seed in SEEDS[:4]:
        alone = [await play(situation(seed, has_plan=plan), 10) for plan in (False, True)]
        assert alone[1].finished >= alone[0].finished


async def test_a_line_of_the_report_has_all_that_is_measured():
    played = await play(situation(2), 10, measures_waits=True)
    counts, _, waits = row(10, 2, played).rpartition("  ")
    assert counts.split() == ["10", "2", "10", "10", "0", "0", "0"]
    assert waits
