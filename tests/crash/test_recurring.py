"""A process killed as a recurring timer is set again, a schedule starts an agent, and mail is deferred and taken."""

import json
import signal

import pytest

from gatechart import Runtime
from tests.crash.ledger import check_sound
from tests.crash.recurring_agents import DAYS, GRAPHS, MOMENTS, live


async def check(url):
    """Each moment was handled once, each agent started once, and each deferred event taken once, in its order."""
    check_sound(url)
    async with Runtime.open(url, graphs=GRAPHS, role="reader") as runtime:
        assert (await runtime.resume("daily")).context.notes == [moment.isoformat() for moment in MOMENTS]
        asked = [f"{day}{each}" for day in DAYS for each in "ab"]
        assert (await runtime.resume("talk")).context.notes == [note for each in asked for note in ("ANSWERED", each)]
        reports = [agent.agent_id for agent in (await runtime.find(graph="report")).agents]
        assert reports == [f"nightly@{moment:%Y-%m-%dT%H:%M:%SZ}" for moment in MOMENTS]
        [nightly] = await runtime.schedules()
        assert (list(nightly.started), nightly.skipped, nightly.problem) == (reports, 0, "")
        assert sorted((each.recipient, each.event) for each in await runtime.mail(framework=True)) == [
            ("daily", "every.1d.WAITING"),
            ("schedule:nightly", "DUE"),
        ]
        for agent_id in ("daily", "talk", "schedule:nightly", *reports):
            versions = [entry.version for entry in await runtime.history(agent_id)]
            assert versions == list(range(1, len(versions) + 1))


@pytest.mark.parametrize(
    ("point", "nth"),
    [
        *((point, nth) for point in ("before COMMIT", "after COMMIT") for nth in (5, 8, 11, 14, 17, 20)),
        ("after INSERT mail", 3),
        ("after INSERT mail", 6),
        ("after DELETE mail", 2),
        ("after INSERT invokes", 1),
        ("after INSERT invokes", 2),
        ("after DELETE invokes", 1),
    ],
)
async def test_a_process_that_dies_at_a_point_is_gone_on_with_as_if_it_had_not(forks, crash_url, tmp_path, point, nth):
    died = forks.live("recurring_agents", crash_url, tmp_path / "points", point, nth)
    assert died == -signal.SIGKILL
    await live(crash_url)
    await check(crash_url)


async def test_a_process_that_nothing_disturbs_comes_to_the_same_end(forks, crash_url, tmp_path):
    assert forks.live("recurring_agents", crash_url, tmp_path / "points", "nowhere", 0) == 0
    await check(crash_url)


@pytest.mark.slow
@pytest.mark.sqlite_is_enough
async def test_wherever_the_process_dies_nothing_is_lost_or_done_twice(forks, new_url, tmp_path):
    assert forks.live("recurring_agents", new_url(), tmp_path / "points", "nowhere", 0) == 0
    passed = json.loads((tmp_path / "points").read_text())
    kills = 0
    for point in ("before COMMIT", "after COMMIT", "after INSERT mail", "after DELETE mail", "after INSERT invokes"):
        for nth in range(1, passed[point] + 1):
            url = new_url()
            kills += forks.live("recurring_agents", url, tmp_path / "points", point, nth) == -signal.SIGKILL
            await live(url)
            await check(url)
    assert kills > 50
