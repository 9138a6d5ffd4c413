"""Opening, closing and what lies between: agents that rest in the store, feeds, bounds, interruptions."""

import asyncio
import gc
import logging
import signal
from contextlib import suppress

import pytest

from gatechart import ANY, Runtime, StateTransitionGraph, Transition
from gatechart.errors import ActionFailedError, FeedLaggedError, ReadOnlyError, RuntimeClosedError, TurnTimeoutError
from gatechart.hosting.limits import Limits
from gatechart.runtime.live_agent import LiveAgent
from gatechart.runtime.runtime import DEFAULTS
from gatechart.stores import open_store
from gatechart.testing import VirtualClock
from gatechart.values.delays import Retry
from gatechart.values.homes import Role
from tests.forked import PIPE, fork
from tests.insides import core_of
from tests.runtime.ledgers import Faults, Ledger, ledger, note
from tests.runtime.support import Gate, WrappedStore, at_rest, eventually, gated, soon


class CountingStore(WrappedStore):
    """A store that counts which agents are read."""

    def __init__(self, store):
        super().__init__(store)
        self.loaded = []

    async def load(self, agent_id):
        self.loaded.append(agent_id)
        return await self.store.load(agent_id)

    async def load_many(self, agent_ids):
        self.loaded += agent_ids
        return await self.store.load_many(agent_ids)


async def forever(context, event):
    note(context, event)
    await asyncio.Event().wait()


async def briefly(context, event):
    await asyncio.sleep(0)
    note(context, event)


hanging = StateTransitionGraph(
    "hanging",
    context=Ledger,
    states=["UP"],
    transitions=[
        Transition(ANY, "HUNG", actions=forever),
        Transition(ANY, "NOTED", actions=briefly),
    ],
    entry_points=["UP"],
)


# Residents


def residents_of(runtime: Runtime) -> int:
    gc.collect()
    return sum(isinstance(each, LiveAgent) and each.core is core_of(runtime) for each in gc.get_objects())


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_idle_agents_are_not_loaded_when_a_runtime_opens(place):
    async with Runtime.open(place, graphs=[ledger]) as runtime:
        for n in range(20):
            await runtime.start("ledger", at="OPEN", agent_id=f"l-{n}")
    async with open_store(place) as opened:
        store = CountingStore(opened)
        async with Runtime.open(store, graphs=[ledger]) as runtime:
            assert store.loaded == []
            await runtime.post("l-3", "NOTED")
            agent = await runtime.resume("l-3")
            await agent.send("NOTED")
            assert set(store.loaded) == {"l-3"}
            assert residents_of(runtime) == 1


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_only_agents_with_something_to_do_are_loaded_when_a_runtime_opens(place):
    async with Runtime.open(place, graphs=[gated], services=Gate()) as runtime:
        for n in (4, 7):
            await runtime.post(f"g-{n}", "STAMPED", {"at": "a"})
    async with Runtime.open(place, graphs=[ledger]) as runtime:
        for n in range(10):
            await runtime.start("ledger", at="OPEN", agent_id=f"l-{n}")
    async with open_store(place) as opened:
        store = CountingStore(opened)
        async with Runtime.open(store, graphs=[ledger, gated]) as runtime:
            await eventually(lambda: set(store.loaded) == {"g-4", "g-7"})
            assert len(await runtime.mail()) == 2


async def test_no_more_idle_agents_stay_in_memory_than_the_limits_allow_and_handles_stay_valid(place):
    async with Runtime.open(place, graphs=[ledger], limits=Limits(resident=3)) as runtime:
        kept = await runtime.start("ledger", at="OPEN", agent_id="kept")
        for n in range(20):
            agent = await runtime.start("ledger", at="OPEN", agent_id=f"l-{n}")
            await agent.send("NOTED", {"n": str(n)})
        del agent
        assert residents_of(runtime) <= 4
        for n in range(20):
            await runtime.post(f"l-{n}", "NOTED", {"n": "posted"})
            await runtime.post("kept", "NOTED", {"n": str(n)})
        await kept.send("NOTED", {"n": "end"})
        assert kept.context.notes == [*map(str, range(20)), "end"]
        for n in range(20):
            agent = await runtime.resume(f"l-{n}")
            await agent.send("NOTED", {"n": "end"})
            assert agent.context.notes == [str(n), "posted", "end"]
        assert (await runtime.resume("kept")).snapshot == kept.snapshot
        del agent
        await asyncio.sleep(0)
        assert residents_of(runtime) <= 4


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_who_was_needed_last_stays_longest(place):
    async with open_store(place) as opened:
        store = CountingStore(opened)
        async with Runtime.open(store, graphs=[ledger], limits=Limits(resident=2)) as runtime:
            for name in ("a", "b"):
                await runtime.start("ledger", at="OPEN", agent_id=name)
            await runtime.resume("a")
            await runtime.start("ledger", at="OPEN", agent_id="c")
            gc.collect()
            await runtime.resume("a")
            assert store.loaded == []
            await runtime.resume("b")
            assert store.loaded == ["b"]


