"""Disks that are full, files that others lock, protect or damage: who sends is told, and mail waits and goes on."""

import asyncio
import resource
import sqlite3
from contextlib import asynccontextmanager, closing, contextmanager
from datetime import timedelta

import pytest
from pydantic import Field

from gatechart import ANY, AgentContext, EntryPoint, Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import OutsideError, StoreBusyError, StoreCorruptError, StoreFailedError, StoreReadOnlyError
from gatechart.graph.definition import Invoke
from gatechart.stores import open_store
from gatechart.testing import VirtualClock
from tests.runtime.support import eventually

LARGE = "x" * 20_000  # so that it needs pages that are not there yet


class Notes(AgentContext):
    notes: list[str] = Field(default_factory=list)
    bulk: str = ""  # grows with each event, so that a turn needs more pages than the mail that it consumes gives back


class Outside:
    """What the agent's work finds outside."""

    def __init__(self):
        self.opened = asyncio.Event()
        self.done = []


def note(context, event):
    context.notes.append(f"{event.name} {event.payload.get('n', '')}".strip())
    context.bulk += event.payload.get("more", "")


def set_timer(context, event, turn):
    turn.after(1, "RANG", {"n": "timer", "more": LARGE}, key="k")


async def labour(context, work):
    await work.services.opened.wait()
    work.services.done.append(await work.step("only", do, work.services))
    return "worked"


async def do(outside):
    outside.done.append("ran")
    return LARGE


keeper = StateTransitionGraph(
    "keeper",
    context=Notes,
    states=["IDLE", "FULL", State("WORKING", invoke=Invoke(labour))],
    transitions=[
        Transition(ANY, "NOTED", actions=note),
        Transition(ANY, "RANG", actions=note),
        Transition(ANY, "SET", actions=set_timer),
        Transition("WORKING", "done.invoke.labour", "IDLE", actions=note),
    ],
    entry_points=["IDLE", EntryPoint("FULL", takes=Notes), "WORKING"],
)


async def pragma(store, text):
    """Sets something on the one connection that writes."""

    def run(connection):
        result = connection.exec_driver_sql(f"PRAGMA {text}")
        return result.scalar() if result.returns_rows else None

    return await store.write(run)


@asynccontextmanager
async def full_disk(store, path):
    await pragma(store, f"max_page_count={await pragma(store, 'page_count')}")
    yield
    await pragma(store, "max_page_count=1000000")


@asynccontextmanager
async def full_quota(store, path):
    """The system lets no file grow beyond the log's size."""
    log = path.with_name(f"{path.name}-wal")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@asynccontextmanager
async def locked(store, path):
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@asynccontextmanager
async def write_protected(store, path):
    await pragma(store, "query_only=1")
    yield
    store._writer._engine.dispose()  # a new connection, which may write


