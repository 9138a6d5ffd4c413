"""A process killed in a model loop of ten turns and twenty calls: each recorded turn and call stays the only one."""

import pytest

from gatechart import Runtime
from tests.crash.ledger import check_sound
from tests.crash.talking_agents import check_talk, live, talking


async def check(url, folder, deaths):
    check_sound(url)
    async with Runtime.open(url, graphs=[talking()], role="reader") as runtime:
        check_talk(await runtime.resume("t-1"), folder, deaths)
        history = await runtime.history("t-1")
    assert [each.event.name for each in history] == ["agent.started.THINKING", "done.invoke.think"]


async def test_a_loop_that_nothing_disturbs_takes_each_turn_and_call_once(forks, crash_url, tmp_path):
    assert forks.live("talking_agents", crash_url, tmp_path / "points", "nowhere", 0) == 0
    await check(crash_url, tmp_path, deaths=0)


@pytest.mark.sqlite_is_enough
async def test_wherever_the_process_dies_the_next_goes_on_where_the_transcript_ends(killed_at_commits):
    assert await killed_at_commits("talking_agents", live, check, step=9) > 10


@pytest.mark.slow
async def test_at_every_commit_at_which_the_process_dies_the_next_goes_on(killed_at_commits):
    assert await killed_at_commits("talking_agents", live, check, step=1) > 100
