"""Waiting for a state."""

import asyncio
from contextlib import suppress

import pytest

from gatechart import Runtime, Status
from gatechart.errors import AgentEndedError, UnknownStateError
from tests.runtime.support import parcel, soon

pytestmark = pytest.mark.sample_on_restate


@pytest.fixture
async def runtime(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        yield runtime


@pytest.fixture
async def agent(runtime):
    return await runtime.start("parcel", at="PACKING", agent_id="p-1")


async def waiting_for(agent, state):
    waiting = asyncio.ensure_future(agent.until(state))
    await asyncio.sleep(0)
    assert not waiting.done()
    return waiting


async def test_a_state_that_is_active_is_reached_at_once(agent):
    assert await agent.until("PACKING") == agent.snapshot


async def test_a_state_is_waited_for(agent):
    waiting = await waiting_for(agent, "AT_SEA")
    await agent.send("SENT")
    assert not waiting.done()
    await agent.send("SHIPPED")
    assert await soon(waiting) == agent.snapshot


async def test_a_state_that_was_only_passed_is_reached(agent):
    waiting = await waiting_for(agent, "ON_ROAD")
    await asyncio.gather(*(agent.send(event) for event in ("SENT", "SHIPPED", "ARRIVED")))
    snapshot = await soon(waiting)
    assert (snapshot.configuration, snapshot.version) == (("ON_ROAD",), 2)
    assert agent.status is Status.DONE


@pytest.mark.parametrize("is_there", [True, False])
async def test_a_compound_state_is_reached_with_any_of_its_leaves(agent, is_there):
    if is_there:
        await agent.send("SENT")
        assert await agent.until("TRANSIT") == agent.snapshot
    else:
        waiting = await waiting_for(agent, "TRANSIT")
        await agent.send("SENT")
        assert (await soon(waiting)).configuration == ("ON_ROAD",)


async def test_a_final_state_is_reached(agent):
    waiting = await waiting_for(agent, "DELIVERED")
    await agent.send("SENT")
    await agent.send("ARRIVED")
    assert (await soon(waiting)).status is Status.DONE
    assert (await agent.until("DELIVERED")).status is Status.DONE


@pytest.mark.parametrize("waits", [True, False])
async def test_who_waits_for_an_agent_that_ends_elsewhere_is_told(agent, waits):
    waiting = await waiting_for(agent, "AT_SEA") if waits else None
    await agent.send("SENT")
    await agent.send("ARRIVED")
    with pytest.raises(AgentEndedError, match="'p-1' is done in DELIVERED and will not reach 'AT_SEA'"):
        await soon(waiting or agent.until("AT_SEA"))


@pytest.mark.parametrize("waits", [True, False])
async def test_who_waits_for_an_agent_that_is_stopped_is_told(runtime, agent, waits):
    waiting = await waiting_for(agent, "AT_SEA") if waits else None
    await runtime.stop("p-1")
    with pytest.raises(AgentEndedError, match="'p-1' is stopped in PACKING"):
        await soon(waiting or agent.until("AT_SEA"))


async def test_a_stopped_agent_is_still_in_its_state(runtime, agent):
    await runtime.stop("p-1")
    assert (await agent.until("PACKING")).status is Status.STOPPED


@pytest.mark.parametrize("state", ["AT_SEE", "*", ""])
async def test_a_state_that_is_not_in_the_graph_is_not_waited_for(agent, state):
    with pytest.raises(UnknownStateError, match="'parcel' has no state"):
        await soon(agent.until(state))


@pytest.mark.needs("shows_at_once")
async def test_many_wait_through_many_handles(runtime, agent):
    handles = [agent, await runtime.resume("p-1"), await runtime.resume("p-1")]
    waiting = [await waiting_for(handle, state) for handle in handles for state in ("TRANSIT", "AT_SEA")]
    for event in ("SENT", "STAMPED", "SHIPPED"):
        await agent.send(event)
    snapshots = await soon(asyncio.gather(*waiting))
    assert [snapshot.version for snapshot in snapshots] == [2, 4] * 3


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_who_stops_waiting_takes_nobody_along(agent):
    impatient, patient = await waiting_for(agent, "TRANSIT"), await waiting_for(agent, "TRANSIT")
    impatient.cancel()
    await agent.send("SENT")
    assert (await soon(patient)).version == 2
    with suppress(asyncio.CancelledError):
        await impatient
    assert impatient.cancelled()
    assert agent._host._watchers._waiting == []


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_who_stops_waiting_at_the_last_moment_leaves_nothing_behind(agent):
    impatient = await waiting_for(agent, "TRANSIT")
    sending = asyncio.ensure_future(agent.send("SENT"))
    impatient.cancel()
    await sending
    assert agent._host._watchers._waiting == []


async def test_a_refused_and_a_failing_event_reach_nothing(agent):
    waiting = await waiting_for(agent, "LOST")
    await agent.send("LANDED")
    with suppress(Exception):
        await agent.send("DROPPED")
    for _ in range(5):
        await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()
