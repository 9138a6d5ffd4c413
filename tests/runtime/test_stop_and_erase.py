"""Stopping and erasing."""

import asyncio

import pytest

from gatechart import Limits, Runtime, Status
from gatechart.errors import UnknownAgentError
from gatechart.results import RefusalReason
from gatechart.stores import MemoryStore, open_store
from gatechart.testing import VirtualClock
from tests.runtime.support import Gate, Parcel, WrappedStore, everything, gated, nothing_changes, parcel, soon

pytestmark = pytest.mark.sqlite_is_enough


@pytest.mark.needs("takes_a_clock")
async def test_a_stopped_agent_stays_where_it_is_and_refuses_every_event(place):
    clock = VirtualClock()
    async with Runtime.open(place, graphs=[parcel], clock=clock) as runtime:
        agent = await runtime.start("parcel", at="PACKING", agent_id="p-1")
        clock.advance(1)
        snapshot = await runtime.stop("p-1")
        assert snapshot == agent.snapshot
        assert (snapshot.status, snapshot.configuration, snapshot.version) == (Status.STOPPED, ("PACKING",), 2)
        entry = (await agent.history())[-1]
        assert (entry.event.name, entry.event.time, entry.taken, entry.changed) == (
            "agent.stopped",
            clock.now(),
            (),
            {},
        )
        async with nothing_changes(runtime, agent):
            assert (await agent.send("SENT")).refusal.reason is RefusalReason.AGENT_ENDED
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        assert (await runtime.resume("p-1")).status is Status.STOPPED


