"""A process killed in a model loop of ten turns and twenty calls: each recorded turn and call stays the only one."""

import json
import signal
from collections import Counter

import pytest

from gatechart import Runtime
from tests.crash.ledger import check_sound
from tests.crash.talking_agents import TURNS, live, talking

UNKNOWN = "outcome unknown"


async def check(url, folder, deaths):
    """Each turn and call is there once; what died with its process was asked again, or is not known."""
    check_sound(url)
    asked = Counter((folder / "asked").read_text().split())
    calls = Counter((folder / "calls").read_text().splitlines())
    assert len(asked) == TURNS + 1
    assert asked.total() <= TURNS + 1 + deaths
    async with Runtime.open(url, graphs=[talking()], role="reader") as runtime:
        agent = await runtime.resume("t-1")
        assert agent.configuration == ("DONE",)
        assert agent.context.answer == "All is done."
        *turns, last = agent.context.messages
        history = await runtime.history("t-1")
    assert (len(turns), last.content) == (TURNS, "All is done.")
    assert [each.event.name for each in history] == ["agent.started.THINKING", "done.invoke.think"]
    for number, turn in enumerate(turns, start=1):
        look, pay = turn.tool_calls
        assert look.output == f"look {number} is done"
        assert 1 <= calls[f"look {number}"] <= 1 + deaths
        assert calls[f"pay {number}"] <= 1
        assert pay.output == f"pay {number} is done" if not pay.error else pay.error.startswith(UNKNOWN)
    assert sum(bool(turn.tool_calls[1].error) for turn in turns) <= deaths


async def test_a_loop_that_nothing_disturbs_takes_each_turn_and_call_once(forks, crash_url, tmp_path):
    assert forks.live("talking_agents", crash_url, tmp_path / "points", "nowhere", 0) == 0
    await check(crash_url, tmp_path, deaths=0)


async def killed_at(forks, new_url, tmp_path, step):
    """Kill processes at every STEP-th commit, before and after it, and let another go on. Return how many died."""
    (tmp_path / "0").mkdir()
    assert forks.live("talking_agents", new_url(), tmp_path / "0" / "points", "nowhere", 0) == 0
    passed = json.loads((tmp_path / "0" / "points").read_text())
    kills = 0
    for point in ("before COMMIT", "after COMMIT"):
        for nth in range(1, passed[point] + 1, step):
            url, folder = new_url(), tmp_path / f"{point} {nth}"
            folder.mkdir()
            died = forks.live("talking_agents", url, folder / "points", point, nth) == -signal.SIGKILL
            await live(url, folder)
            await check(url, folder, deaths=int(died))
            kills += died
    return kills


async def test_wherever_the_process_dies_the_next_goes_on_where_the_transcript_ends(forks, new_url, tmp_path):
    assert await killed_at(forks, new_url, tmp_path, step=9) > 10


@pytest.mark.slow
async def test_at_every_commit_at_which_the_process_dies_the_next_goes_on(forks, new_url, tmp_path):
    assert await killed_at(forks, new_url, tmp_path, step=1) > 100
