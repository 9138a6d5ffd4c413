"""Processes killed with SIGKILL in the middle of their work: nothing acknowledged is lost, nothing is done twice."""

import signal
import time
from dataclasses import replace
from uuid import uuid4

import pytest

from gatechart import Runtime, Status
from gatechart.stores import MemoryStore
from tests.crash.fleet import AGENTS, EVENTS, Killer, tour, travel
from tests.crash.ledger import check_sound

ALL = len(AGENTS) * len(EVENTS)


@pytest.fixture
def run_fleet(forks, tmp_path):
    """Runs a fleet in a child; returns how it ended, and its acknowledgements: agent, event id, version, repeat.

    "elsewhere" kills it from here after so many acknowledgements.
    """

    def run(url, point="nowhere", count=0):
        told = tmp_path / f"told-{uuid4()}"
        with forks.begin("fleet", url, point, count, output=told) as process:
            while point == "elsewhere" and told.read_text().count("\n") < count:
                time.sleep(0.002)
            if point == "elsewhere":
                process.kill()
        return process.returncode, [tuple(line.split()) for line in told.read_text().splitlines()]

    return run


async def stored(place):
    """What a store holds of each agent: its snapshot, and its history without what only measures."""
    async with Runtime.open(place, graphs=[tour], services=Killer("nowhere", 0)) as runtime:
        agents = (await runtime.find(limit=1000)).agents
        return {
            agent.agent_id: (
                agent,
                [replace(entry, took_us=0) for entry in await runtime.history(agent.agent_id)],
                (await runtime.resume(agent.agent_id)).context,
            )
            for agent in agents
        }


@pytest.fixture
async def uninterrupted():
    """What a store holds after a run that nothing disturbed."""
    store = MemoryStore()
    await travel(store, Killer("nowhere", 0), lambda *_: None)
    return await stored(store)


async def finished(url):
    """What the database holds once a fleet has gone all its way, from the first event, in this process."""
    told = []
    await travel(url, Killer("nowhere", 0), lambda *acknowledged: told.append(acknowledged))
    assert len(told) == ALL
    return await stored(url)


async def check(url, acknowledged):
    """The database is sound, its histories have no gaps, and what was acknowledged is applied just once."""
    check_sound(url)
    found = await stored(url)
    first = {event_id: int(version) for _, event_id, version, repeat in acknowledged if repeat == "False"}
    assert len(first) == sum(repeat == "False" for *_, repeat in acknowledged)  # nothing was new twice
    for agent_id, (snapshot, history, context) in found.items():
        versions = {entry.event.id: entry.version for entry in history[1:]}
        assert [entry.version for entry in history] == list(range(1, snapshot.version + 1))
        assert list(versions) == [f"{agent_id}/{n}" for n in EVENTS[: len(versions)]]
        assert context.seen == list(EVENTS[: len(versions)])
        for holder, event_id, version, _ in acknowledged:
            assert holder != agent_id or versions[event_id] == int(version)
    assert {holder for holder, *_ in acknowledged} <= set(found)
    return found


@pytest.mark.parametrize("acks", [1, 50, 120])
async def test_a_fleet_killed_after_so_many_acknowledgements_loses_none_and_can_be_finished(
    run_fleet, crash_url, uninterrupted, acks
):
    returncode, acknowledged = run_fleet(crash_url, "elsewhere", acks)
    assert returncode == -signal.SIGKILL
    assert len(acknowledged) >= acks
    await check(crash_url, acknowledged)
    assert await finished(crash_url) == uninterrupted


@pytest.mark.parametrize(
    ("point", "count"),
    [
        ("opening", 1),
        ("before a commit", 1),
        ("after a commit", 1),
        ("action", 83),
        ("before a commit", 9),
        ("after a commit", 9),
    ],
)
async def test_a_fleet_that_dies_at_a_given_point_can_be_finished(run_fleet, crash_url, uninterrupted, point, count):
    returncode, acknowledged = run_fleet(crash_url, point, count)
    assert returncode == -signal.SIGKILL
    assert len(acknowledged) < ALL
    found = await check(crash_url, acknowledged)
    if point == "after a commit" and count == 1:
        assert len(found) > len(acknowledged) == 0
    if count == 1 and point in ("opening", "before a commit"):
        assert found == {}
    assert await finished(crash_url) == uninterrupted


async def test_a_fleet_that_dies_again_and_again_comes_to_its_end(run_fleet, crash_url, uninterrupted):
    acknowledged, deaths = [], 0
    for acks in (3, 50, 120):  # repeats are acknowledged too, so each gets a little further
        returncode, told = run_fleet(crash_url, "elsewhere", acks)
        deaths += returncode == -signal.SIGKILL
        acknowledged += told
        await check(crash_url, acknowledged)
    returncode, told = run_fleet(crash_url)
    assert (deaths, returncode) == (3, 0)
    assert await check(crash_url, acknowledged + told) == uninterrupted


def test_an_undisturbed_fleet_ends_where_it_should(uninterrupted):
    assert len(uninterrupted) == len(AGENTS)
    for snapshot, history, context in uninterrupted.values():
        assert (snapshot.status, snapshot.configuration) == (Status.DONE, ("HOME",))
        assert (snapshot.version, len(history), len(context.seen)) == (21, 21, 20)
        assert len(set(context.drawn)) == 20
        assert context.laps > 5