async def test_two_handles_of_an_agent_see_the_same(place):
    async with Runtime.open(place, graphs=[ledger], limits=Limits(resident=1)) as runtime:
        one = await runtime.start("ledger", at="OPEN", agent_id="l-1")
        for n in range(5):
            await runtime.start("ledger", at="OPEN", agent_id=f"other-{n}")
        gc.collect()
        two = await runtime.resume("l-1")
        await one.send("NOTED", {"n": "a"})
        await two.send("NOTED", {"n": "b"})
        assert one.context.notes == two.context.notes == ["a", "b"]


# Changes


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_changes_are_told_as_they_are_committed_to_all_who_watch(place):
    async with Runtime.open(place, graphs=[ledger]) as runtime:
        await runtime.start("ledger", at="OPEN", agent_id="before")
        async with runtime.changes() as one, runtime.changes() as two:
            agent = await runtime.start("ledger", at="OPEN", agent_id="l-1")
            await agent.send("NOTED", {"n": "a"}, event_id="x-1")
            await agent.send("NOTED", {"n": "a"}, event_id="x-1")
            await agent.send("UNHEARD")
            await runtime.post("before", "NOTED", {"n": "b"})
            await agent.send("MOVED")
            await runtime.stop("l-1")
            for changes in (one, two):
                told = [await soon(anext(changes)) for _ in range(5)]
                mine = [entry for entry in told if entry.agent_id == "l-1"]
                assert mine == list(await agent.history())
                assert [entry.event.name for entry in told if entry.agent_id == "before"] == ["NOTED"]
        await runtime.start("ledger", at="OPEN", agent_id="after")
        assert None not in core_of(runtime).changes.watched


@pytest.mark.needs("watches_changes")
async def test_who_watches_changes_too_slowly_is_told_how_many_were_lost(place):
    async with Runtime.open(place, graphs=[ledger], limits=Limits(feed=3)) as runtime, runtime.changes() as changes:
        agent = await runtime.start("ledger", at="OPEN")
        for n in range(9):
            await agent.send("NOTED", {"n": str(n)})
        with pytest.raises(FeedLaggedError, match="7 items were lost"):
            await anext(changes)
        assert [(await anext(changes)).version for _ in range(3)] == [8, 9, 10]


@pytest.mark.needs("watches_changes")
async def test_who_watches_changes_is_told_of_the_last_ones_and_then_that_the_runtime_closes(place):
    gate, seen = Gate(), []

    async def watch():
        async with runtime.changes() as changes:
            async for entry in changes:
                seen.append(entry.version)

    async with Runtime.open(place, graphs=[gated], services=gate) as runtime:
        watching = asyncio.ensure_future(watch())
        await asyncio.sleep(0)
        agent = await runtime.start("gated", at="RESTING")
        sending = asyncio.ensure_future(agent.send("PASSED"))
        await gate.reached()
        asyncio.get_running_loop().call_soon(gate.opened.set)
    await soon(sending)
    with pytest.raises(RuntimeClosedError, match="changes"):
        await soon(watching)
    assert seen == [1, 2]


# Closing


async def test_mail_that_has_not_begun_is_left_to_the_next_runtime(place):
    gate = Gate()
    async with Runtime.open(place, graphs=[gated], services=gate) as runtime:
        for agent_id in ("g-1", "g-2"):
            await runtime.start("gated", at="RESTING", agent_id=agent_id)
            await runtime.post(agent_id, "PASSED", {"at": "under way"})
        await gate.reached(turns=2)
        for agent_id in ("g-1", "g-2"):
            await runtime.post(agent_id, "PASSED", {"at": "waiting"})
        asyncio.get_running_loop().call_soon(gate.opened.set)
    assert sorted(gate.passed) == [("g-1", "under way"), ("g-2", "under way")]
    async with Runtime.open(place, graphs=[gated], services=gate) as runtime:
        for agent_id in ("g-1", "g-2"):
            agent = await runtime.resume(agent_id)
            await agent.send("STAMPED", {"at": "end"})
            assert agent.context.stops == ["under way", "waiting", "end"]


