"""Closing a runtime, and opening one only to read."""

import asyncio

import pytest

from gatechart import Runtime
from gatechart.errors import (
    ReadOnlyError,
    RuntimeClosedError,
    StoreMissingError,
    StoreOwnedError,
    StoreUrlError,
)
from gatechart.stores import MemoryStore
from gatechart.values.homes import Role
from tests.runtime.support import Gate, everything, gated, parcel, soon

pytestmark = pytest.mark.sqlite_is_enough


async def test_turns_under_way_and_those_behind_them_end_before_the_runtime_closes(place):
    gate = Gate()
    async with Runtime.open(place, graphs=[gated], services=gate) as runtime:
        agent = await runtime.start("gated", at="RESTING", agent_id="g-1")
        sends = [asyncio.ensure_future(agent.send("PASSED", {"at": str(n)})) for n in range(3)]
        starting = asyncio.ensure_future(runtime.start("gated", at="ENTERING", agent_id="g-2"))
        await gate.reached(turns=2)
        asyncio.get_running_loop().call_soon(gate.opened.set)
    assert [(await soon(send)).version for send in sends] == [2, 3, 4]
    assert (await soon(starting)).context.stops == ["agent.started.ENTERING"]
    async with Runtime.open(place, graphs=[gated]) as runtime:
        assert (await runtime.resume("g-1")).context.stops == ["0", "1", "2"]
        assert (await runtime.resume("g-2")).snapshot.version == 1


async def test_a_runtime_closes_after_an_error_in_its_block_too(place):
    sends = []

    async def leave_with_an_error():
        async with Runtime.open(place, graphs=[parcel]) as runtime:
            agent = await runtime.start("parcel", at="PACKING", agent_id="p-1")
            sends.append(asyncio.ensure_future(agent.send("SENT")))
            await asyncio.sleep(0)
            raise LookupError

    with pytest.raises(LookupError):
        await leave_with_an_error()
    assert (await soon(sends[0])).version == 2
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        assert (await runtime.resume("p-1")).configuration == ("ON_ROAD",)


@pytest.mark.one_variant_is_enough
@pytest.mark.parametrize("name", ["send", "history", "until", "start", "start_on", "resume", "find", "stop", "erase"])
async def test_a_closed_runtime_takes_no_calls(place, name):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="PACKING", agent_id="p-1")
        before = await everything(runtime)
    call = {
        "send": lambda: agent.send("SENT"),
        "history": lambda: agent.history(),
        "until": lambda: agent.until("PACKING"),
        "start": lambda: runtime.start("parcel", at="PACKING"),
        "start_on": lambda: runtime.start_on("FOUND_ADRIFT", {"stops": []}),
        "resume": lambda: runtime.resume("p-1"),
        "find": lambda: runtime.find(),
        "stop": lambda: runtime.stop("p-1"),
        "erase": lambda: runtime.erase("p-1"),
    }[name]
    with pytest.raises(RuntimeClosedError, match=r"\(\) came after the runtime was closed"):
        await soon(call())
    assert agent.context.stops == ["entered"]
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        assert await everything(runtime) == before


async def test_who_waits_for_a_state_is_told_that_the_runtime_closes(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="PACKING")
        waiting = asyncio.ensure_future(agent.until("LOST"))
        await asyncio.sleep(0)
    with pytest.raises(RuntimeClosedError, match="until"):
        await soon(waiting)


async def test_a_state_reached_while_the_runtime_closes_is_reached(place):
    gate = Gate()
    async with Runtime.open(place, graphs=[gated], services=gate) as runtime:
        agent = await runtime.start("gated", at="RESTING")
        passing = asyncio.ensure_future(agent.send("PASSED"))
        waiting = asyncio.ensure_future(agent.until("ELSEWHERE"))
        moving = asyncio.ensure_future(agent.send("MOVED"))
        await gate.reached()
        asyncio.get_running_loop().call_soon(gate.opened.set)
    assert ((await soon(passing)).version, (await soon(moving)).version) == (2, 3)
    [reached] = await asyncio.gather(soon(waiting), return_exceptions=True)
    assert isinstance(reached, RuntimeClosedError) or reached.configuration == ("ELSEWHERE",)


