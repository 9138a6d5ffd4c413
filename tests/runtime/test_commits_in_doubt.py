"""Commits that went through and were answered with an error, while the store cannot be asked either."""

import asyncio
import logging

import pytest

from gatechart import ANY, Invoke, Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import StoreFailedError
from gatechart.signals import Confidence
from gatechart.stores import open_store
from gatechart.testing import VirtualClock
from gatechart.values.commits import StepRecord
from gatechart.values.handoffs import HandoffStatus
from gatechart.values.trail import Noted, entries_in
from tests.insides import core_of
from tests.runtime.handovers import ALL
from tests.runtime.ledgers import Faults, Ledger, note, pass_on, try_it
from tests.runtime.support import WrappedStore, at_rest, eventually, nothing, soon

LOST = StoreFailedError("agents.db", "the connection was lost")
NEWS = {"to": [["b", "NOTED"]]}


class AskedStore(WrappedStore):
    """A store whose mail, too, a test can keep from being read."""

    async def mail(self, query):
        await self.reading(query)
        return await self.store.mail(query)

    def lose_connection(self, *, before=False):
        """Fails whatever is asked, after it has been written or before."""
        self.reading = fail
        if before:
            self.before = fail
        else:
            self.after = fail

    def mend(self):
        self.before = self.after = self.reading = nothing


async def fail(_):
    raise StoreFailedError("agents.db", "the connection was lost")


class Failing:
    """Fails so many calls with an error."""

    def __init__(self, error, times):
        self.error, self.left = error, times

    async def __call__(self, _):
        if self.left:
            self.left -= 1
            raise self.error


begun = []


async def dig(context, work):
    begun.append(work.agent_id)
    return "gold"


@pytest.fixture(autouse=True)
def _none_begun():
    begun.clear()


digging = StateTransitionGraph(
    "digging",
    context=Ledger,
    states=["RESTING", State("DIGGING", invoke=Invoke(dig, id="it"), after={"1h": "LATE"})],
    transitions=[
        Transition("RESTING", "SENT", "DIGGING", actions=pass_on),
        Transition(ANY, "NOTED", actions=note),
        Transition(ANY, "TRIED", actions=try_it),
        Transition(ANY, "done.invoke.it", actions=note),
        Transition("LATE", "REOPENED", "DIGGING"),
    ],
    entry_points=["RESTING", "DIGGING"],
)


@pytest.fixture
def clock():
    return VirtualClock()


@pytest.fixture
async def store(place):
    async with open_store(place) as real:
        yield AskedStore(real)


@pytest.fixture
def services():
    return Faults()


@pytest.fixture
async def runtime(store, clock, services):
    async with Runtime.open(store, graphs=[digging], clock=clock, services=services) as runtime:
        yield runtime


@pytest.fixture
async def agents(runtime):
    return [await runtime.start("digging", at="RESTING", agent_id=each) for each in "ab"]


async def in_doubt(store, agent, *, before=False):
    """Sends what enters a state and sends mail, and nobody knows whether it is committed."""
    store.lose_connection(before=before)
    with pytest.raises(StoreFailedError):
        await soon(agent.send("SENT", NEWS, event_id="1"))


@pytest.mark.needs("takes_a_clock")
async def test_what_a_turn_in_doubt_asked_for_is_done_as_soon_as_the_store_answers(store, clock, runtime, agents):
    one, other = agents
    await in_doubt(store, one)
    await at_rest(runtime, clock)
    assert (one.configuration, other.context.notes, begun) == (("RESTING",), [], [])
    store.mend()
    clock.advance(60)
    await at_rest(runtime, clock)
    assert (one.configuration, other.context.notes, begun) == (("DIGGING",), ["NOTED of a"], ["a"])
    assert await runtime.mail(status="refused") == []
    clock.advance(3600)
    await soon(one.until("LATE"))


@pytest.mark.needs("takes_a_clock")
async def test_what_a_turn_in_doubt_asked_for_is_done_once_though_the_next_event_settles_it(
    store, clock, runtime, agents
):
    one, other = agents
    async with runtime.changes() as changes:
        await in_doubt(store, one)
        store.mend()
        assert (await soon(one.send("NOTED", {"n": "next"}))).version == 3
        clock.advance(60)
        await at_rest(runtime, clock)
        told = [await soon(anext(changes)) for _ in range(4)]
    assert [entry.event.name for entry in told if entry.agent_id == "a"] == ["SENT", "NOTED", "done.invoke.it"]
    assert (other.context.notes, begun) == (["NOTED of a"], ["a"])
    assert [mail.event for mail in await runtime.mail()] == ["after.1h.DIGGING"]