@pytest.mark.needs("takes_a_clock")
async def test_closing_does_not_wait_for_mail_that_is_tried_again_later(place):
    clock = VirtualClock()
    limits = Limits(mail_retry=Retry(attempts=5, first_s=60), close_s=3)
    async with Runtime.open(place, graphs=[ledger], services=Faults("a"), clock=clock, limits=limits) as runtime:
        agent = await runtime.start("ledger", at="OPEN", agent_id="l-1")
        await runtime.post("l-1", "TRIED", {"n": "a"})
        await at_rest(runtime, clock)
        sending = asyncio.ensure_future(agent.send("NOTED"))
        await asyncio.sleep(0)
        closing = asyncio.get_running_loop().time()
    assert asyncio.get_running_loop().time() - closing < 2
    with pytest.raises(RuntimeClosedError):
        await soon(sending)
    async with Runtime.open(place, graphs=[ledger], services=Faults(), clock=clock) as runtime:
        agent = await runtime.resume("l-1")
        await at_rest(runtime, clock)
        clock.advance(60)
        await soon(agent.send("NOTED", {"n": "end"}))
        assert agent.context.notes == ["a", "end"]


async def test_an_action_that_never_returns_holds_up_the_close_only_so_long(place):
    async with Runtime.open(place, graphs=[hanging], limits=Limits(close_s=0.02)) as runtime:
        agent = await runtime.start("hanging", at="UP", agent_id="h-1")
        await runtime.post("h-1", "HUNG")
        behind = asyncio.ensure_future(agent.send("NOTED"))
        await asyncio.sleep(0)
    [error] = await asyncio.gather(soon(behind), return_exceptions=True)
    assert isinstance(error, RuntimeClosedError | asyncio.CancelledError)
    async with Runtime.open(place, graphs=[ledger]) as runtime:
        assert [mail.event for mail in await runtime.mail()] == ["HUNG"]
        assert len(await runtime.history("h-1")) == 1


# Limits


async def test_a_turn_that_takes_too_long_is_undone(place):
    async with Runtime.open(place, graphs=[hanging], limits=Limits(turn_s=0.01)) as runtime:
        agent = await runtime.start("hanging", at="UP")
        with pytest.raises(TurnTimeoutError, match=r"on 'HUNG' took longer than 0\.01 s and is undone"):
            await soon(agent.send("HUNG", event_id="x-1"))
        assert (agent.snapshot.version, agent.context.notes) == (1, [])
        assert (await agent.send("NOTED", {"n": "a"}, event_id="x-1")).version == 2


async def test_mail_whose_turn_takes_too_long_is_tried_again_and_is_dead_in_the_end(place):
    limits = Limits(turn_s=0.01, mail_retry=Retry(attempts=2, first_s=0))
    async with Runtime.open(place, graphs=[hanging], limits=limits) as runtime:
        agent = await runtime.start("hanging", at="UP")
        await runtime.post(agent.id, "HUNG")
        await soon(agent.send("NOTED", {"n": "a"}))
        [dead] = await runtime.mail()
        assert (dead.status.value, dead.attempts) == ("dead", 2)
        assert "TurnTimeoutError" in dead.reason
        assert agent.context.notes == ["a"]


async def test_a_timeout_of_an_actions_own_is_the_actions_failure(place):
    async def give_up(context, event):
        async with asyncio.timeout(0):
            await asyncio.sleep(60)

    graph = StateTransitionGraph(
        "impatient", states=["A"], transitions=[Transition("A", "TRIED", actions=give_up)], entry_points=["A"]
    )
    async with Runtime.open(place, graphs=[graph]) as runtime:
        agent = await runtime.start("impatient", at="A")
        with pytest.raises(ActionFailedError, match="TimeoutError"):
            await agent.send("TRIED")


@pytest.mark.parametrize("name", ["turn_s", "inbox", "resident", "invokes", "timers", "feed", "close_s"])
def test_limits_that_leave_no_room_are_refused(name):
    for wrong in (0, -1):
        with pytest.raises(ValueError, match=rf"Limits\({name}={wrong}\) leaves no room"):
            Limits(**{name: wrong})
    assert getattr(DEFAULTS, name) > 0


# Callers that stop waiting


async def test_a_send_under_a_timeout_takes_effect_wholly_or_not_at_all(place):
    async with Runtime.open(place, graphs=[hanging]) as runtime:
        agent = await runtime.start("hanging", at="UP")
        for n in range(30):
            with suppress(TimeoutError):
                async with asyncio.timeout(n / 20_000):
                    await agent.send("NOTED", {"n": str(n)}, event_id=str(n))
        for n in range(30):
            assert (await agent.send("NOTED", {"n": str(n)}, event_id=str(n))).applied
        assert sorted(agent.context.notes, key=int) == [*map(str, range(30))]
        assert agent.snapshot.version == 31 == len(await agent.history())


