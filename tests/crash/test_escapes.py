"""A process killed as an agent takes a way out, of each kind: it is tried once, and nothing is paid twice."""

import signal

import pytest

from gatechart import Runtime
from tests.crash.escaping_agents import AGENT, WAYS_OUT, desk, graph_of, lines, live
from tests.crash.ledger import check_sound

MOMENTS = ("before attempt", "after attempt")


async def read(url, way):
    """The agent's record of its escapes, the attempts in its history, and how many cases are at the desk."""
    check_sound(url)
    async with Runtime.open(url, graphs=[graph_of(way), desk], role="reader") as runtime:
        agent = await runtime.resume(AGENT)
        attempts = [turn for turn in await agent.history() if turn.event.name == f"escape.{way.name}"]
        cases = (await runtime.find(graph="desk")).agents
        return agent.snapshot, attempts, cases


async def check_rest(url, folder, way, deaths=0):
    """Check what there is once the agent has come to rest. deaths: anywhere but at the commit of the attempt."""
    snapshot, attempts, cases = await read(url, way)
    escapes = snapshot.trail.escapes
    assert snapshot.configuration == (way.ends_in,)
    assert [each.strategy for each in escapes.tried] == way.tried
    assert [each.number for each in escapes.tried] == [*range(1, escapes.count + 1)]
    assert {each.finding for each in escapes.tried} == {escapes.findings} == {1}
    assert escapes.today == escapes.count
    assert len(attempts) == 1
    assert len(cases) == ("desk" in repr(way.strategies))
    assert len(lines(folder / "paid")) == 1
    assert set(lines(folder / "told")) == way.told
    charged, alerts = lines(folder / "charged"), lines(folder / "alerts")
    assert len(charged) == way.charges or (deaths and not charged)  # it is not known what came of it, so it stays so
    assert len(set(alerts)) == way.alerts <= len(alerts) <= way.alerts + deaths
    assert len(set(lines(folder / "repairs"))) == (way.name == "repair")


@pytest.mark.sqlite_is_enough
@pytest.mark.parametrize("name", WAYS_OUT)
@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_way_out_at_whose_commit_the_process_dies_is_tried_once(forks, crash_url, tmp_path, name, moment):
    way = WAYS_OUT[name]
    assert forks.live("escaping_agents", crash_url, tmp_path / "points", moment, 1, name) == -signal.SIGKILL
    snapshot, attempts, _ = await read(crash_url, way)
    escapes = snapshot.trail.escapes
    is_tried = moment == "after attempt"
    is_due = way.watchdog is None and not is_tried  # what the watchdog asks for is due by its mail alone
    assert (escapes.count, escapes.is_due, len(attempts)) == (is_tried, is_due, is_tried)
    for finding in escapes.open:
        assert finding.tried == (tuple(each.name for each in way.strategies) if is_tried else ())

    await live(crash_url, tmp_path, way)
    await check_rest(crash_url, tmp_path, way)


@pytest.mark.slow
@pytest.mark.parametrize("name", WAYS_OUT)
async def test_a_way_out_is_tried_once_wherever_the_process_dies(killed_at_commits, name):
    way = WAYS_OUT[name]

    async def go_on(url, folder):
        await live(url, folder, way)

    async def check(url, folder, deaths):
        await check_rest(url, folder, way, deaths)

    assert await killed_at_commits("escaping_agents", go_on, check, 3, name) > 5