async def pass_time(clock, seconds=6):
    """Lets time go by, and whoever waits for it go on."""
    for _ in range(seconds):
        clock.advance(1)
        await asyncio.sleep(0.03)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (full_disk, StoreFailedError),
        (full_quota, StoreFailedError),
        (locked, StoreBusyError),
        (write_protected, StoreReadOnlyError),
    ],
)
async def test_who_sends_is_told_and_mail_goes_on_once_the_database_can_be_written_again(
    sqlite_url, sqlite_path, fault, error
):
    clock, outside = VirtualClock(), Outside()
    async with open_store(f"{sqlite_url}?timeout=0.05") as store:  # noqa: SIM117
        async with Runtime.open(store, graphs=[keeper], clock=clock, services=outside) as runtime:
            agent = await runtime.start("keeper", at="IDLE", agent_id="a")
            worker = await runtime.start("keeper", at="WORKING", agent_id="w")
            await agent.send("SET")
            await runtime.post(
                "a", "NOTED", {"n": "due", "more": LARGE}, due=clock.at + timedelta(seconds=2), event_id="due"
            )
            before, mail = await store.load("a"), await runtime.mail()
            async with fault(store, sqlite_path):
                for call in (
                    lambda: agent.send("NOTED", {"n": "sent", "more": LARGE}, event_id="sent"),
                    lambda: runtime.post("a", "NOTED", {"n": "posted", "more": LARGE}, event_id="posted"),
                    lambda: runtime.start("keeper", at="FULL", payload={"notes": [LARGE]}, agent_id="full"),
                ):
                    with pytest.raises(error) as raised:
                        await call()
                    assert str(sqlite_path) in str(raised.value)
                outside.opened.set()
                await pass_time(clock)
                assert await store.load("a") == agent.snapshot == before
                assert await runtime.mail() == mail
                assert outside.done == ["ran"]
            await pass_time(clock, 20)
            assert agent.context.notes == ["RANG timer", "NOTED due"]
            assert worker.context.notes == ["done.invoke.labour"]
            assert outside.done == ["ran", LARGE]
            assert not (await agent.send("NOTED", {"n": "sent", "more": LARGE}, event_id="sent")).repeat
            assert not (await runtime.post("a", "NOTED", {"n": "posted", "more": LARGE}, event_id="posted")).repeat
            await agent.send("SET")
            assert await runtime.mail("w") == []
            history = await agent.history()
            assert [entry.version for entry in history] == list(range(1, 8))
    async with Runtime.open(sqlite_url, graphs=[keeper], clock=clock, services=outside) as runtime:
        agent = await runtime.resume("a")
        assert agent.context.notes == ["RANG timer", "NOTED due", "NOTED sent", "NOTED posted"]


async def test_a_short_lock_only_delays(sqlite_url, sqlite_path):
    async with Runtime.open(sqlite_url, graphs=[keeper]) as runtime:
        agent = await runtime.start("keeper", at="IDLE")
        async with locked(None, sqlite_path):
            sending = asyncio.create_task(agent.send("NOTED"))
            await asyncio.sleep(0.1)
            assert not sending.done()
        assert (await sending).applied


@contextmanager
def damaged(path, name):
    """Overwrites the first page of a table or an index; afterwards it is as it was."""
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = raw.execute("PRAGMA page_size").fetchone()[0]
        page = raw.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)).fetchone()[0]
    whole = path.read_bytes()
    start = (page - 1) * size
    path.write_bytes(whole[:start] + b"\xa5" * size + whole[start + size :])
    yield
    path.write_bytes(whole)


@pytest.mark.parametrize(
    "name", ["agents", "history", "mail", "owner", "invokes", "ix_mail_recipient", "ix_mail_due_us"]
)
async def test_a_damaged_page_is_told_by_an_error_that_names_the_file_and_costs_nothing_else(
    sqlite_url, sqlite_path, name
):
    clock, outside = VirtualClock(), Outside()
    async with Runtime.open(sqlite_url, graphs=[keeper], clock=clock, services=outside) as runtime:
        agent = await runtime.start("keeper", at="IDLE", agent_id="a")
        await agent.send("SET")
        before, mail = agent.snapshot, await runtime.mail()
    with damaged(sqlite_path, name):
        with pytest.raises(OutsideError) as raised:  # noqa: PT012  at the latest in the end
            async with Runtime.open(sqlite_url, graphs=[keeper], clock=clock, services=outside) as runtime:
                agent = await runtime.resume("a")
                await runtime.mail("a")
                await runtime.start("keeper", at="WORKING", agent_id="w")
                await agent.send("NOTED")
        assert isinstance(raised.value, StoreCorruptError)
        assert str(sqlite_path) in str(raised.value)
        for left in sqlite_path.parent.glob(f"{sqlite_path.name}-*"):
            left.unlink()
    async with Runtime.open(sqlite_url, graphs=[keeper], clock=clock, services=outside) as runtime:
        agent = await runtime.resume("a")
        assert agent.snapshot == before
        assert await runtime.mail() == mail
        clock.advance(2)
        await eventually(lambda: agent.context.notes == ["RANG timer"])
