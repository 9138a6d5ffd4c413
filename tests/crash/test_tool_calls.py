"""A process killed amid tool calls: recorded ones are not repeated, and those that must not be never."""

import json
import signal
from collections import Counter

import pytest

from gatechart import Runtime
from tests.crash.calling_agents import calling, live
from tests.crash.ledger import check_sound

POINTS = ("before COMMIT", "after COMMIT", "before pay", "after pay", "before look", "after look", "after refund")


async def results_of(url, folder):
    """What the calls came to, and what was done; nothing of that contradicts the other."""
    check_sound(url)
    async with Runtime.open(url, graphs=[calling], role="reader") as runtime:
        found, first, second, refunded = (await runtime.resume("c-1")).context.results
    deeds = [line.split() for line in (folder / "deeds").read_text().splitlines()]
    paid = Counter(order for deed, order in deeds if deed == "pay")
    assert (found, refunded) == ("found", "5")
    for order, result in (("4711", first), ("4712", second)):
        assert paid[order] <= 1
        assert result in (["paid", "outcome unknown"] if paid[order] else ["outcome unknown"])
    assert len({key for deed, key in deeds if deed == "refund"}) == 1
    return first, second


async def test_a_process_that_nothing_disturbs_calls_each_tool(forks, crash_url, tmp_path):
    assert forks.live("calling_agents", crash_url, tmp_path / "points", "nowhere", 0) == 0
    assert await results_of(crash_url, tmp_path) == ("paid", "paid")


@pytest.mark.sqlite_is_enough
async def test_wherever_the_process_dies_no_tool_that_must_not_be_is_repeated(forks, new_url, tmp_path):
    (tmp_path / "0").mkdir()
    assert forks.live("calling_agents", new_url(), tmp_path / "0" / "points", "nowhere", 0) == 0
    passed = json.loads((tmp_path / "0" / "points").read_text())
    kills, unknown = 0, Counter()
    for point in POINTS:
        for nth in range(1, passed[point] + 1):
            url, folder = new_url(), tmp_path / f"{point} {nth}"
            folder.mkdir()
            kills += forks.live("calling_agents", url, folder / "points", point, nth) == -signal.SIGKILL
            (folder / "deeds").touch()
            await live(url, folder)
            unknown[point] += "outcome unknown" in await results_of(url, folder)
    assert kills > 15
    assert unknown["before pay"] == unknown["after pay"] == 2
