"""A process killed while a call waits for a circuit breaker, or as the wait begins: the next one goes on with it."""

import logging
import signal

import pytest

from gatechart import Runtime
from tests.crash.awaiting_agents import live, looking
from tests.crash.ledger import check_sound
from tests.crash.waiting_agents import HOUR, NOON


@pytest.fixture(autouse=True)
def _quiet():
    """What fails on purpose is not logged."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(before)


async def check(url, folder, deaths):
    """One attempt, one wait, and no use of the tool but the first, and those after the break.

    If the process died between the failure that opened the breaker and the record of the call, that call is refused.
    """
    check_sound(url)
    uses = (folder / "uses").read_text().split()
    used = dict.fromkeys(uses)
    refused = 4 - len(list(used)[1:])
    assert list(used) in (["0", "3"], ["0", "2", "3"][: 3 * deaths])
    assert len(uses) <= len(used) + deaths
    async with Runtime.open(url, graphs=[looking], role="reader") as runtime:
        history = await runtime.history("w-1")
        names = [each.event.name for each in history]
        assert names.count("escape.await_breaker") == names.count("trail.wait") == 1
        assert history[-1].event.payload["result"] == [False] * refused + [True] * (4 - refused)
        assert NOON + HOUR <= history[-1].event.time < NOON + HOUR * 1.01


async def test_a_process_that_nothing_disturbs_waits_once(forks, crash_url, tmp_path):
    assert forks.live("awaiting_agents", crash_url, tmp_path / "points", "nowhere", 0) == 0
    await check(crash_url, tmp_path, deaths=0)


async def test_a_wait_goes_on_to_the_same_moment_after_its_process_was_killed(forks, crash_url, tmp_path):
    for _ in range(3):
        assert forks.live("awaiting_agents", crash_url, tmp_path / "points", "waiting", 0) == -signal.SIGKILL
    await live(crash_url, tmp_path)
    moments = (tmp_path / "due").read_text().split()
    assert (len(moments), len(set(moments))) == (4, 1)
    await check(crash_url, tmp_path, deaths=0)


async def test_wherever_the_process_dies_the_wait_is_begun_once(killed_at_commits):
    assert await killed_at_commits("awaiting_agents", live, check, step=3) > 3
