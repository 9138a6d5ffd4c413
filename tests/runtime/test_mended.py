"""Faults that a review found, each as small as it can be."""

import asyncio
import logging
import sqlite3
from dataclasses import replace
from datetime import timedelta

import pytest
from pydantic import model_validator

from gatechart import AgentContext, Invoke, Migration, Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import PayloadError, UnknownMailError
from gatechart.hosting.limits import Limits
from gatechart.stores import open_store
from gatechart.testing import VirtualClock
from gatechart.values import Role
from tests.runtime.support import Parcel, WrappedStore, at_rest, eventually, note, parcel, soon

HOUR = timedelta(hours=1)


@pytest.fixture
def clock():
    return VirtualClock()


class UntoldError(Exception):
    """Nobody can say what it is about."""

    def __str__(self):
        raise ValueError("no words")


async def fail(context, work):
    raise ValueError("the string broke")


async def fail_untold(context, work):
    raise UntoldError


def burst_untold(context, event):
    raise UntoldError


def working(invoke):
    """Agents that note how their invoke ended."""
    return StateTransitionGraph(
        "working",
        context=Parcel,
        states=[State("WORKING", invoke=Invoke(invoke, id="it"))],
        transitions=[
            Transition("WORKING", "done.invoke.it", "DONE", actions=note),
            Transition("WORKING", "error.invoke.it", "FAILED", actions=note),
        ],
        entry_points=["WORKING"],
    )


def waiting(version="1", *migrations, state="WAITING", **more):
    """Agents that wait in a state that tests give a timer or an invoke."""
    return StateTransitionGraph(
        "waiting",
        version=version,
        context=Parcel,
        states=[State(state, **more), "LATE", "MOVED"],
        transitions=[Transition(state, "MOVED", "MOVED"), Transition(state, "done.invoke.*", "MOVED")],
        entry_points=[state],
        migrations=migrations,
    )


def unchanged(stored):
    return stored


# Timers


@pytest.mark.needs("takes_a_clock")
async def test_timers_that_only_the_store_has_fire_when_all_that_are_in_memory_were_cancelled(place, clock):
    graph = waiting(after={"5s": "LATE"})
    async with Runtime.open(place, graphs=[graph], clock=clock, limits=Limits(timers=2)) as runtime:
        agents = [await runtime.start("waiting", at="WAITING") for _ in range(8)]
        for agent in agents[:6]:
            await agent.send("MOVED")
        await at_rest(runtime, clock)
        clock.advance(5)
        for agent in agents[6:]:
            await soon(agent.until("LATE"))
        assert {agent.configuration for agent in agents[:6]} == {("MOVED",)}


@pytest.mark.needs("takes_a_clock")
async def test_a_timer_that_a_migration_puts_off_fires_at_the_new_time_and_not_before(place, clock):
    def put_off(stored):
        return replace(stored, mail=tuple(replace(mail, due=mail.due + HOUR) for mail in stored.mail))

    after = {"5s": "LATE"}
    async with Runtime.open(place, graphs=[waiting(after=after), parcel], clock=clock) as runtime:
        await runtime.start("waiting", at="WAITING", agent_id="a")
        await runtime.start("parcel", at="PACKING", agent_id="first")
        await runtime.post("first", "SENT", due=clock.at + timedelta(seconds=1))
    graph = waiting("2", Migration("1", "2", put_off), after=after)
    async with Runtime.open(place, graphs=[graph, parcel], clock=clock) as runtime:
        agent = await runtime.resume("a")
        clock.advance(1)
        await soon((await runtime.resume("first")).until("TRANSIT"))
        clock.advance(4)
        await at_rest(runtime, clock)
        assert agent.configuration == ("WAITING",)
        assert [mail.due for mail in await runtime.mail("a")] == [clock.at + HOUR]
        clock.advance(3600)
        await soon(agent.until("LATE"))


@pytest.mark.needs("takes_a_clock")
async def test_overdue_timers_of_an_agent_that_is_collected_come_in_the_order_in_which_they_were_due(place, clock):
    async with Runtime.open(place, graphs=[parcel], clock=clock, role=Role.VISITOR) as runtime:
        await runtime.start("parcel", at="PACKING", agent_id="a")
        for seconds in (3, 1, 2):
            due = clock.at + timedelta(seconds=seconds)
            await runtime.post("a", "STAMPED", {"at": str(seconds)}, due=due)
    clock.advance(5)
    async with Runtime.open(place, graphs=[parcel], clock=clock, role=Role.VISITOR) as runtime:
        agent = await runtime.resume("a")
        await agent.send("STAMPED", {"at": "sent"})
        assert agent.context.stops == ["entered", "1", "2", "3", "sent"]


