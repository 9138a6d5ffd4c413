"""A process killed between a choice and its turn, and everywhere else: each choice counts once."""

import json
import signal

import pytest

from gatechart import Runtime
from tests.crash.choosing_agents import MOST, check_choices, choosing, live
from tests.crash.ledger import check_sound

POINTS = ("before COMMIT", "after COMMIT", "before choice")


async def check(url):
    """Each choice took one turn."""
    check_sound(url)
    async with Runtime.open(url, graphs=[choosing], role="reader") as runtime:
        check_choices(await runtime.resume("p-1"))
        history = await runtime.history("p-1")
        left = [each.event.payload["left"] for each in history if each.event.name == "transfer.SEARCHING"]
        assert left == [1, 0]
        assert history[-1].taken == ("CHECKING --done.invoke.check--> WRITING",)


async def test_a_process_that_nothing_disturbs_is_led_out_of_the_loop(forks, crash_url, tmp_path):
    assert forks.live("choosing_agents", crash_url, tmp_path / "points", "nowhere", 0) == 0
    await check(crash_url)


@pytest.mark.sqlite_is_enough
async def test_wherever_the_process_dies_each_choice_counts_once(forks, new_url, tmp_path):
    assert forks.live("choosing_agents", new_url(), tmp_path / "0", "nowhere", 0) == 0
    passed = json.loads((tmp_path / "0").read_text())
    assert passed["before choice"] == MOST
    kills = 0
    for point in POINTS:
        for nth in range(1, passed.get(point, 0) + 1):
            url = new_url()
            kills += forks.live("choosing_agents", url, tmp_path / f"{point} {nth}", point, nth) == -signal.SIGKILL
            await live(url)
            await check(url)
    assert kills > 15
