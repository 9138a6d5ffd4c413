"""A process killed while an invoke waits: the next one counts on and waits only for the rest."""

import json
import signal

import pytest

from gatechart import Runtime
from tests.crash.ledger import check_sound
from tests.crash.waiting_agents import HOUR, NOON, TRIES, live, shipping

MOMENTS = ("before COMMIT", "after COMMIT")


async def check(url, folder, deaths):
    """Each moment came once, whoever waited for it; the try during which the process died may have been repeated."""
    check_sound(url)
    tries = [line.split() for line in (folder / "tries").read_text().splitlines()]
    tries = [(name, int(hour)) for name, hour in tries]
    assert sorted(set(tries)) == sorted(TRIES)
    assert len(tries) <= len(TRIES) + deaths
    async with Runtime.open(url, graphs=[shipping], role="reader") as runtime:
        history = await runtime.history("s-1")
        assert [each.event.name for each in history] == ["agent.started.SHIPPING", "done.invoke.ship"]
        assert history[-1].event.time == NOON + 5 * HOUR


async def test_a_process_that_nothing_disturbs_waits_for_each_moment_once(forks, crash_url, tmp_path):
    assert forks.live("waiting_agents", crash_url, tmp_path / "points", "nowhere", 0) == 0
    await check(crash_url, tmp_path, deaths=0)


@pytest.mark.parametrize(("point", "nth"), [(point, nth) for point in MOMENTS for nth in (5, 7, 9)])
async def test_a_process_that_dies_in_a_wait_is_gone_on_with_for_the_rest_of_it(forks, crash_url, tmp_path, point, nth):
    assert forks.live("waiting_agents", crash_url, tmp_path / "points", point, nth) == -signal.SIGKILL
    await live(crash_url, tmp_path)
    await check(crash_url, tmp_path, deaths=1)


@pytest.mark.slow
async def test_wherever_the_process_dies_the_next_counts_on_and_waits_for_the_rest(forks, new_url, tmp_path):
    (tmp_path / "0").mkdir()
    assert forks.live("waiting_agents", new_url(), tmp_path / "0" / "points", "nowhere", 0) == 0
    passed = json.loads((tmp_path / "0" / "points").read_text())
    kills = 0
    for point in MOMENTS:
        for nth in range(1, passed[point] + 1):
            url, folder = new_url(), tmp_path / f"{point} {nth}"
            folder.mkdir()
            kills += forks.live("waiting_agents", url, folder / "points", point, nth) == -signal.SIGKILL
            await live(url, folder)
            await check(url, folder, deaths=1)
    assert kills > 10
