"""A caller that is cancelled withdraws a turn that has not begun; else it only stops waiting."""

import asyncio
import logging
from contextlib import suppress

import pytest

from gatechart import Runtime
from gatechart.stores import open_store
from gatechart.tasks import start_task
from tests.insides import core_of
from tests.runtime.support import Gate, WrappedStore, gated, nothing_changes, parcel, soon

pytestmark = pytest.mark.sqlite_is_enough


async def cancel(*callers):
    for caller in callers:
        caller.cancel()
    assert [type(result) for result in await asyncio.gather(*callers, return_exceptions=True)] == [
        asyncio.CancelledError
    ] * len(callers)


@pytest.fixture
def gate():
    return Gate()


@pytest.fixture
async def runtime(place, gate):
    async with Runtime.open(place, graphs=[gated, parcel], services=gate) as runtime:
        yield runtime


@pytest.fixture
async def agent(runtime):
    return await runtime.start("gated", at="RESTING", agent_id="g-1")


async def test_a_turn_that_has_not_begun_is_withdrawn(agent, gate):
    first = asyncio.ensure_future(agent.send("PASSED", {"at": "first"}))
    await gate.reached()
    second, third = (asyncio.ensure_future(agent.send("PASSED", {"at": at}, event_id=at)) for at in ("second", "third"))
    await asyncio.sleep(0)
    await cancel(second)
    gate.opened.set()
    assert (await soon(first)).version == 2
    assert (await soon(third)).version == 3
    assert agent.context.stops == ["first", "third"]
    assert not (await soon(agent.send("PASSED", {"at": "second"}, event_id="second"))).repeat


async def test_a_caller_cancelled_before_it_ever_ran_sends_nothing(runtime, agent):
    async with nothing_changes(runtime, agent):
        await cancel(*(start_task(agent.send("STAMPED")) for _ in range(3)))


@pytest.mark.needs("withdraws")
async def test_a_turn_that_was_accepted_but_has_not_begun_is_withdrawn(runtime, agent):
    async with nothing_changes(runtime, agent):
        sending = start_task(agent.send("STAMPED"))
        await asyncio.sleep(0)
        await cancel(sending)
        await soon(agent.send("UNHEARD_OF"))


async def test_a_turn_that_has_begun_is_committed_all_the_same(runtime, agent, gate):
    sending = asyncio.ensure_future(agent.send("PASSED", {"at": "Porto"}))
    await gate.reached()
    await cancel(sending)
    assert agent.snapshot.version == 1
    gate.opened.set()
    assert (await soon(agent.send("STAMPED", {"at": "then"}))).version == 3
    assert agent.context.stops == ["Porto", "then"]
    assert [entry.version for entry in await runtime.history("g-1")] == [1, 2, 3]


@pytest.mark.not_on_restate("the service does not know whether its caller has gone")
async def test_a_turn_that_fails_after_its_caller_has_gone_is_logged_and_undone(runtime, agent, gate, caplog):
    async with nothing_changes(runtime, agent):
        sending = asyncio.ensure_future(agent.send("BURST"))
        await gate.reached()
        await cancel(sending)
        gate.opened.set()
        await soon(agent.send("UNHEARD_OF"))
    records = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [record.getMessage() for record in records] == ["a turn failed after its sender had stopped waiting"]
    assert "the string broke" in str(records[0].exc_info[1])


async def test_a_stop_that_has_not_begun_is_withdrawn(runtime, agent, gate):
    passing = asyncio.ensure_future(agent.send("PASSED"))
    await gate.reached()
    stopping = asyncio.ensure_future(runtime.stop("g-1"))
    await asyncio.sleep(0)
    await cancel(stopping)
    gate.opened.set()
    await soon(passing)
    assert (await agent.send("STAMPED")).applied


async def test_a_deadline_is_a_caller_cancelled(agent, gate):
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await agent.send("PASSED")
    gate.opened.set()
    with suppress(TimeoutError):
        async with asyncio.timeout(None):
            await agent.send("STAMPED")
    assert agent.context.stops[-1] == "STAMPED"


async def test_a_commit_under_way_is_not_interrupted(sqlite_url):
    async with open_store(sqlite_url) as real:
        store, begun, going_on = WrappedStore(real), asyncio.Event(), asyncio.Event()

        async def wait(turns):
            begun.set()
            await going_on.wait()

        async with Runtime.open(store, graphs=[parcel]) as runtime:
            agent = await runtime.start("parcel", at="PACKING")
            store.before = wait
            sending = start_task(agent.send("STAMPED"))
            await begun.wait()
            await cancel(sending)
            going_on.set()
            assert (await soon(agent.send("SENT"))).version == 3
            assert [entry.event.name for entry in await agent.history(after=1)] == ["STAMPED", "SENT"]


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_turns_whose_tasks_are_ended_with_the_event_loop_leave_nobody_waiting(runtime, agent, gate):
    async with nothing_changes(runtime, agent):
        sends = [asyncio.ensure_future(agent.send("PASSED")) for _ in range(3)]
        await gate.reached()
        for task in core_of(runtime).tasks:
            task.cancel()
        results = await soon(asyncio.gather(*sends, return_exceptions=True))
        assert [type(result) for result in results] == [asyncio.CancelledError] * 3
    gate.opened.set()
    assert (await soon(agent.send("STAMPED"))).version == 2
