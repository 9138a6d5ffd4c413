"""Faults that were found by crashing, by comparing with a model, and by reading, each as small as it can be."""

import asyncio
from functools import partial
from inspect import isawaitable

import pytest

from gatechart import ANY, Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import StoreFailedError
from gatechart.graph.definition import Invoke
from gatechart.hosting.limits import Limits, WhenFull
from gatechart.stores import open_store
from gatechart.testing import VirtualClock
from gatechart.values.commits import InvokeReport, Posting, StepRecord
from gatechart.values.delays import Retry
from tests.runtime.support import Gate, Parcel, WrappedStore, burst, gated, note, parcel, soon

ONCE = Limits(mail_retry=Retry(attempts=1))


async def until(condition):
    """Waits for what comes about by itself, soon; the condition may have to be awaited."""
    async with asyncio.timeout(3):
        while not (await holds if isawaitable(holds := condition()) else holds):  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def is_empty(runtime, agent_id):
    """Whether no mail is left for the agent."""
    return not await runtime.mail(agent_id)


def chart(*transitions, **more):
    """An agent that waits, works with what is invoked in WORKING, and rests."""
    return StateTransitionGraph(
        "chart",
        context=Parcel,
        states=["WAITING", State("WORKING", **more)],
        transitions=[
            Transition("WAITING", "BEGUN", "WORKING"),
            Transition("WORKING", "LEFT", "RESTING"),
            Transition(ANY, "STAMPED", actions=note),
            *transitions,
        ],
        entry_points=["WAITING", "WORKING"],
    )


async def forget_self(context, work):
    """Ends by a CancelledError that nobody asked for."""
    raise asyncio.CancelledError


async def hang(context, work):
    """Goes on until it is cancelled."""
    await asyncio.Event().wait()


async def answer(context, work):
    """Ends at once."""
    return 42


@pytest.mark.parametrize("timeout_s", [None, 60])
async def test_an_invoke_that_ends_itself_by_a_cancelled_error_has_failed(place, timeout_s):
    graph = chart(Transition("WORKING", "error.invoke.*", "BROKEN"), invoke=Invoke(forget_self, timeout_s=timeout_s))
    async with Runtime.open(place, graphs=[graph]) as runtime:
        agent = await runtime.start("chart", at="WORKING")
        await soon(agent.until("BROKEN"))


async def test_an_invoke_that_begins_while_the_runtime_closes_does_not_keep_it_open(sqlite_url):
    gate = Gate()

    async def pass_gate(context, event, turn):
        await gate.wait(turn.agent_id, "gate")

    graph = chart(Transition("WAITING", "OPENED", "WORKING", actions=pass_gate), invoke=hang)
    async with asyncio.timeout(60):
        async with Runtime.open(sqlite_url, graphs=[graph]) as runtime:
            agent = await runtime.start("chart", at="WAITING", agent_id="a")
            sending = asyncio.create_task(agent.send("OPENED"))
            await gate.reached()
            asyncio.get_running_loop().call_later(0.1, gate.opened.set)
        await sending
    async with Runtime.open(sqlite_url, graphs=[graph]) as runtime:
        assert (await runtime.resume("a")).configuration == ("WORKING",)


@pytest.mark.needs("lists_all_mail")
async def test_dead_mail_of_a_state_that_was_left_is_forgotten_when_it_is_tried_again(place):
    graph = chart(Transition("WORKING", "done.invoke.answer", actions=burst), invoke=answer)
    async with Runtime.open(place, graphs=[graph], limits=ONCE) as runtime:
        agent = await runtime.start("chart", at="WORKING")
        await until(lambda: runtime.mail(agent.id, status="dead"))
        dead = await runtime.mail(agent.id, status="dead")
        await agent.send("LEFT")
        await runtime.retry(dead[0].number)
        await agent.send("STAMPED")
        await until(partial(is_empty, runtime, agent.id))


