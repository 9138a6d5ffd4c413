"""A process killed in a loop with approval, compaction and a transfer to another graph: all of it happens once."""

import pytest

from gatechart import Runtime
from tests.crash.handing_agents import check_work, graphs, live
from tests.crash.ledger import check_sound


async def check(url, folder, deaths):
    check_sound(url)
    async with Runtime.open(url, graphs=graphs(), role="reader") as runtime:
        await check_work(runtime, folder, deaths)


async def test_work_that_nothing_disturbs_is_approved_and_handed_on_once(forks, crash_url, tmp_path):
    assert forks.live("handing_agents", crash_url, tmp_path / "points", "nowhere", 0) == 0
    await check(crash_url, tmp_path, deaths=0)


@pytest.mark.sqlite_is_enough
async def test_wherever_the_process_dies_the_next_hands_the_whole_conversation_on(killed_at_commits):
    assert await killed_at_commits("handing_agents", live, check, step=7) > 5


@pytest.mark.slow
async def test_at_each_third_commit_at_which_the_process_dies_the_next_hands_it_on(killed_at_commits):
    assert await killed_at_commits("handing_agents", live, check, step=3) > 15