# What is wrong with one agent


async def test_a_damaged_agent_does_not_keep_the_mail_of_others(sqlite_url, sqlite_path, clock):
    async with Runtime.open(sqlite_url, graphs=[parcel], clock=clock, role=Role.VISITOR) as runtime:
        for agent_id in "abc":
            await runtime.start("parcel", at="PACKING", agent_id=agent_id)
    async with Runtime.open(sqlite_url, graphs=[parcel], clock=clock, role=Role.VISITOR) as runtime:
        for agent_id in "abc":
            await runtime.post(agent_id, "SENT")
    database = sqlite3.connect(sqlite_path)
    with database:
        database.execute("UPDATE agents SET configuration = '{' WHERE id = 'a'")
    database.close()
    async with Runtime.open(sqlite_url, graphs=[parcel], clock=clock) as runtime:
        await at_rest(runtime, clock)
        for agent_id in "bc":
            assert (await runtime.resume(agent_id)).configuration == ("ON_ROAD",)
        assert [mail.recipient for mail in await runtime.mail()] == ["a"]


@pytest.mark.needs("takes_a_clock")
async def test_an_agent_whose_migration_gives_mail_that_nobody_can_write_does_not_keep_the_others(place, clock):
    def spoil_first(stored):
        spoilt = (replace(mail, payload={"what": object()}) for mail in stored.mail)
        return replace(stored, mail=tuple(spoilt)) if stored.mail[0].recipient == "a" else stored

    async with Runtime.open(place, graphs=[waiting()], clock=clock, role=Role.VISITOR) as runtime:
        for agent_id in "abc":
            await runtime.start("waiting", at="WAITING", agent_id=agent_id)
    async with Runtime.open(place, graphs=[waiting()], clock=clock, role=Role.VISITOR) as runtime:
        for agent_id in "abc":
            await runtime.post(agent_id, "MOVED")
    graph = waiting("2", Migration("1", "2", spoil_first))
    async with Runtime.open(place, graphs=[graph], clock=clock) as runtime:
        await at_rest(runtime, clock)
        found = {agent.agent_id: agent.configuration for agent in (await runtime.find()).agents}
        assert found == {"a": ("WAITING",), "b": ("MOVED",), "c": ("MOVED",)}
        assert [mail.recipient for mail in await runtime.mail()] == ["a"]


# Migrations


async def test_what_a_migration_begins_begins_although_its_resume_was_cancelled_meanwhile(sqlite_url, clock):
    begun, reached, opened = [], asyncio.Event(), asyncio.Event()

    async def begin(context, work):
        begun.append(work.agent_id)

    async def hold(_):
        reached.set()
        await opened.wait()

    async with Runtime.open(sqlite_url, graphs=[waiting()], clock=clock) as runtime:
        await runtime.start("waiting", at="WAITING", agent_id="a")
    async with open_store(sqlite_url) as store:
        wrapped = WrappedStore(store)
        graph = waiting("2", Migration("1", "2", unchanged), invoke=begin)
        async with Runtime.open(wrapped, graphs=[graph], clock=clock) as runtime:
            wrapped.after = hold
            resuming = asyncio.create_task(runtime.resume("a"))
            await soon(reached.wait())
            resuming.cancel()
            with pytest.raises(asyncio.CancelledError):
                await soon(resuming)
            opened.set()
            await eventually(lambda: begun)
            await soon((await runtime.resume("a")).until("MOVED"))
    assert begun == ["a"]


@pytest.mark.needs("migrates_ahead")
async def test_an_idempotency_key_stays_the_same_when_a_migration_renames_the_state(place, clock):
    keys = []

    async def pay(context, work):
        keys.append(work.idempotency_key("pay"))
        await asyncio.Event().wait()

    renaming = Migration("1", "2", lambda stored: stored.renamed({"PAYING": "SETTLING"}))
    for graph in waiting("1", state="PAYING", invoke=pay), waiting("2", renaming, state="SETTLING", invoke=pay):
        known = len(keys)
        async with Runtime.open(place, graphs=[graph], clock=clock) as runtime:
            if not known:
                await runtime.start("waiting", at="PAYING", agent_id="a")
            await eventually(lambda: len(keys) > known)  # noqa: B023  it is called at once
    assert keys == [keys[0]] * 2


# Invokes


class Doubled(AgentContext):
    number: int = 1
    double: int = 0
    noted: str = ""

    @model_validator(mode="after")
    def _double(self):
        self.double = 2 * self.number
        return self


