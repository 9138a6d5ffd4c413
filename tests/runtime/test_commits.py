"""Group commit, and stores that fail in the middle of it. The stores are real; what fails is put around them."""

import asyncio
import logging
import re
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import pytest

from gatechart import Runtime, Status
from gatechart.errors import (
    AgentExistsError,
    OwnershipLostError,
    StaleAgentError,
    StoreBusyError,
    StoreFailedError,
)
from gatechart.hosting import group_commit
from gatechart.stores import MemoryStore, open_store
from gatechart.values.commits import Posting, Verdict
from gatechart.values.mail import Mail
from tests.runtime.support import Parcel, WrappedStore, everything, nothing, nothing_changes, parcel, soon

pytestmark = pytest.mark.not_on_restate("it is about what is inside an embedded runtime")


@pytest.fixture
async def store(place):
    async with open_store(place) as real:
        yield WrappedStore(real)


@pytest.fixture
async def runtime(store):
    async with Runtime.open(store, graphs=[parcel]) as runtime:
        yield runtime


@pytest.fixture
async def agents(runtime):
    return [await runtime.start("parcel", at="PACKING", agent_id=f"p-{n}") for n in range(6)]


class Fails:
    """Fails the first calls, or those whose turns hold a given event."""

    def __init__(self, error, *, times=1000, event=None):
        self.error, self.left, self.event = error, times, event

    async def __call__(self, turns):
        concerned = self.event is None or any(turn.event.name == self.event for turn in turns)
        if concerned and self.left:
            self.left -= 1
            raise self.error


def held_back(store):
    """Holds back the next commit; returns the events that it has come, and that it may go on."""
    begun, going_on = asyncio.Event(), asyncio.Event()

    async def wait(turns):
        begun.set()
        await going_on.wait()

    store.before = wait
    return begun, going_on


LOST = StoreFailedError("agents.db", "the connection was lost")


async def test_turns_that_finish_during_a_commit_go_together_into_the_next(store, agents):
    store.groups.clear()
    begun, going_on = held_back(store)
    first = asyncio.ensure_future(agents[0].send("STAMPED"))
    await begun.wait()
    others = [asyncio.ensure_future(agent.send("STAMPED")) for agent in agents[1:]]
    for _ in range(10):
        await asyncio.sleep(0)
    going_on.set()
    await soon(asyncio.gather(first, *others))
    assert [len(group) for group in store.groups] == [1, 5]


async def test_a_transaction_takes_so_many_turns_and_no_more(store, agents, monkeypatch):
    monkeypatch.setattr(group_commit, "MOST_UNITS", 2)
    store.groups.clear()
    begun, going_on = held_back(store)
    sends = [asyncio.ensure_future(agent.send("STAMPED")) for agent in agents]
    await begun.wait()
    for _ in range(10):
        await asyncio.sleep(0)
    going_on.set()
    await soon(asyncio.gather(*sends))
    assert max(len(group) for group in store.groups) == 2
    assert sorted(turn.snapshot.agent_id for group in store.groups for turn in group) == [agent.id for agent in agents]


def refuse():
    raise RuntimeError("nothing can be done now")


async def test_what_fails_after_a_commit_keeps_no_other_from_its_verdict(store, caplog):
    committer, done, now = group_commit.Committer(store), [], datetime.now(UTC)
    mails = [Mail(number, "p-9", "STAMPED", {}, now) for number in (1, 2, 3)]
    thens = [partial(done.append, 1), refuse, partial(done.append, 3)]
    verdicts = [committer.commit(Posting(mail), then) for mail, then in zip(mails, thens, strict=True)]
    assert await soon(asyncio.gather(*verdicts)) == [Verdict.COMMITTED] * 3
    assert [len(group) for group in store.groups] == [3]
    assert done == [1, 3]
    assert "nothing can be done now" in caplog.text
    assert await soon(committer.commit(Posting(replace(mails[0], number=4)))) is Verdict.COMMITTED