@pytest.mark.needs("takes_a_clock")
async def test_a_turn_in_doubt_that_was_not_written_asks_for_nothing(store, clock, runtime, agents):
    one, other = agents
    await in_doubt(store, one, before=True)
    store.mend()
    clock.advance(60)
    await at_rest(runtime, clock)
    assert (one.configuration, other.context.notes, begun) == (("RESTING",), [], [])
    assert not (await soon(one.send("SENT", NEWS, event_id="1"))).repeat
    await at_rest(runtime, clock)
    assert (other.context.notes, begun) == (["NOTED of a"], ["a"])


@pytest.mark.needs("takes_a_clock")
async def test_mail_that_a_turn_in_doubt_has_applied_is_not_tried_again(store, clock, runtime, agents, services):
    one, _ = agents
    reached = asyncio.Event()

    async def lose(turns):
        store.lose_connection()
        reached.set()
        raise StoreFailedError("agents.db", "the connection was lost")

    await runtime.post("a", "NOTED", {"n": "before"})
    await at_rest(runtime, clock)
    receipt = await runtime.post("a", "TRIED", {"n": "it"})
    store.after = lose
    await soon(reached.wait())
    await at_rest(runtime, clock)
    assert services.tried["it"] == 1
    store.mend()
    clock.advance(60)
    await at_rest(runtime, clock)
    assert (services.tried["it"], one.context.notes) == (1, ["before", "it"])
    assert receipt.number not in [mail.number for mail in await runtime.mail()]
    await soon(one.send("NOTED", {"n": "behind"}))


@pytest.mark.needs("takes_a_clock")
async def test_a_turn_that_is_its_own_rival_is_in_doubt_and_not_stale(store, clock, runtime, agents):
    one, other = agents
    store.after, store.reading = Failing(LOST, 1), Failing(LOST, 2)
    with pytest.raises(StoreFailedError):
        await soon(one.send("SENT", NEWS))
    await at_rest(runtime, clock)
    assert (one.configuration, other.context.notes, begun) == (("DIGGING",), ["NOTED of a"], ["a"])


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_a_slip_in_a_store_is_not_taken_for_an_answer(store, agents):
    store.after, store.reading = Failing(LOST, 1), Failing(TypeError("a slip"), 1)
    with pytest.raises(TypeError, match="a slip"):
        await soon(agents[0].send("SENT", NEWS))


@pytest.mark.needs("takes_a_clock")
async def test_an_invoke_whose_end_is_in_doubt_tells_its_agent(store, clock, runtime):
    reached = asyncio.Event()

    async def lose(units):
        store.lose_connection()
        reached.set()
        raise StoreFailedError("agents.db", "the connection was lost")

    agent = await runtime.start("digging", at="DIGGING", agent_id="a")
    store.after = lose
    await soon(reached.wait())
    await at_rest(runtime, clock)
    store.mend()
    clock.advance(60)
    await eventually(lambda: agent.context.notes == ["done.invoke.it"])
    assert begun == ["a"]
    assert await store.running(after=0, limit=9) == []


async def tell(context, work):
    await work.note("confidence", 0.9)
    return "told"


telling = StateTransitionGraph(
    "telling",
    context=Ledger,
    states=[State("TELLING", invoke=Invoke(tell, id="it"))],
    transitions=[Transition("TELLING", "done.invoke.it", actions=note)],
    entry_points=["TELLING"],
    signals=Confidence(0.5),
)


@pytest.mark.needs("takes_a_clock")
@pytest.mark.parametrize("before", [False, True])
async def test_a_record_in_doubt_tells_its_agent_once(store, clock, runtime, before):
    reached = asyncio.Event()

    async def lose(units):
        if any(isinstance(each, StepRecord) for each in units):
            store.lose_connection(before=before)
            reached.set()
            await fail(units)

    runtime.register(telling)
    setattr(store, "before" if before else "after", lose)
    agent = await runtime.start("telling", at="TELLING", agent_id="t")
    await soon(reached.wait())
    await at_rest(runtime, clock)
    store.mend()
    clock.advance(60)
    await eventually(lambda: agent.context.notes == ["done.invoke.it"])
    assert entries_in(agent.snapshot.trail.text).count(Noted("confidence", 0.9)) == 1


@pytest.mark.needs("takes_a_clock")
async def test_mail_whose_posting_is_in_doubt_is_delivered_once(store, clock, runtime, agents):
    store.lose_connection()
    with pytest.raises(StoreFailedError):
        await soon(runtime.post("a", "NOTED", {"n": "posted"}, event_id="1"))
    store.mend()
    assert (await runtime.post("a", "NOTED", {"n": "posted"}, event_id="1")).repeat
    clock.advance(60)
    await at_rest(runtime, clock)
    assert agents[0].context.notes == ["posted"]


