"""A process killed amid alerts: each that was accepted reaches its sink, under the same id, and is counted once."""

import pytest

from gatechart import Runtime
from tests.crash.alerting_agents import IDS, idle, kept, live
from tests.crash.ledger import check_sound


async def check(url, folder, deaths):
    check_sound(url)
    got = (folder / "got").read_text().split()
    assert set(got) == set(IDS)
    assert len(got) <= len(IDS) * (1 + deaths)  # again only what a process died over
    async with Runtime.open(url, graphs=[idle], role="reader") as runtime:
        context = await kept(runtime)
    assert (context.delivered, context.pending, context.lost) == (len(IDS), [], 0)


@pytest.mark.sqlite_is_enough
async def test_wherever_the_process_dies_each_alert_reaches_its_sink(killed_at_commits):
    assert await killed_at_commits("alerting_agents", live, check, step=5) > 3


@pytest.mark.slow
async def test_at_every_commit_at_which_the_process_dies_each_alert_reaches_its_sink(killed_at_commits):
    assert await killed_at_commits("alerting_agents", live, check, step=1) > 15
