"""Going back: what an agent was, had again as a new version. Nothing is erased, nothing runs."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from gatechart import Runtime, StateTransitionGraph, Status, Transition
from gatechart.errors import (
    ActionFailedError,
    ReadOnlyError,
    RollbackError,
    RuntimeClosedError,
    UnknownAgentError,
    UnknownVersionError,
)
from gatechart.graph.migration import Migration
from gatechart.testing import VirtualClock
from gatechart.values.homes import Role
from tests.runtime.support import at_rest, eventually, nothing_changes, soon
from tests.runtime.trips import trip

pytestmark = pytest.mark.sqlite_is_enough

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def clock():
    return VirtualClock(NOON)


@pytest.fixture
def services():
    """The invokes of the trips, which note themselves there."""
    return []


@pytest.fixture
async def runtime(place, clock, services):
    async with Runtime.open(place, graphs=[trip()], clock=clock, services=services) as opened:
        yield opened


@pytest.fixture
async def agent(runtime):
    return await runtime.start("trip", at="HOME", agent_id="t-1")


async def test_every_version_that_an_agent_had_can_be_seen(agent):
    seen = [agent.snapshot]
    for event in ("NOTED", "LEFT", "GAVE_UP", "TOURED", "DROVE", "STOPPED"):
        await agent.send(event)
        seen.append(agent.snapshot)
    assert [await agent.snapshot_at(snapshot.version) for snapshot in seen] == seen


async def test_an_agent_goes_back_to_what_it_was_as_a_new_version(agent, runtime):
    await agent.send("NOTED", {"n": "a"})
    then = agent.snapshot
    await agent.send("NOTED", {"n": "b"})
    await agent.send("TOURED")
    before = await agent.history()
    back = await agent.rollback(2, reason="wrong turn")
    assert back == agent.snapshot
    assert (back.version, back.configuration, back.context) == (5, then.configuration, then.context)
    assert agent.context.notes == ["a"]
    entries = await agent.history()
    assert entries[:4] == before
    assert (entries[4].event.name, entries[4].event.payload) == (
        "agent.rolled_back",
        {"version": 2, "reason": "wrong turn"},
    )
    assert (entries[4].source, entries[4].target) == (("SEA",), ("HOME",))
    assert (await runtime.resume("t-1")).snapshot == back


async def test_an_agent_that_went_back_goes_on_from_there(place, clock):
    async with Runtime.open(place, graphs=[trip()], clock=clock, services=[]) as runtime:
        agent = await runtime.start("trip", at="HOME", agent_id="t-1")
        await agent.send("NOTED", {"n": "a"})
        await agent.send("NOTED", {"n": "b"})
        await agent.rollback(2, reason="x")
        await agent.send("NOTED", {"n": "c"})
        await agent.rollback(3, reason="y")
    async with Runtime.open(place, graphs=[trip()], clock=clock, services=[]) as runtime:
        agent = await runtime.resume("t-1")
        assert (agent.context.notes, agent.snapshot.version) == (["a", "b"], 6)
        assert [(await agent.snapshot_at(n)).version for n in range(1, 7)] == [1, 2, 3, 4, 5, 6]
        await agent.rollback(5, reason="z")
        assert agent.context.notes == ["a", "c"]
        await agent.send("NOTED", {"n": "d"})
        assert agent.context.notes == ["a", "c", "d"]


async def test_no_action_runs(agent):
    await agent.send("LEFT")
    await agent.send("GAVE_UP")
    await agent.rollback(2, reason="x")
    assert (agent.configuration, agent.context.notes) == (("AWAY",), ["entered"])
    await agent.rollback(1, reason="x")
    assert (agent.configuration, agent.context.notes) == (("HOME",), [])


async def test_ids_stay_seen(agent):
    await agent.send("NOTED", {"n": "a"}, event_id="x-1")
    await agent.rollback(1, reason="x")
    assert agent.context.notes == []
    repeat = await agent.send("NOTED", {"n": "a"}, event_id="x-1")
    assert (repeat.repeat, repeat.version) == (True, 2)
    assert agent.context.notes == []


async def test_what_was_remembered_comes_back(agent):
    for event in ("TOURED", "DROVE", "STOPPED"):
        await agent.send(event)
    await agent.send("WENT_ON")
    assert agent.configuration == ("HILLS",)
    await agent.rollback(1, reason="x")
    await agent.send("WENT_ON")
    assert agent.configuration == ("SEA",)
    await agent.rollback(4, reason="x")
    await agent.send("WENT_ON")
    assert agent.configuration == ("HILLS",)


@pytest.mark.needs("takes_a_clock")
async def test_the_timers_of_the_states_restored_begin_anew(agent, runtime, clock):
    await agent.send("LEFT")
    clock.advance(50)
    await agent.send("GAVE_UP")
    assert await runtime.mail() == []
    await agent.rollback(2, reason="x")
    [mail] = await runtime.mail()
    assert (mail.event, mail.due, mail.epoch) == ("after.60s.AWAY", NOON + timedelta(seconds=110), 4)
    assert dict(agent.snapshot.entered) == {"AWAY": 4}
    clock.advance(59)
    await at_rest_but_for_search(runtime, clock)
    assert agent.context.notes == ["entered"]
    clock.advance(1)
    await eventually(lambda: agent.context.notes == ["entered", "after.60s.AWAY"])


async def at_rest_but_for_search(runtime, clock):
    """As `at_rest`, for one invoke waits for something else."""
    for _ in range(3):
        await asyncio.sleep(0)
        await eventually(lambda: runtime.pending_work == clock.sleeping + 1)


@pytest.mark.needs("takes_a_clock")
async def test_the_timers_and_invokes_of_before_end_with_their_epochs(agent, runtime, clock, services):
    await agent.send("LEFT")
    await eventually(lambda: len(services) == 1)
    clock.advance(50)
    await agent.rollback(2, reason="x")
    await eventually(lambda: len(services) == 2)
    await agent.rollback(2, reason="again")
    await eventually(lambda: len(services) == 3)
    assert [notes for notes, _ in services] == [["entered"]] * 3
    assert len({key for _, key in services}) == 3
    [mail] = await runtime.mail()
    assert (mail.due, mail.epoch) == (NOON + timedelta(seconds=110), 4)
    clock.advance(10)
    await at_rest_but_for_search(runtime, clock)
    assert agent.context.notes == ["entered"]
    await agent.rollback(1, reason="home")
    await at_rest(runtime, clock)
    assert (await runtime.mail(), runtime.pending_work) == ([], 0)


@pytest.mark.needs("takes_a_clock")
async def test_timers_with_a_key_are_cancelled_and_what_was_sent_stays_sent(agent, runtime, clock):
    await agent.send("TOLD_ALL")
    assert len(await runtime.mail()) == 3
    await agent.rollback(1, reason="x")
    assert [(mail.recipient, mail.event, mail.payload) for mail in await runtime.mail()] == [
        ("other", "TOLD", {}),
        ("t-1", "RANG", {"n": "to itself"}),
    ]
    clock.advance(1000)
    await eventually(lambda: agent.context.notes == ["to itself"])
    await agent.rollback(2, reason="x")
    assert len(await runtime.mail()) == 1


@pytest.mark.needs("reads_back_at_once")
async def test_mail_that_waits_is_applied_after_the_rollback(place, clock):
    async with Runtime.open(place, graphs=[trip()], clock=clock, services=[]) as runtime:
        agent = await runtime.start("trip", at="HOME", agent_id="t-1")
        await agent.send("NOTED", {"n": "a"})
        going_back = asyncio.ensure_future(agent.rollback(1, reason="x"))
        await asyncio.sleep(0)
        await runtime.post("t-1", "NOTED", {"n": "b"})
        await soon(going_back)
        await agent.send("NOTED", {"n": "c"})
        assert agent.context.notes == ["b", "c"]


@pytest.mark.needs("takes_a_clock")
async def test_an_agent_that_has_ended_may_go_back_to_where_it_lived(agent, runtime, clock):
    await agent.send("LEFT")
    await agent.send("RETURNED")
    assert agent.status is Status.DONE
    await agent.rollback(2, reason="x")
    assert (agent.status, agent.configuration) == (Status.ACTIVE, ("AWAY",))
    await runtime.stop("t-1")
    await agent.rollback(1, reason="x")
    assert (await agent.send("LEFT")).applied
    await agent.rollback(3, reason="x")
    assert (agent.status, agent.configuration) == (Status.DONE, ("BACK",))
    await at_rest(runtime, clock)
    assert (await runtime.mail(), runtime.pending_work) == ([], 0)


async def test_who_waits_for_a_state_sees_an_agent_go_back_to_it(agent):
    await agent.send("TOURED")
    waiting = asyncio.ensure_future(agent.until("HOME"))
    await asyncio.sleep(0)
    await agent.rollback(1, reason="x")
    assert (await soon(waiting)).version == 3


@pytest.mark.parametrize("version", [0, -1, 3, 99])
async def test_a_version_that_never_was_is_refused(agent, runtime, version):
    await agent.send("NOTED")
    async with nothing_changes(runtime, agent):
        with pytest.raises(UnknownVersionError, match="versions 1 to 2 are available"):
            await agent.rollback(version, reason="x")
        with pytest.raises(UnknownVersionError):
            await agent.snapshot_at(version)


@pytest.mark.parametrize("change", ["version", "fingerprint"])
async def test_another_version_of_the_graph_cannot_be_gone_back_to(place, clock, change):
    async with Runtime.open(place, graphs=[trip()], clock=clock, services=[]) as runtime:
        agent = await runtime.start("trip", at="HOME", agent_id="t-1")
        await agent.send("NOTED", {"n": "a"})
    changed = {
        "version": trip("2", migrations=[Migration("1", "2", lambda stored: stored)]),
        "fingerprint": trip(extra=[Transition("HOME", "SWAM", "SEA")]),
    }[change]
    async with Runtime.open(place, graphs=[changed], clock=clock, services=[]) as runtime:
        agent = await runtime.resume("t-1")
        await agent.send("NOTED", {"n": "b"})
        newest = agent.snapshot.version
        async with nothing_changes(runtime, agent):
            with pytest.raises(RollbackError, match="t-1"):
                await agent.rollback(1, reason="x")
        await agent.rollback(newest, reason="x")
        assert agent.context.notes == ["a", "b"]


async def test_an_agent_that_was_erased_cannot_go_back(agent, runtime):
    await runtime.erase("t-1")
    for call in (lambda: agent.rollback(1, reason="x"), lambda: agent.snapshot_at(1)):
        with pytest.raises(UnknownAgentError):
            await call()


async def test_going_back_is_for_the_owner_of_an_open_runtime(sqlite_url, clock):
    async with Runtime.open(sqlite_url, graphs=[trip()], clock=clock, services=[]) as runtime:
        agent = await runtime.start("trip", at="HOME", agent_id="t-1")
    with pytest.raises(RuntimeClosedError, match="rollback"):
        await agent.rollback(1, reason="x")
    with pytest.raises(RuntimeClosedError, match="snapshot_at"):
        await agent.snapshot_at(1)
    async with Runtime.open(sqlite_url, graphs=[trip()], clock=clock, services=[], role=Role.READER) as runtime:
        seen = await runtime.resume("t-1")
        assert await seen.snapshot_at(1) == seen.snapshot
        with pytest.raises(ReadOnlyError):
            await seen.rollback(1, reason="x")


async def test_a_turn_does_not_go_back(place, clock):
    async def go_back(context, event, turn):
        await turn.services[0].rollback(1, reason="x")

    graph = StateTransitionGraph(
        "looping", states=["A"], transitions=[Transition("A", "BACK", actions=go_back)], entry_points=["A"]
    )
    services = []
    async with Runtime.open(place, graphs=[graph], clock=clock, services=services) as runtime:
        services.append(await runtime.start("looping", at="A"))
        with pytest.raises(ActionFailedError, match="InsideTurnError"):
            await services[0].send("BACK")
        assert services[0].snapshot.version == 1