@pytest.mark.needs("takes_a_clock")
async def test_mail_that_is_posted_behind_mail_in_doubt_comes_behind_it(store, clock, runtime, agents):
    store.lose_connection()
    with pytest.raises(StoreFailedError):
        await soon(runtime.post("a", "NOTED", {"n": "first"}, event_id="1"))
    await at_rest(runtime, clock)
    store.mend()
    assert (await runtime.post("a", "NOTED", {"n": "first"}, event_id="1")).repeat
    await runtime.post("a", "NOTED", {"n": "second"})
    sending = asyncio.ensure_future(agents[0].send("NOTED", {"n": "third"}))
    await at_rest(runtime, clock)
    clock.advance(60)
    await soon(sending)
    assert agents[0].context.notes == ["first", "second", "third"]


@pytest.mark.needs("takes_a_clock")
async def test_mail_whose_posting_failed_is_not_delivered_though_that_was_in_doubt(store, clock, runtime, agents):
    store.lose_connection(before=True)
    with pytest.raises(StoreFailedError):
        await soon(runtime.post("a", "NOTED", {"n": "lost"}))
    await at_rest(runtime, clock)
    store.mend()
    await runtime.post("a", "NOTED", {"n": "kept"})
    clock.advance(60)
    await at_rest(runtime, clock)
    assert (agents[0].context.notes, agents[0].snapshot.version) == (["kept"], 2)


@pytest.mark.needs("takes_a_clock")
@pytest.mark.parametrize(("before", "notes"), [(False, ["in doubt", "sure"]), (True, ["sure"])])
@pytest.mark.parametrize("is_read", [False, True])
async def test_mail_in_doubt_for_an_agent_that_starts_later_is_delivered_only_if_it_was_accepted(
    store, clock, runtime, before, notes, is_read
):
    """is_read: the agent was looked for, and not found, before it starts."""
    store.lose_connection(before=before)
    with pytest.raises(StoreFailedError):
        await soon(runtime.post("later", "NOTED", {"n": "in doubt"}))
    store.mend()
    if is_read:
        await at_rest(runtime, clock)
    await runtime.post("later", "NOTED", {"n": "sure"})
    agent = await runtime.start("digging", at="RESTING", agent_id="later")
    clock.advance(60)
    await at_rest(runtime, clock)
    assert (agent.context.notes, agent.snapshot.version) == (notes, 1 + len(notes))
    assert (await runtime.mail("later"), core_of(runtime).doubted) == ([], set())


@pytest.mark.needs("takes_a_clock")
async def test_a_withdrawal_in_doubt_is_looked_up_before_an_agent_that_does_not_exist_takes_it(store, clock):
    async with Runtime.open(store, graphs=ALL, clock=clock) as runtime:
        agent = await runtime.start("first", at="TALKING")
        await agent.send("ASK", {"to": "second", "at": "BROKEN"})  # the withdrawal waits behind the offer, which fails
        await at_rest(runtime, clock)
        (row,) = await runtime.handoffs()
        store.lose_connection(before=True)
        with pytest.raises(StoreFailedError):
            await soon(runtime.cancel_handoff(row.id, reason="never mind"))
        assert len(core_of(runtime).doubted) == 1
        store.mend()
        for seconds in (2, 4, 8, 16, 60):
            clock.advance(seconds)
            await at_rest(runtime, clock)
        (row,) = await runtime.handoffs()
        assert (row.status, core_of(runtime).doubted, await runtime.mail()) == (HandoffStatus.REJECTED, set(), [])


@pytest.mark.needs("takes_a_clock")
async def test_a_runtime_that_closes_leaves_what_is_in_doubt_to_the_next_one(store, clock, place, caplog):
    with caplog.at_level(logging.ERROR):
        async with Runtime.open(store, graphs=[digging], clock=clock) as runtime:
            one, _ = [await runtime.start("digging", at="RESTING", agent_id=each) for each in "ab"]
            await in_doubt(store, one)
            await at_rest(runtime, clock)
    assert caplog.records == []
    store.mend()
    async with Runtime.open(store, graphs=[digging], clock=clock) as runtime:
        other = await runtime.resume("b")
        await at_rest(runtime, clock)
        assert (other.context.notes, begun) == (["NOTED of a"], ["a"])


@pytest.mark.needs("takes_a_clock")
async def test_an_agent_that_is_erased_while_its_turn_is_in_doubt_stays_erased(store, clock, runtime, agents):
    await in_doubt(store, agents[0])
    await soon(runtime.erase("a"))
    store.mend()
    clock.advance(60)
    await at_rest(runtime, clock)
    assert begun == []
    assert [each.agent_id for each in (await runtime.find()).agents] == ["b"]