async def test_two_starts_under_one_id_are_in_different_commits(store, runtime):
    begun, going_on = held_back(store)
    starts = [asyncio.ensure_future(runtime.start("parcel", at="PACKING", agent_id="p-1")) for _ in range(3)]
    await begun.wait()
    for _ in range(10):
        await asyncio.sleep(0)
    going_on.set()
    results = await soon(asyncio.gather(*starts, return_exceptions=True))
    assert sorted(type(result).__name__ for result in results) == ["Agent", "AgentExistsError", "AgentExistsError"]
    assert all(len(group) == 1 for group in store.groups)


async def test_a_turn_that_cannot_be_written_takes_no_other_with_it(store, runtime, agents, caplog):
    begun, going_on = held_back(store)
    first = asyncio.ensure_future(agents[0].send("STAMPED"))
    await begun.wait()
    events = ["STAMPED", "SENT", "STAMPED", "STAMPED", "STAMPED"]
    others = [asyncio.ensure_future(agent.send(event)) for agent, event in zip(agents[1:], events, strict=True)]
    for _ in range(10):
        await asyncio.sleep(0)
    store.before = Fails(ValueError("this turn cannot be written"), event="SENT")
    going_on.set()
    results = await soon(asyncio.gather(first, *others, return_exceptions=True))
    assert [getattr(result, "version", str(result)) for result in results] == [
        2,
        2,
        "this turn cannot be written",
        2,
        2,
        2,
    ]
    assert [agent.snapshot.version for agent in agents] == [2, 2, 1, 2, 2, 2]
    assert [stored for stored, *_ in await everything(runtime)] == [agent.snapshot for agent in agents]
    told = [record for record in caplog.records if record.getMessage().startswith("a group of units failed")]
    assert [(record.levelno, record.units) for record in told] == [(logging.WARNING, 5)]
    store.before = nothing
    assert (await agents[2].send("SENT")).version == 2


@pytest.mark.parametrize("error", [LOST, ConnectionResetError("in the middle")], ids=["named", "of any kind"])
async def test_a_commit_whose_connection_failed_after_it_was_written_is_settled_by_reading(
    store, runtime, agents, error
):
    store.groups.clear()
    store.after = Fails(error, times=1)
    outcome = await soon(agents[0].send("STAMPED", event_id="crm-1"))
    assert (outcome.version, outcome.repeat) == (2, False)
    assert len(store.groups) == 1
    assert [entry.event.name for entry in await agents[0].history(after=1)] == ["STAMPED"]
    assert (await agents[0].send("SENT")).version == 3
    assert (await runtime.resume("p-0")).context.stops == ["entered", "STAMPED", "entered"]


async def test_a_group_whose_connection_failed_after_it_was_written_is_settled_by_reading(store, runtime, agents):
    begun, going_on = held_back(store)
    first = asyncio.ensure_future(agents[0].send("STAMPED"))
    await begun.wait()
    others = [asyncio.ensure_future(agent.send("STAMPED")) for agent in agents[1:]]
    for _ in range(10):
        await asyncio.sleep(0)
    store.after = Fails(LOST, times=2)
    going_on.set()
    outcomes = await soon(asyncio.gather(first, *others))
    assert [outcome.version for outcome in outcomes] == [2] * 6
    assert [len(entries) for _, *entries in await everything(runtime)] == [2] * 6


async def test_a_start_whose_connection_failed_after_it_was_written_is_settled_by_reading(store, runtime):
    store.after = Fails(LOST, times=1)
    agent = await soon(runtime.start("parcel", at="PACKING", agent_id="p-1"))
    assert agent.context == Parcel(stops=["entered"])
    with pytest.raises(AgentExistsError):
        await runtime.start("parcel", at="PACKING", agent_id="p-1")
    store.after = Fails(LOST, times=1)
    assert (await soon(runtime.stop("p-1"))).status is Status.STOPPED
    assert len(await agent.history()) == 2


async def test_a_second_try_whose_connection_failed_after_it_was_written_is_settled_too(store, agents):
    store.before = Fails(LOST, times=1)
    store.after = Fails(LOST, times=1)
    assert (await soon(agents[0].send("STAMPED"))).version == 2
    assert len(await agents[0].history()) == 2


