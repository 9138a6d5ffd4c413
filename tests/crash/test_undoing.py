"""A process killed while an agent goes back over its calls: nothing is paid twice, and nothing is taken back twice."""

import pytest

from gatechart import Runtime
from tests.crash.ledger import check_sound
from tests.crash.undoing_agents import lines, live, undoing

TWICE = ["book 1A", "book 1B", "cancel 1B", "cancel 1A", "book 1A", "book 1B"]


async def check(url, folder, deaths):
    check_sound(url)
    async with Runtime.open(url, graphs=[undoing], role="reader") as runtime:
        agent = await runtime.resume("u-1")
        told = str([turn.event.payload for turn in await agent.history()])
    deeds = lines(folder / "deeds")
    if agent.snapshot.configuration == ("DONE",) and "outcome unknown" not in told:
        assert deeds == TWICE
    else:
        assert deaths
    for seat in ("1A", "1B"):
        own = [each.split()[0] for each in deeds if each.endswith(seat)]
        assert own in (["book", "cancel", "book"][: len(own)], [])
    assert len(lines(folder / "paid")) == 1


async def test_an_agent_that_nothing_disturbs_takes_its_calls_back_and_makes_them_again(forks, crash_url, tmp_path):
    assert forks.live("undoing_agents", crash_url, tmp_path / "points", "nowhere", 0) == 0
    await check(crash_url, tmp_path, deaths=0)


@pytest.mark.sqlite_is_enough
async def test_wherever_the_process_dies_nothing_is_paid_or_taken_back_twice(killed_at_commits):
    assert await killed_at_commits("undoing_agents", live, check, step=7) > 5


@pytest.mark.slow
async def test_at_every_commit_at_which_the_process_dies_nothing_is_paid_or_taken_back_twice(killed_at_commits):
    assert await killed_at_commits("undoing_agents", live, check, step=1) > 30