async def test_mail_that_waited_for_an_agent_is_applied_before_what_comes_while_it_starts(sqlite_url):
    async with open_store(sqlite_url) as store:
        wrapped = SlowMail(store)
        async with Runtime.open(wrapped, graphs=[parcel]) as runtime:
            await runtime.post("a", "STAMPED", {"at": "first"})
            await asyncio.sleep(0.05)
            wrapped.slow = asyncio.Event()
            starting = asyncio.create_task(runtime.start("parcel", at="PACKING", agent_id="a"))
            await until(lambda: wrapped.asked)
            await runtime.post("a", "STAMPED", {"at": "second"})
            await asyncio.sleep(0.05)
            wrapped.slow.set()
            agent = await starting
            await agent.send("STAMPED", {"at": "third"})
            assert agent.context.stops == ["entered", "first", "second", "third"]
            assert await runtime.mail("a") == []


async def test_mail_accepted_before_a_restart_is_applied_before_what_is_sent_after_it(sqlite_url):
    async with open_store(sqlite_url) as store:
        wrapped = SlowMail(store)
        async with Runtime.open(wrapped, graphs=[parcel]) as runtime:
            await runtime.start("parcel", at="PACKING", agent_id="a")
            wrapped.failing = True
            await runtime.post("b", "STAMPED")
        wrapped.failing = False
        async with Runtime.open(wrapped, graphs=[gated], services=Gate()) as runtime:  # which cannot take it
            await runtime.post("a", "STAMPED", {"at": "first"})
        wrapped.many = asyncio.Event()
        async with Runtime.open(wrapped, graphs=[parcel]) as runtime:
            agent = await runtime.resume("a")
            sending = asyncio.create_task(agent.send("STAMPED", {"at": "second"}))
            await asyncio.sleep(0.05)
            wrapped.many.set()
            await soon(sending)
            await until(lambda: len(agent.context.stops) == 3)
            assert agent.context.stops == ["entered", "first", "second"]


async def test_callers_that_wait_for_room_go_on_when_one_before_them_had_nothing_to_deliver(sqlite_url):
    limits = Limits(inbox=1, when_full=WhenFull.WAIT)
    gate = Gate()
    async with Runtime.open(sqlite_url, graphs=[gated], services=gate, limits=limits) as runtime:
        agent = await runtime.start("gated", at="RESTING")
        await agent.send("STAMPED", {"at": "x"}, event_id="known")
        await runtime.post(agent.id, "PASSED")
        await gate.reached()
        repeat = asyncio.create_task(runtime.post(agent.id, "STAMPED", {"at": "x"}, event_id="known"))
        await asyncio.sleep(0)
        behind = asyncio.create_task(runtime.post(agent.id, "STAMPED"))
        await asyncio.sleep(0.01)
        gate.opened.set()
        assert (await soon(repeat)).repeat
        assert not (await soon(behind)).repeat


def set_timers(context, event, turn):
    first = event.payload.get("from", 1)
    for n in range(first, first + event.payload["count"]):
        turn.after(n, "RANG", {"at": str(n)})


clocks = StateTransitionGraph(
    "clocks",
    context=Parcel,
    states=["ON"],
    transitions=[Transition("ON", "SET", actions=set_timers), Transition("ON", "RANG", actions=note)],
    entry_points=["ON"],
)


async def test_timers_go_on_when_the_store_could_not_be_read_for_a_while(sqlite_url):
    clock = VirtualClock()
    async with open_store(sqlite_url) as store:
        wrapped = SlowMail(store)
        async with Runtime.open(wrapped, graphs=[clocks], clock=clock, limits=Limits(timers=2)) as runtime:
            agent = await runtime.start("clocks", at="ON")
            await agent.send("SET", {"count": 10})
            wrapped.failing = True
            for _ in range(3):
                clock.advance(1)
                await asyncio.sleep(0.02)
            wrapped.failing = False
            for _ in range(30):
                clock.advance(1)
                await asyncio.sleep(0.01)
            await until(lambda: len(agent.context.stops) == 10)