async def test_a_commit_that_failed_before_it_was_written_is_tried_again(store, agents):
    store.before = Fails(LOST, times=1)
    assert (await soon(agents[0].send("STAMPED"))).version == 2
    assert len(await agents[0].history()) == 2


@pytest.mark.parametrize("error", [LOST, ConnectionResetError("in the middle")], ids=["named", "of any kind"])
async def test_a_store_that_fails_raises_and_nothing_changes(store, runtime, agents, error):
    async with nothing_changes(runtime, *agents):
        store.before = Fails(error)
        for call in (
            agents[0].send("STAMPED", event_id="crm-1"),
            runtime.stop("p-1"),
            runtime.start("parcel", at="PACKING"),
        ):
            with pytest.raises(type(error), match=re.escape(str(error))):
                await soon(call)
    store.before = nothing
    outcome = await agents[0].send("STAMPED", event_id="crm-1")
    assert (outcome.version, outcome.repeat) == (2, False)


async def test_a_store_that_neither_writes_nor_reads_raises_and_nothing_changes(store, runtime, agents):
    async with nothing_changes(runtime, *agents):
        store.before = store.reading = Fails(LOST, event=None)
        with pytest.raises(StoreFailedError):
            await soon(agents[0].send("STAMPED"))
        store.before = store.reading = nothing
    assert (await agents[0].send("STAMPED")).version == 2


async def test_a_commit_that_was_lost_is_settled_though_the_first_reading_fails(store, runtime, agents):
    """The turn is its own rival then: the second try finds the version taken, by the first."""
    store.after, store.reading = Fails(LOST, times=1), Fails(LOST, times=1)
    assert (await soon(agents[0].send("STAMPED"))).version == 2
    assert len(await agents[0].history()) == 2


@pytest.fixture
async def doubtful(store, agents):
    """An agent whose last turn was written, though nobody can know: the connection failed, and the reading too."""
    store.after, store.reading = Fails(LOST), Fails(LOST)
    with pytest.raises(StoreFailedError):
        await soon(agents[0].send("STAMPED", event_id="crm-1"))
    store.after = store.reading = nothing
    return agents[0]


async def test_an_agent_in_doubt_reads_before_its_next_turn(runtime, doubtful):
    assert (await soon(doubtful.send("SENT"))).version == 3
    assert (await soon(doubtful.send("STAMPED", event_id="crm-1"))).repeat
    assert next(stored for stored, *_ in await everything(runtime)) == doubtful.snapshot


async def test_an_agent_in_doubt_reads_before_it_says_that_an_event_is_a_repeat(runtime, doubtful):
    assert (await soon(doubtful.send("STAMPED", event_id="crm-1"))).repeat
    assert next(stored for stored, *_ in await everything(runtime)) == doubtful.snapshot


async def test_an_agent_in_doubt_reads_before_it_is_stopped(runtime, doubtful):
    snapshot = await soon(runtime.stop(doubtful.id))
    assert (snapshot.version, snapshot.status) == (3, Status.STOPPED)
    assert [entry.event.name for entry in await doubtful.history(after=1)] == ["STAMPED", "agent.stopped"]


async def test_a_resident_is_the_only_one_though_it_is_resumed_before_its_start_has_returned(store, runtime):
    written, going_on = asyncio.Event(), asyncio.Event()

    async def wait(turns):
        written.set()
        await going_on.wait()

    store.after = wait
    starting = asyncio.ensure_future(runtime.start("parcel", at="PACKING", agent_id="p-1"))
    await written.wait()
    resumed = await runtime.resume("p-1")
    going_on.set()
    started = await soon(starting)
    outcomes = await soon(asyncio.gather(started.send("STAMPED"), resumed.send("STAMPED")))
    assert [outcome.version for outcome in outcomes] == [2, 3]
    assert started.snapshot is resumed.snapshot


async def test_two_resumes_at_once_lead_to_one_resident(store, runtime):
    await runtime.start("parcel", at="PACKING", agent_id="p-1")
    handles = await asyncio.gather(*(runtime.resume("p-1") for _ in range(4)))
    outcomes = await asyncio.gather(*(handle.send("STAMPED") for handle in handles))
    assert [outcome.version for outcome in outcomes] == [2, 3, 4, 5]