@pytest.fixture
async def with_an_agent(sqlite_url):
    async with Runtime.open(sqlite_url, graphs=[parcel]) as runtime:
        await (await runtime.start("parcel", at="PACKING", agent_id="p-1")).send("SENT")
    return sqlite_url


@pytest.mark.parametrize("name", ["send", "start", "start_on", "stop", "erase"])
async def test_a_runtime_that_only_reads_writes_nothing(with_an_agent, name):
    async with Runtime.open(with_an_agent, graphs=[parcel], role=Role.READER) as runtime:
        agent = await runtime.resume("p-1")
        before = await everything(runtime)
        call = {
            "send": lambda: agent.send("SHIPPED"),
            "start": lambda: runtime.start("parcel", at="PACKING"),
            "start_on": lambda: runtime.start_on("FOUND_ADRIFT", {"stops": []}),
            "stop": lambda: runtime.stop("p-1"),
            "erase": lambda: runtime.erase("p-1"),
        }[name]
        with pytest.raises(ReadOnlyError, match=rf"{name[:5].rstrip('_')}\(\) is for the owner of the database, but"):
            await call()
        assert await everything(runtime) == before


async def test_a_runtime_that_only_reads_reads_all_there_is(with_an_agent):
    async with Runtime.open(with_an_agent, graphs=[parcel], role=Role.READER) as runtime:
        agent = await runtime.resume("p-1")
        assert agent.configuration == ("ON_ROAD",)
        assert (await agent.until("TRANSIT")).version == 2
        assert len(await agent.history()) == len(await runtime.history("p-1")) == 2
        assert [snapshot.agent_id for snapshot in (await runtime.find(state="ON_ROAD")).agents] == ["p-1"]


async def test_a_memory_store_can_be_opened_to_read():
    store = MemoryStore()
    async with Runtime.open(store, graphs=[parcel]) as runtime:
        await runtime.start("parcel", at="PACKING", agent_id="p-1")
    async with Runtime.open(store, graphs=[parcel], role=Role.READER) as runtime:
        agent = await runtime.resume("p-1")
        with pytest.raises(ReadOnlyError):
            await agent.send("SENT")


async def test_a_reader_sees_what_the_owner_commits(with_an_agent):
    async with (
        Runtime.open(with_an_agent, graphs=[parcel]) as owner,
        Runtime.open(with_an_agent, graphs=[parcel], role=Role.READER) as reader,
    ):
        agent, seen = await owner.resume("p-1"), await reader.resume("p-1")
        await agent.send("SHIPPED")
        assert (await reader.find()).agents == (agent.snapshot,)
        assert len(await seen.history()) == 3
        assert (await reader.resume("p-1")).snapshot == agent.snapshot


async def test_a_reader_does_not_wait_for_what_it_cannot_see(with_an_agent):
    """Nothing tells a runtime that only reads of another's commits: it refuses to wait rather than wait for ever."""
    async with (
        Runtime.open(with_an_agent, graphs=[parcel]) as owner,
        Runtime.open(with_an_agent, graphs=[parcel], role=Role.READER) as reader,
    ):
        seen = await reader.resume("p-1")
        waiting = asyncio.ensure_future(seen.until("AT_SEA"))
        await asyncio.sleep(0)
        await (await owner.resume("p-1")).send("SHIPPED")
        [reached] = await asyncio.gather(soon(waiting), return_exceptions=True)
        assert isinstance(reached, ReadOnlyError) or reached.configuration == ("AT_SEA",)


async def test_what_keeps_a_database_from_being_opened_is_told_by_the_runtime_as_by_the_store(with_an_agent, tmp_path):
    async with Runtime.open(with_an_agent, graphs=[parcel]):
        with pytest.raises(StoreOwnedError):
            async with Runtime.open(with_an_agent, graphs=[parcel]):
                pass
    with pytest.raises(StoreMissingError):
        async with Runtime.open(f"sqlite+aiosqlite:///{tmp_path}/none.db", graphs=[parcel], role=Role.READER):
            pass
    with pytest.raises(StoreUrlError):
        async with Runtime.open("agents.db", graphs=[parcel]):
            pass
