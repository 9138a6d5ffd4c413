"""A process killed amid calls of an agent with signals: each is on the trail once, and the signal fires at the same."""

import pytest

from gatechart import Runtime
from tests.crash.ledger import check_sound
from tests.crash.noticing_agents import check_noticed, live, noticing


async def check(url, folder, deaths):
    check_sound(url)
    async with Runtime.open(url, graphs=[noticing], role="reader") as runtime:
        check_noticed(await runtime.resume("n-1"), folder, deaths)


async def test_an_agent_that_nothing_disturbs_is_noticed_once(forks, crash_url, tmp_path):
    assert forks.live("noticing_agents", crash_url, tmp_path / "points", "nowhere", 0) == 0
    await check(crash_url, tmp_path, deaths=0)


@pytest.mark.sqlite_is_enough
async def test_wherever_the_process_dies_a_signal_fires_once_and_at_the_same_call(killed_at_commits):
    assert await killed_at_commits("noticing_agents", live, check, step=3) > 5


@pytest.mark.slow
async def test_at_every_commit_at_which_the_process_dies_a_signal_fires_once(killed_at_commits):
    assert await killed_at_commits("noticing_agents", live, check, step=1) > 15