async def test_a_commit_is_not_taken_for_written_where_a_rival_wrote_that_version():
    """Agent, version and event tell: the version stands, but by another's event."""
    store = WrappedStore(MemoryStore())
    async with Runtime.open(store, graphs=[parcel]) as one, Runtime.open(store.store, graphs=[parcel]) as two:
        agent = await one.start("parcel", at="PACKING", agent_id="p-1")
        rival = await two.resume("p-1")

        async def be_overtaken(turns):
            store.before = nothing
            await rival.send("SENT")
            raise LOST

        store.before = be_overtaken
        with pytest.raises(StaleAgentError):
            await soon(agent.send("STAMPED"))
        assert [entry.event.name for entry in await agent.history(after=1)] == ["SENT"]
        assert agent.snapshot == rival.snapshot


async def test_an_agent_changed_by_another_writer_is_read_anew():
    """As where a store of one's own lets several runtimes write."""
    store = MemoryStore()
    async with Runtime.open(store, graphs=[parcel]) as one, Runtime.open(store, graphs=[parcel]) as two:
        agent = await one.start("parcel", at="PACKING", agent_id="p-1")
        other = await two.resume("p-1")
        await other.send("SENT")
        with pytest.raises(StaleAgentError, match="'p-1' was changed by another writer after version 1; send again"):
            await agent.send("STAMPED")
        assert agent.snapshot == other.snapshot
        assert (await agent.send("SHIPPED")).version == 3


async def test_who_waits_for_a_state_that_another_writer_brought_about_is_told():
    store = MemoryStore()
    async with Runtime.open(store, graphs=[parcel]) as one, Runtime.open(store, graphs=[parcel]) as two:
        agent = await one.start("parcel", at="PACKING", agent_id="p-1")
        waiting = asyncio.ensure_future(agent.until("TRANSIT"))
        await asyncio.sleep(0)
        await (await two.resume("p-1")).send("SENT")
        with pytest.raises(StaleAgentError):
            await agent.send("STAMPED")
        assert (await soon(waiting)).version == 2


async def test_an_owner_that_was_taken_over_cannot_write(sqlite_url, sqlite_path):
    async with Runtime.open(sqlite_url, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="PACKING", agent_id="p-1")
        raw = sqlite3.connect(sqlite_path)
        with raw:
            raw.execute("UPDATE owner SET epoch = 2")
        raw.close()
        async with nothing_changes(runtime, agent):
            for call in (agent.send("SENT"), runtime.stop("p-1"), runtime.start("parcel", at="PACKING")):
                with pytest.raises(
                    OwnershipLostError, match="but another runtime has started epoch 2; nothing was written"
                ):
                    await soon(call)


async def test_a_database_locked_by_another_program_fails_the_turn_and_nothing_changes(sqlite_url, sqlite_path):
    async with Runtime.open(f"{sqlite_url}?timeout=0.05", graphs=[parcel]) as runtime:
        agents = [await runtime.start("parcel", at="PACKING") for _ in range(3)]
        raw = sqlite3.connect(sqlite_path, isolation_level=None)
        raw.execute("BEGIN IMMEDIATE")
        async with nothing_changes(runtime, *agents):
            sends = [agent.send("SENT") for agent in agents]
            results = await soon(asyncio.gather(*sends, return_exceptions=True))
            assert [type(result) for result in results] == [StoreBusyError] * 3
        raw.execute("ROLLBACK")
        raw.close()
        assert [(await agent.send("SENT")).version for agent in agents] == [2, 2, 2]


async def test_a_store_that_says_it_is_instant_and_is_not_is_found_out():
    class Suspends(MemoryStore):
        async def commit(self, turns):
            await asyncio.sleep(0)
            return await super().commit(turns)

    async with Runtime.open(Suspends(), graphs=[parcel]) as runtime:
        with pytest.raises(RuntimeError, match="suspended, though its store and its graph declare that they never do"):
            await runtime.start("parcel", at="PACKING")
