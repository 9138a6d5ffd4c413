"""Waiting for a state."""

import asyncio
from contextlib import suppress
from datetime import timedelta

import pytest

from gatechart import Limits, Retry, Runtime, State, StateTransitionGraph, Status, Transition
from gatechart.errors import AgentEndedError, DeadMailError, NotReachedError, PayloadError, UnknownStateError
from gatechart.stores import MemoryStore
from gatechart.tasks import start_task
from gatechart.testing.clock import VirtualClock
from tests.insides import host_of
from tests.runtime.support import at_rest, parcel, soon

pytestmark = [pytest.mark.sample_on_restate, pytest.mark.sqlite_is_enough, pytest.mark.one_variant_is_enough]


@pytest.fixture
async def runtime(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        yield runtime


@pytest.fixture
async def agent(runtime):
    return await runtime.start("parcel", at="PACKING", agent_id="p-1")


async def waiting_for(agent, *states, **limits):
    waiting = asyncio.ensure_future(agent.until(*states, **limits))
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


def waiting_on(agent):
    """The waits for an agent that its runtime still keeps."""
    return host_of(agent)._watchers._waiting


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_who_stops_waiting_takes_nobody_along(agent):
    impatient, patient = await waiting_for(agent, "TRANSIT"), await waiting_for(agent, "TRANSIT")
    impatient.cancel()
    await agent.send("SENT")
    assert (await soon(patient)).version == 2
    with suppress(asyncio.CancelledError):
        await impatient
    assert impatient.cancelled()
    assert waiting_on(agent) == []


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_who_stops_waiting_at_the_last_moment_leaves_nothing_behind(agent):
    impatient = await waiting_for(agent, "TRANSIT")
    sending = start_task(agent.send("SENT"))
    impatient.cancel()
    await sending
    assert waiting_on(agent) == []


async def test_a_refused_and_a_failing_event_reach_nothing(agent):
    waiting = await waiting_for(agent, "LOST")
    await agent.send("LANDED")
    with suppress(Exception):
        await agent.send("DROPPED")
    for _ in range(5):
        await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()


async def test_several_states_are_waited_for(agent):
    assert await agent.until("LOST", "PACKING") == agent.snapshot
    waiting = await waiting_for(agent, "AT_SEA", "DELIVERED")
    await agent.send("SENT")
    await agent.send("SHIPPED")
    assert (await soon(waiting)).configuration == ("AT_SEA",)


async def test_the_end_is_waited_for_wherever_it_is(runtime, agent):
    waiting = await waiting_for(agent, "AT_SEA", ended=True)
    await runtime.stop("p-1")
    assert (await soon(waiting)).status is Status.STOPPED
    assert (await soon(agent.until(ended=True))).configuration == ("PACKING",)


async def test_who_waits_for_nothing_is_told_what_there_is_to_wait_for(agent):
    with pytest.raises(PayloadError, match=r"no state was named.*or ended=True"):
        await agent.until()


async def test_states_in_a_list_are_told_apart_from_names(agent):
    with pytest.raises(PayloadError, match=r"\['AT_SEA'\] is not the name of a state.*each name by itself"):
        await agent.until(["AT_SEA"])


@pytest.mark.parametrize("limit", [0.02, "20ms", timedelta(milliseconds=20), 0])
async def test_a_wait_ends_at_its_timeout_and_the_agent_goes_on(agent, limit):
    with pytest.raises(NotReachedError, match=r"did not reach 'AT_SEA or its end' in .* s and is in PACKING"):
        await soon(agent.until("AT_SEA", ended=True, timeout=limit))
    assert (await agent.send("SENT")).applied


@pytest.mark.parametrize("limit", ["soon", -1, float("nan"), "5 years"])
async def test_a_timeout_that_is_none_is_told(agent, limit):
    with pytest.raises(PayloadError, match="is not a valid timeout"):
        await agent.until("AT_SEA", timeout=limit)


async def test_a_state_that_comes_in_time_is_reached(agent):
    waiting = await waiting_for(agent, "TRANSIT", timeout="1h")
    await agent.send("SENT")
    assert await soon(waiting) == agent.snapshot


@pytest.mark.not_on_restate("a service has no clock that a test sets")
async def test_a_timeout_is_by_the_clock_of_the_runtime():
    clock = VirtualClock()
    async with Runtime.open("memory:", graphs=[parcel], clock=clock) as runtime:
        agent = await runtime.start("parcel", at="PACKING", agent_id="p-1")
        waiting = await waiting_for(agent, "TRANSIT", timeout="2d")
        await at_rest(runtime, clock)
        clock.advance(2 * 86400)
        with pytest.raises(NotReachedError, match="in 172800 s"):
            await soon(waiting)
        assert waiting_on(agent) == []


ONCE = Limits(mail_retry=Retry(attempts=1))


def opened(place, graph):
    return Runtime.open(place, graphs=[graph], limits=ONCE)


@pytest.mark.parametrize("waits", [True, False])
async def test_who_waits_for_an_agent_whose_mail_is_dead_is_told(place, waits):
    async with opened(place, parcel) as runtime:
        agent = await runtime.start("parcel", at="PACKING", agent_id="p-1")
        waiting = await waiting_for(agent, "TRANSIT") if waits else None
        await runtime.post("p-1", "DROPPED")
        if not waits:
            await dead_mail(runtime, "p-1")
        with pytest.raises(DeadMailError, match=r"'DROPPED', is dead \(.*the string broke.*\).*nothing else"):
            await soon(waiting or agent.until("TRANSIT"))
        number = (await dead_mail(runtime, "p-1")).number
        await runtime.discard(number, to="p-1")
        waiting = await waiting_for(agent, "TRANSIT")
        await agent.send("SENT")
        assert await soon(waiting) == agent.snapshot


async def test_who_waits_for_an_agent_that_was_resumed_with_dead_mail_is_told(place):
    async with opened(place, parcel) as runtime:
        await runtime.start("parcel", at="PACKING", agent_id="p-1")
        await runtime.post("p-1", "DROPPED")
        await dead_mail(runtime, "p-1")
    async with opened(place, parcel) as runtime:
        with pytest.raises(DeadMailError):
            await soon((await runtime.resume("p-1")).until("TRANSIT"))


class Counting(MemoryStore):
    """Counts how often it is asked for mail."""

    asked = 0

    async def mail(self, query):
        self.asked += 1
        return await super().mail(query)


async def test_who_waits_for_an_agent_that_was_resumed_has_its_dead_mail_looked_for_once():
    store = Counting()
    async with Runtime.open(store, graphs=[parcel]) as runtime:
        await runtime.start("parcel", at="PACKING", agent_id="p-1")
    async with opened(store, parcel) as runtime:
        agent = await runtime.resume("p-1")
        waiting = await waiting_for(agent, "ON_ROAD")
        for event in ("SENT", "SHIPPED", "ARRIVED"):
            await runtime.post("p-1", event)
        assert await soon(waiting)
        assert store.asked == 1


async def dead_mail(runtime, agent_id):
    async with asyncio.timeout(60):
        while not (found := await runtime.mail(agent_id, status="dead")):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return found[0]


def save(context, event):
    raise RuntimeError("the disk is full")


async def scan(context, work):
    return "clean"


scanner = StateTransitionGraph(
    "scanner",
    states=[State("SCANNING", invoke=scan), State("WAITING", after={"1h": "LATE"})],
    transitions=[
        Transition("SCANNING", "done.invoke.scan", "SCANNED", actions=save),
        Transition("WAITING", "BROKEN", "SCANNED", actions=save),
    ],
    entry_points=["SCANNING", "WAITING"],
)


async def test_who_waits_for_the_effect_of_an_invoke_whose_result_is_dead_is_told(place):
    async with opened(place, scanner) as runtime:
        agent = await runtime.start("scanner", at="SCANNING", agent_id="s-1")
        with pytest.raises(DeadMailError, match=r"'done\.invoke\.scan', is dead"):
            await soon(agent.until("SCANNED"))


async def test_an_agent_with_a_timer_may_still_get_there_despite_dead_mail(place):
    async with opened(place, scanner) as runtime:
        agent = await runtime.start("scanner", at="WAITING", agent_id="s-1")
        await runtime.post("s-1", "BROKEN")
        await dead_mail(runtime, "s-1")
        with pytest.raises(NotReachedError):
            await soon(agent.until("LATE", timeout=0.1))
