"""Another way on: an agent that begins as another one was. That one stays as it is, and nothing runs."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from gatechart import Runtime, StateTransitionGraph, Status, Transition
from gatechart.errors import (
    ActionFailedError,
    AgentExistsError,
    EventIdReusedError,
    IncompatibleGraphError,
    InsideTurnError,
    PayloadError,
    ReadOnlyError,
    UnknownAgentError,
    UnknownVersionError,
)
from gatechart.graph.migration import Migration
from gatechart.testing import VirtualClock
from gatechart.values.homes import Role
from tests.runtime.support import at_rest, eventually, nothing_changes
from tests.runtime.trips import Trip, trip

pytestmark = [pytest.mark.sqlite_is_enough, pytest.mark.one_variant_is_enough]

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
    """An agent that noted a, then b, and went to sea: at version 4."""
    agent = await runtime.start("trip", at="HOME", agent_id="t-1")
    await agent.send("NOTED", {"n": "a"})
    await agent.send("NOTED", {"n": "b"})
    await agent.send("TOURED")
    return agent


@asynccontextmanager
async def stays(agent):
    """Within it the agent stays as it is, its history included."""
    before = (agent.snapshot, await agent.history())
    yield
    assert (agent.snapshot, await agent.history()) == before


async def test_another_agent_begins_as_the_first_was_and_each_goes_its_own_way(agent, runtime):
    async with stays(agent):
        fork = await runtime.fork("t-1", 2, new_id="t-2")
        assert (fork.id, fork.configuration, fork.context.notes) == ("t-2", ("HOME",), ["a"])
        assert (fork.snapshot.version, fork.status) == (1, Status.ACTIVE)
        await fork.send("NOTED", {"n": "c"})
        assert fork.context.notes == ["a", "c"]
    assert agent.context.notes == ["a", "b"]
    await agent.send("DROVE")
    assert (agent.configuration, fork.configuration) == (("HILLS",), ("HOME",))


async def test_the_history_of_a_fork_begins_with_its_origin(agent, runtime):
    fork = await runtime.fork("t-1", 3)
    [first] = await fork.history()
    assert (first.event.name, first.event.payload) == ("agent.forked", {"agent": "t-1", "version": 3})
    assert (first.source, first.target, first.version) == ((), ("HOME",), 1)
    assert fork.id != "t-1"


async def test_what_an_agent_remembers_a_fork_remembers_too(agent, runtime):
    await agent.send("DROVE")
    await agent.send("STOPPED")
    fork = await runtime.fork("t-1", 6)
    await fork.send("WENT_ON")
    assert fork.configuration == ("HILLS",)


async def test_a_fork_can_be_forked_and_rolled_back(agent, runtime):
    fork = await runtime.fork("t-1", 2, new_id="t-2")
    await fork.send("NOTED", {"n": "c"})
    again = await runtime.fork("t-2", 2, new_id="t-3")
    await again.rollback(1, reason="x")
    assert (again.context.notes, fork.context.notes) == (["a", "c"], ["a", "c"])
    await fork.rollback(1, reason="x")
    assert fork.context.notes == ["a"]


async def test_an_agent_that_has_ended_is_forked_from_where_it_lived(agent, runtime):
    await runtime.stop("t-1")
    fork = await runtime.fork("t-1", 4)
    assert (fork.status, fork.configuration) == (Status.ACTIVE, ("SEA",))
    assert (await fork.send("DROVE")).applied
    ended = await runtime.fork("t-1", 5)
    assert ended.status is Status.STOPPED


async def test_an_id_of_the_first_agent_is_new_to_the_fork(agent, runtime):
    await agent.send("NOTED", {"n": "c"}, event_id="x-1")
    fork = await runtime.fork("t-1", 5)
    assert not (await fork.send("NOTED", {"n": "d"}, event_id="x-1")).repeat


async def test_a_repeated_call_returns_the_agent_that_the_first_one_started(agent, runtime):
    first = await runtime.fork("t-1", 2, idempotency_key="k-1")
    await first.send("NOTED", {"n": "c"})
    again = await runtime.fork("t-1", 2, idempotency_key="k-1")
    assert (again.id, again.snapshot) == ("k-1", first.snapshot)
    with pytest.raises(EventIdReusedError):
        await runtime.fork("t-1", 3, idempotency_key="k-1")
    both = await asyncio.gather(*(runtime.fork("t-1", 2, new_id="t-9", idempotency_key="k-9") for _ in range(2)))
    assert [each.snapshot.version for each in both] == [1, 1]


async def test_an_id_that_is_taken_is_refused(agent, runtime):
    await runtime.start("trip", at="HOME", agent_id="t-2")
    for taken in ("t-1", "t-2"):
        with pytest.raises(AgentExistsError, match=taken):
            await runtime.fork("t-1", 2, new_id=taken)


@pytest.mark.parametrize("version", [0, -1, 5, 99])
async def test_a_version_that_never_was_begins_no_agent(agent, runtime, version):
    async with nothing_changes(runtime, agent):
        with pytest.raises(UnknownVersionError, match="versions 1 to 4 are available"):
            await runtime.fork("t-1", version)


@pytest.mark.parametrize("wrong", [{"version": "2"}, {"version": 2**70}, {"new_id": ""}, {"new_id": "a\x00"}])
async def test_a_fork_that_cannot_be_is_refused(agent, runtime, wrong):
    async with nothing_changes(runtime, agent):
        with pytest.raises(PayloadError):
            await runtime.fork("t-1", **{"version": 2, **wrong})
        with pytest.raises(UnknownAgentError):
            await runtime.fork("t-0", 1)


@pytest.mark.needs("reads_back_at_once")
async def test_a_version_that_was_pruned_is_refused(agent, runtime):
    await runtime.prune(keep_turns=2, ids_for="0s")
    with pytest.raises(UnknownVersionError, match="versions 3 to 4 are available"):
        await runtime.fork("t-1", 2)
    assert (await runtime.fork("t-1", 3)).context.notes == ["a", "b"]


async def test_mail_that_waited_for_the_fork_is_applied_to_it(agent, runtime):
    await runtime.post("t-2", "NOTED", {"n": "waited"})
    fork = await runtime.fork("t-1", 2, new_id="t-2")
    await fork.send("NOTED", {"n": "c"})
    assert fork.context.notes == ["a", "waited", "c"]


@pytest.mark.needs("takes_a_clock")
async def test_timers_and_invokes_of_its_states_begin_anew_for_a_fork(runtime, clock, services):
    agent = await runtime.start("trip", at="HOME", agent_id="t-1")
    await agent.send("LEFT")
    await eventually(lambda: len(services) == 1)
    clock.advance(50)
    fork = await runtime.fork("t-1", 2, new_id="t-2")
    await eventually(lambda: len(services) == 2)
    assert len({key for _, key in services}) == 2
    due = {mail.recipient: (mail.due - NOON).total_seconds() for mail in await runtime.mail()}
    assert due == {"t-1": 60, "t-2": 110}
    await agent.send("GAVE_UP")
    clock.advance(60)
    await eventually(lambda: fork.context.notes == ["entered", "after.60s.AWAY"])
    assert agent.context.notes == ["entered"]


@pytest.mark.needs("takes_a_clock")
async def test_mail_and_timers_with_a_key_stay_with_the_first(agent, runtime, clock):
    await agent.send("TOLD_ALL")
    before = await runtime.mail()
    await runtime.fork("t-1", 5, new_id="t-2")
    assert (await runtime.mail(), len(before)) == (before, 3)
    clock.advance(1000)
    await eventually(lambda: sorted(agent.context.notes) == ["a", "b", "keyed", "to itself"])
    await at_rest(runtime, clock)
    assert (await runtime.resume("t-2")).context.notes == ["a", "b"]


async def test_a_version_before_a_migration_begins_an_agent_of_today(place, clock):
    async with Runtime.open(place, graphs=[trip()], clock=clock, services=[]) as runtime:
        agent = await runtime.start("trip", at="HOME", agent_id="t-1")
        await agent.send("NOTED", {"n": "a"})

    def moved(stored):
        return replace(stored, context={"notes": [*stored.context["notes"], "moved"]})

    newer = trip("2", migrations=[Migration("1", "2", moved)])
    async with Runtime.open(place, graphs=[newer], clock=clock, services=[]) as runtime:
        agent = await runtime.resume("t-1")
        await agent.send("NOTED", {"n": "b"})
        fork = await runtime.fork("t-1", 2)
        assert (fork.snapshot.graph_version, fork.context.notes) == ("2", ["a", "moved"])
        await fork.send("NOTED", {"n": "c"})
        assert fork.context.notes == ["a", "moved", "c"]


async def test_a_version_that_no_graph_can_go_on_from_is_refused(place, clock):
    async with Runtime.open(place, graphs=[trip()], clock=clock, services=[]) as runtime:
        agent = await runtime.start("trip", at="HOME", agent_id="t-1")
        await agent.send("TOURED")
        await agent.send("STOPPED")
    without = StateTransitionGraph("trip", states=["HOME"], entry_points=["HOME"], context=Trip)
    async with Runtime.open(place, graphs=[without], clock=clock, services=[]) as runtime:
        with pytest.raises(IncompatibleGraphError):
            await runtime.fork("t-1", 2)
        assert (await runtime.fork("t-1", 1)).configuration == ("HOME",)


async def test_a_changed_graph_of_the_same_version_drives_a_fork(place, clock):
    async with Runtime.open(place, graphs=[trip()], clock=clock, services=[]) as runtime:
        await runtime.start("trip", at="HOME", agent_id="t-1")
    changed = trip(extra=[Transition("HOME", "SWAM", "SEA")])
    async with Runtime.open(place, graphs=[changed], clock=clock, services=[]) as runtime:
        fork = await runtime.fork("t-1", 1)
        assert fork.snapshot.fingerprint == changed.fingerprint
        assert (await fork.send("SWAM")).applied
        await fork.rollback(1, reason="x")


async def test_a_fork_is_for_the_owner_of_an_open_runtime_outside_its_turns(sqlite_url, clock):
    async def fork(context, event, turn):
        await turn.services.fork(turn.agent_id, 1)

    class Later:
        runtime = None

        def fork(self, *given):
            return self.runtime.fork(*given)

    later, forking = Later(), trip(extra=[Transition("HOME", "FORK", actions=fork)])
    async with Runtime.open(sqlite_url, graphs=[forking], clock=clock, services=later) as runtime:
        later.runtime = runtime
        agent = await runtime.start("trip", at="HOME", agent_id="t-1")
        with pytest.raises(ActionFailedError) as failed:
            await agent.send("FORK")
        assert isinstance(failed.value.__cause__, InsideTurnError)
    async with Runtime.open(sqlite_url, graphs=[trip()], clock=clock, role=Role.READER) as runtime:
        with pytest.raises(ReadOnlyError):
            await runtime.fork("t-1", 1)