async def test_a_caller_that_is_cancelled_before_its_turn_withdraws_it(place):
    gate = Gate()
    async with Runtime.open(place, graphs=[gated], services=gate) as runtime:
        agent = await runtime.start("gated", at="RESTING")
        first = asyncio.ensure_future(agent.send("PASSED", {"at": "first"}))
        await gate.reached()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await agent.send("STAMPED", {"at": "withdrawn"})
        gate.opened.set()
        await soon(first)
        await agent.send("STAMPED", {"at": "end"})
        assert agent.context.stops == ["first", "end"]


async def test_a_runtime_whose_close_is_cancelled_leaves_a_sound_store(sqlite_url):
    gate, left = Gate(), asyncio.Event()

    async def work():
        async with Runtime.open(sqlite_url, graphs=[gated], services=gate) as runtime:
            agent = await runtime.start("gated", at="RESTING", agent_id="g-1")
            asyncio.ensure_future(agent.send("PASSED"))  # noqa: RUF006
            await gate.reached()
            left.set()

    working = asyncio.ensure_future(work())
    await soon(left.wait())
    for _ in range(3):
        await asyncio.sleep(0)
    working.cancel()
    with suppress(asyncio.CancelledError):
        await soon(working)
    gate.opened.set()
    async with Runtime.open(sqlite_url, graphs=[gated], services=gate) as runtime:
        agent = await runtime.resume("g-1")
        assert agent.snapshot.version in {1, 2}
        assert (await agent.send("STAMPED")).applied


@pytest.mark.processes
@pytest.mark.parametrize("after", ["posted 3", "sent 5", "sent 1"])
async def test_a_script_that_is_interrupted_ends_cleanly_and_the_next_goes_on(sqlite_url, after):
    """Ctrl-C: what was told to be done is there, once; what was accepted is delivered."""
    told = []
    with fork("tests.runtime.interrupted:main", sqlite_url, stdout=PIPE, stderr=PIPE) as child:
        while not told or told[-1] != after:
            told.append(child.stdout.readline().strip())
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=30)
    told += out.split("\n")[:-1]
    assert child.returncode != 0
    assert err.strip().endswith("KeyboardInterrupt")
    async with Runtime.open(sqlite_url, graphs=[ledger], services=Faults()) as runtime:
        agent = await runtime.resume("l-1")
        await agent.send("NOTED", {"n": "end"})
        notes = agent.context.notes
        assert notes[-1] == "end"
        assert len(notes) == len(set(notes))
        assert set(told) <= set(notes)
        in_order = [f"{kind} {n}" for n in range(1, len(notes)) for kind in ("posted", "sent")]
        assert notes[:-1] == in_order[: len(notes) - 1]
        entries = await agent.history()
        assert [entry.version for entry in entries] == [*range(1, len(entries) + 1)]
        assert [mail.payload for mail in await runtime.mail()] == [{"n": "later"}]


# Reading only


@pytest.mark.parametrize("name", ["post", "retry", "discard"])
async def test_a_runtime_that_only_reads_takes_no_mail(sqlite_url, name):
    async with Runtime.open(sqlite_url, graphs=[ledger]) as runtime:
        await runtime.post("l-1", "NOTED")
    async with Runtime.open(sqlite_url, graphs=[ledger], role=Role.READER) as runtime:
        [mail] = await runtime.mail()
        call = {
            "post": lambda: runtime.post("l-1", "NOTED"),
            "retry": lambda: runtime.retry(mail.number),
            "discard": lambda: runtime.discard(mail.number),
        }[name]
        with pytest.raises(ReadOnlyError):
            await call()
        assert await runtime.mail() == [mail]


async def test_a_runtime_that_only_reads_delivers_nothing(sqlite_url, caplog):
    async with Runtime.open(sqlite_url, graphs=[gated], services=Gate()) as runtime:
        await runtime.start("gated", at="RESTING", agent_id="g-1")
    async with Runtime.open(sqlite_url, graphs=[ledger]) as runtime:
        await runtime.post("g-1", "STAMPED")
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        async with Runtime.open(sqlite_url, graphs=[gated], role=Role.READER) as runtime:
            agent = await runtime.resume("g-1")
            await asyncio.sleep(0)
            assert (agent.snapshot.version, runtime.pending_work, len(await runtime.mail())) == (1, 0, 1)
    assert caplog.records == []