async def test_an_invoke_reads_a_context_whose_validator_sets_a_field_and_cannot_set_one(place, clock):
    async def read(context, work):
        with pytest.raises(Exception, match="frozen"):
            context.number = 5
        return f"{context.number} {context.double}"

    def take(context, event):
        context.noted = event.payload["result"]

    graph = StateTransitionGraph(
        "doubling",
        context=Doubled,
        states=[State("READING", invoke=Invoke(read))],
        transitions=[Transition("READING", "done.invoke.read", "READ", actions=take)],
        entry_points=["READING"],
    )
    async with Runtime.open(place, graphs=[graph], clock=clock) as runtime:
        agent = await runtime.start("doubling", at="READING")
        await soon(agent.until("READ"))
        assert agent.context.noted == "1 2"


async def test_an_invoke_that_fails_is_logged_with_its_agent(place, clock, caplog):
    with caplog.at_level(logging.WARNING):
        async with Runtime.open(place, graphs=[working(fail)], clock=clock) as runtime:
            agent = await runtime.start("working", at="WORKING", agent_id="a")
            await soon(agent.until("FAILED"))
    (record,) = caplog.records
    assert (record.agent_id, record.invoke, record.attempts) == ("a", "it", 1)
    assert "an invoke failed" in caplog.text
    assert "ValueError: the string broke" in caplog.text


async def test_an_invoke_fails_by_an_exception_that_cannot_say_what_it_is_about(place, clock):
    async with Runtime.open(place, graphs=[working(fail_untold)], clock=clock) as runtime:
        agent = await runtime.start("working", at="WORKING")
        await soon(agent.until("FAILED"))
        payload = (await agent.history())[-1].event.payload
        assert (payload["type"], payload["message"]) == ("UntoldError", "")


async def test_an_action_fails_by_an_exception_that_cannot_say_what_it_is_about(place, clock):
    graph = StateTransitionGraph(
        "bursting",
        transitions=[Transition("WHOLE", "DROPPED", actions=burst_untold), Transition("WHOLE", "error.*", "BROKEN")],
        entry_points=["WHOLE"],
    )
    async with Runtime.open(place, graphs=[graph], clock=clock) as runtime:
        agent = await runtime.start("bursting", at="WHOLE")
        await agent.send("DROPPED")
        assert agent.configuration == ("BROKEN",)


# Graphs that are remembered


async def test_a_graph_that_a_runtime_that_only_reads_registers_is_written_nowhere(sqlite_url, clock, caplog):
    async with Runtime.open(sqlite_url, graphs=[waiting()], clock=clock):
        pass
    async with Runtime.open(sqlite_url, graphs=[waiting()], clock=clock, role=Role.READER) as runtime:
        runtime.register(waiting("2"))
        assert runtime.pending_work == 0
    assert caplog.records == []


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_graphs_are_remembered_by_a_runtime_that_attends_to_nothing(place, clock):
    nested = StateTransitionGraph(
        "waiting", states=[State("OUTER", states=["WITHIN", "BESIDE"])], entry_points=["WITHIN"]
    )
    async with Runtime.open(place, graphs=[nested], clock=clock, role=Role.VISITOR) as runtime:
        await runtime.start("waiting", at="WITHIN", agent_id="a")
    graph = waiting("2", Migration("1", "2", unchanged))
    async with Runtime.open(place, graphs=[graph], clock=clock) as runtime:
        (migration,) = [each async for each in runtime.migrate(dry_run=True)]
        assert "the agent is in OUTER.WITHIN" in migration.problem


# Numbers that no store can count to


@pytest.mark.parametrize("version", [2**70, -(2**70), "2", None])
@pytest.mark.parametrize("call", ["snapshot_at", "rollback"])
async def test_a_version_that_no_history_can_have_is_refused(place, clock, call, version):
    async with Runtime.open(place, graphs=[parcel], clock=clock) as runtime:
        agent = await runtime.start("parcel", at="PACKING")
        more = {"reason": "a test"} if call == "rollback" else {}
        with pytest.raises(PayloadError, match="version is"):
            await getattr(agent, call)(version, **more)
        assert agent.snapshot.version == 1


@pytest.mark.needs("lists_all_mail")
@pytest.mark.parametrize("number", [2**70, -1, "2", None])
@pytest.mark.parametrize("call", ["retry", "discard"])
async def test_a_number_that_no_mail_can_have_is_unknown(place, clock, call, number):
    async with Runtime.open(place, graphs=[parcel], clock=clock) as runtime:
        with pytest.raises(UnknownMailError):
            await getattr(runtime, call)(number)