async def test_stopping_an_agent_that_has_ended_changes_nothing(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        done = await runtime.start("parcel", at="DELIVERED", agent_id="p-1")
        async with nothing_changes(runtime, done):
            assert (await runtime.stop("p-1")).status is Status.DONE
        await runtime.start("parcel", at="PACKING", agent_id="p-2")
        stopped = await runtime.stop("p-2")
        assert await runtime.stop("p-2") == stopped


async def test_stopping_waits_for_the_turns_before_it(place):
    gate = Gate()
    async with Runtime.open(place, graphs=[gated], services=gate) as runtime:
        agent = await runtime.start("gated", at="RESTING", agent_id="g-1")
        jobs = [agent.send("PASSED"), runtime.stop("g-1"), agent.send("MOVED")]
        running = [asyncio.ensure_future(job) for job in jobs]
        await gate.reached()
        gate.opened.set()
        passed, stopped, refused = await soon(asyncio.gather(*running))
        assert (passed.version, stopped.version, stopped.status) == (2, 3, Status.STOPPED)
        assert refused.refusal.reason is RefusalReason.AGENT_ENDED


async def test_who_sends_after_somebody_stops_an_agent_comes_after_the_stop(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="PACKING", agent_id="p-1")
        stopping = asyncio.ensure_future(runtime.stop("p-1"))
        await asyncio.sleep(0)  # it is asked for, and has not begun
        assert (await agent.send("SENT")).refusal.reason is RefusalReason.AGENT_ENDED
        assert (await stopping).version == 2


@pytest.mark.parametrize("call", ["stop", "erase"])
async def test_an_unknown_agent_cannot_be_ended(place, call):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        await runtime.start("parcel", at="PACKING", agent_id="p-1")
        async with nothing_changes(runtime):
            with pytest.raises(UnknownAgentError, match="'p-2'"):
                await getattr(runtime, call)("p-2")


@pytest.mark.parametrize("is_held", [True, False])
async def test_an_erased_agent_is_gone(place, is_held):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agents = [await runtime.start("parcel", at="PACKING", agent_id=f"p-{n}") for n in (1, 2)]
        held = agents[:1] if is_held else agents.clear()
        await runtime.erase("p-1")
        for call in (runtime.resume, runtime.history, runtime.erase, runtime.stop):
            with pytest.raises(UnknownAgentError, match="'p-1'"):
                await call("p-1")
        assert [snapshot.agent_id for snapshot, *_ in await everything(runtime)] == ["p-2"]
        assert held is None or len(held) == 1


async def test_an_agent_whose_graph_is_not_registered_can_be_erased(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        await runtime.start("parcel", at="PACKING", agent_id="p-1")
    async with Runtime.open(place, graphs=[]) as runtime:
        await runtime.erase("p-1")
        assert await everything(runtime) == []


async def test_the_handle_of_an_erased_agent_does_nothing_more(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="PACKING", agent_id="p-1")
        await agent.send("STAMPED", event_id="crm-1")
        await runtime.erase("p-1")
        for event, event_id in (("STAMPED", None), ("UNHEARD_OF", None), ("STAMPED", "crm-1")):
            with pytest.raises(UnknownAgentError, match="'p-1'"):
                await agent.send(event, event_id=event_id)
        with pytest.raises(UnknownAgentError, match="'p-1'"):
            await agent.history()
        with pytest.raises(UnknownAgentError, match="'p-1'"):
            await soon(agent.until("DELIVERED"))


async def test_the_handle_of_an_erased_agent_is_no_handle_of_its_successor(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="AT_SEA", payload={"stops": ["Porto"]}, agent_id="p-1")
        await runtime.erase("p-1")
        successor = await runtime.start("parcel", at="PACKING", agent_id="p-1")
        async with nothing_changes(runtime, successor):
            with pytest.raises(UnknownAgentError):
                await agent.send("STAMPED")
            with pytest.raises(UnknownAgentError):
                await agent.history()
        assert (await successor.send("STAMPED")).version == 2
        assert (await runtime.resume("p-1")).context == successor.context == Parcel(stops=["entered", "STAMPED"])


async def test_erasing_waits_for_the_turns_before_it_and_ends_those_behind(place):
    gate = Gate()
    async with Runtime.open(place, graphs=[gated], services=gate) as runtime:
        agent = await runtime.start("gated", at="RESTING", agent_id="g-1")
        behind = [agent.send("UNHEARD_OF"), agent.send("MOVED"), runtime.stop("g-1"), runtime.erase("g-1")]
        running = [asyncio.ensure_future(job) for job in (agent.send("PASSED"), runtime.erase("g-1"), *behind)]
        await gate.reached()
        gate.opened.set()
        passed, erased, *others = await soon(asyncio.gather(*running, return_exceptions=True))
        assert (passed.version, erased) == (2, None)
        assert [type(other) for other in others] == [UnknownAgentError] * 4
        assert await everything(runtime) == []


async def test_who_waits_for_a_state_of_an_agent_that_is_erased_is_told(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="PACKING", agent_id="p-1")
        waiting = asyncio.ensure_future(agent.until("DELIVERED"))
        await asyncio.sleep(0)
        await runtime.erase("p-1")
        with pytest.raises(UnknownAgentError, match="'p-1'"):
            await soon(waiting)


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_an_erasure_goes_on_when_its_caller_is_cancelled(place):
    async with open_store(place) as real:
        store, gate = WrappedErasure(real), asyncio.Event()
        store.gate = gate
        async with Runtime.open(store, graphs=[parcel]) as runtime:
            agent = await runtime.start("parcel", at="PACKING", agent_id="p-1")
            erasing = asyncio.ensure_future(runtime.erase("p-1"))
            await store.reached.wait()
            erasing.cancel()
            await asyncio.gather(erasing, return_exceptions=True)
            gate.set()
            with pytest.raises(UnknownAgentError):
                await soon(agent.send("STAMPED"))
            with pytest.raises(UnknownAgentError):
                await runtime.resume("p-1")
            successor = await runtime.start("parcel", at="PACKING", agent_id="p-1")
            assert (await successor.send("SENT")).version == 2


@pytest.mark.parametrize("is_held", [False, True])
async def test_a_successor_is_not_mixed_up_with_an_agent_erased_while_it_was_resumed(is_held):
    """`resume` has read the agent, then it is erased, `resume` goes on, and another is started under its id."""
    store = WrappedErasure(MemoryStore())
    store.gate.set()
    async with Runtime.open(store, graphs=[parcel], limits=Limits(resident=1)) as runtime:
        await runtime.start("parcel", at="AT_SEA", payload={"stops": ["Porto"]}, agent_id="p-1")
        await runtime.start("parcel", at="PACKING", agent_id="another")  # so that the first is read again
        store.loading = asyncio.Event()
        resuming = asyncio.ensure_future(runtime.resume("p-1"))
        await store.loaded.wait()
        loading, store.loading = store.loading, None
        held = await runtime.resume("p-1") if is_held else None
        await runtime.erase("p-1")
        loading.set()
        [resumed] = await asyncio.gather(soon(resuming), return_exceptions=True)
        assert isinstance(resumed, UnknownAgentError)
        successor = await runtime.start("parcel", at="PACKING", agent_id="p-1")
        await successor.send("STAMPED")
        assert successor.context == Parcel(stops=["entered", "STAMPED"])
        _, (stored, *_) = await everything(runtime)
        assert (stored.configuration, stored) == (("PACKING",), successor.snapshot)
        assert held is None or held.snapshot != stored


class WrappedErasure(WrappedStore):
    """A store that waits before it erases, and after it has read a snapshot."""

    def __init__(self, store):
        super().__init__(store)
        self.gate, self.reached = asyncio.Event(), asyncio.Event()
        self.loading, self.loaded = None, asyncio.Event()

    async def erase(self, agent_id):
        self.reached.set()
        await self.gate.wait()
        return await self.store.erase(agent_id)

    async def load(self, agent_id):
        snapshot, loading = await self.store.load(agent_id), self.loading
        if loading is not None:
            self.loaded.set()
            await loading.wait()
        return snapshot