async def test_timers_set_while_the_next_ones_are_read_are_not_lost(sqlite_url):
    clock = VirtualClock()
    async with open_store(sqlite_url) as store:
        wrapped = SlowMail(store)
        async with Runtime.open(wrapped, graphs=[clocks], clock=clock, limits=Limits(timers=2)) as runtime:
            agent = await runtime.start("clocks", at="ON")
            await agent.send("SET", {"count": 5})
            wrapped.due_after = asyncio.Event()
            clock.advance(2)
            await until(lambda: wrapped.asked_due)
            await agent.send("SET", {"count": 9, "from": 10})
            wrapped.due_after.set()
            for _ in range(40):
                clock.advance(1)
                await asyncio.sleep(0.01)
            await until(lambda: len(agent.context.stops) == 14)


async def test_a_start_whose_waiting_mail_cannot_be_read_at_once_loses_none(sqlite_url):
    async with open_store(sqlite_url) as store:
        wrapped = SlowMail(store)
        clock = VirtualClock()
        async with Runtime.open(wrapped, graphs=[parcel], clock=clock) as runtime:
            await runtime.post("a", "STAMPED", {"at": "first"})
            await asyncio.sleep(0.05)
            wrapped.failing = True
            starting = asyncio.create_task(runtime.start("parcel", at="PACKING", agent_id="a"))
            await asyncio.sleep(0.05)
            wrapped.failing = False
            for _ in range(20):
                clock.advance(1)
                await asyncio.sleep(0.01)
            assert (await soon(starting)).context.stops == ["entered", "first"]


async def test_mail_goes_on_when_the_store_could_not_say_whether_it_still_waits(sqlite_url):
    clock = VirtualClock()
    async with open_store(sqlite_url) as store:
        wrapped = SlowMail(store)
        async with Runtime.open(wrapped, graphs=[parcel], clock=clock) as runtime:
            agent = await runtime.start("parcel", at="PACKING", agent_id="a")
            wrapped.stale = 1
            wrapped.failing = True
            await runtime.post("a", "STAMPED", {"at": "first"})
            await asyncio.sleep(0.05)
            wrapped.failing = False
            for _ in range(20):
                clock.advance(1)
                await asyncio.sleep(0.01)
            assert agent.context.stops == ["entered", "first"]


class SlowMail(WrappedStore):
    """A store whose reading of mail a test can hold up or have fail."""

    def __init__(self, store):
        super().__init__(store)
        self.slow = self.many = self.due_after = None
        self.asked = self.asked_due = self.failing = False
        self.stale = 0

    async def commit(self, units):
        if self.stale and hasattr(units[0], "consumes") and units[0].consumes is not None:
            self.stale -= 1
            return ["stale"] * len(units)
        return await super().commit(units)

    async def mail(self, query):
        self._fail()
        if self.slow is not None:
            self.asked = True
            found = await self.store.mail(query)
            await self.slow.wait()
            return found
        return await self.store.mail(query)

    async def due(self, **wanted):
        self._fail()
        found = await self.store.due(**wanted)
        if self.due_after is not None:
            self.asked_due = True
            await self.due_after.wait()
        return found

    async def load_many(self, agent_ids):
        if self.many is not None:
            await self.many.wait()
        return await self.store.load_many(agent_ids)

    def _fail(self):
        if self.failing:
            raise StoreFailedError("agents.db", "disk I/O error")


async def test_an_invoke_whose_state_is_entered_while_a_runtime_recovers_begins_once(sqlite_url):
    begun = []

    async def begin(context, work):
        begun.append(work.agent_id)
        await hang(context, work)

    graph = chart(invoke=begin)
    async with Runtime.open(sqlite_url, graphs=[graph]) as runtime:
        await runtime.start("chart", at="WAITING", agent_id="a")
    async with Runtime.open(sqlite_url, graphs=[gated]) as runtime:  # which cannot take it
        await runtime.post("a", "BEGUN")
    async with open_store(sqlite_url) as store:
        slow = SlowRunning(store)
        async with Runtime.open(slow, graphs=[graph]) as runtime:
            agent = await runtime.resume("a")
            await soon(agent.until("WORKING"))
            await until(lambda: begun)
            await asyncio.sleep(0.02)
            assert begun == ["a"]


class SlowRunning(WrappedStore):
    """A store that takes its time to tell what is under way."""

    async def running(self, **wanted):
        await asyncio.sleep(0.1)
        return await self.store.running(**wanted)


@pytest.mark.needs("takes_a_clock")
async def test_mail_that_was_due_before_the_clock_went_back_is_delivered_when_it_is_due_again(place):
    clock = VirtualClock()
    async with Runtime.open(place, graphs=[parcel], clock=clock) as runtime:
        await runtime.post("a", "STAMPED", {"at": "due"}, due=clock.at)
        await asyncio.sleep(0.05)
        clock.advance(-2)
        agent = await runtime.start("parcel", at="PACKING", agent_id="a")
        clock.advance(2)
        await until(lambda: agent.context.stops == ["entered", "due"])


class SlowLoads(WrappedStore):
    """A store that may hold back what it has read of an agent."""

    passing = None

    async def load(self, agent_id):
        found = await self.store.load(agent_id)
        if self.passing is not None:
            await self.passing.wait()
        return found


async def test_an_agent_that_comes_and_goes_while_it_is_read_is_not_taken_for_what_it_was(sqlite_url):
    async with open_store(sqlite_url) as store:
        slow = SlowLoads(store)
        async with Runtime.open(slow, graphs=[parcel], limits=Limits(resident=1)) as runtime:
            for agent_id in "abc":
                await runtime.start("parcel", at="PACKING", agent_id=agent_id)
            slow.passing = asyncio.Event()
            resuming = asyncio.create_task(runtime.resume("a"))
            await asyncio.sleep(0.05)
            await runtime.post("a", "STAMPED", {"at": "first"})
            await until(lambda: runtime.history("a", after=1))
            await runtime.start("parcel", at="PACKING", agent_id="d")  # a has to make room
            slow.passing.set()
            agent = await soon(resuming)
            assert agent.snapshot == await store.load("a")
            assert (await agent.send("STAMPED")).version == 3


class LostAnswers(WrappedStore):
    """A store that commits, but whose answer to a kind of unit is lost, and that cannot be read for a while then."""

    lost = None
    unreadable = unreadable_after = 0

    async def commit(self, units):
        verdicts = await self.store.commit(units)
        if self.lost is not None and any(isinstance(unit, self.lost) for unit in units):
            self.lost, self.unreadable = None, self.unreadable_after
            raise StoreFailedError("agents.db", "the connection was lost")
        return verdicts

    async def steps(self, invocation):
        self._fail()
        return await self.store.steps(invocation)

    async def mail(self, query):
        self._fail()
        return await self.store.mail(query)

    def _fail(self):
        if self.unreadable:
            self.unreadable -= 1
            raise StoreFailedError("agents.db", "the connection was lost")


async def take_steps(context, work):
    """A step, a report and an end."""
    await work.step("one", int)
    await work.progress({"at": "progress"})
    return await work.step("two", int)


@pytest.mark.parametrize(
    ("kind", "unreadable"), [(StepRecord, 1), (StepRecord, 2), (InvokeReport, 1), (InvokeReport, 2)]
)
async def test_an_invoke_goes_on_when_the_answer_to_a_commit_was_lost(sqlite_url, kind, unreadable):
    graph = chart(
        Transition("WORKING", "progress.invoke.*", actions=note),
        Transition("WORKING", "done.invoke.*", "RESTED"),
        invoke=take_steps,
    )
    async with open_store(sqlite_url) as store:
        losing = LostAnswers(store)
        losing.lost, losing.unreadable_after = kind, unreadable
        async with Runtime.open(losing, graphs=[graph]) as runtime:
            agent = await runtime.start("chart", at="WORKING")
            await soon(agent.until("RESTED"))
            assert agent.context.stops == ["progress"]
            assert await runtime.mail(agent.id) == []


async def test_mail_is_delivered_when_the_answer_to_its_posting_was_lost(sqlite_url):
    async with open_store(sqlite_url) as store:
        losing = LostAnswers(store)
        async with Runtime.open(losing, graphs=[parcel]) as runtime:
            agent = await runtime.start("parcel", at="PACKING")
            losing.lost, losing.unreadable_after = Posting, 1
            receipt = await runtime.post(agent.id, "STAMPED", {"at": "once"}, event_id="x")
            assert not receipt.repeat
            await until(lambda: agent.context.stops == ["entered", "once"])
