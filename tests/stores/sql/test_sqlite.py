"""What is SQLite's own: what its connections are set to, and what happens when it fails in the middle."""

import asyncio
import gc
import sqlite3
import threading
from contextlib import closing

import pytest
from sqlalchemy import text

from gatechart.errors import OwnershipLostError, StoreBusyError, StoreUnreadableError, UnknownAgentError
from gatechart.stores import open_store
from gatechart.stores.opening import open_asking
from gatechart.stores.sql.handoff_rows import found_handoffs
from gatechart.stores.sql.load import ACTIVE, AGENTS, APPLIED, NAMED
from gatechart.stores.sql.mail_rows import due_mail, found_mail, running_invokes, waiting_mail
from gatechart.stores.sql.search import found_rows
from gatechart.testing.errands import call_of, calling, invoked, kept, letter, posted
from gatechart.testing.records import COMMITTED, NOON, going_on, lives, started, verdicts
from gatechart.testing.requests_contract import FIRST
from gatechart.values.commits import MailEnd, StepRecord
from gatechart.values.handoffs import HandoffQuery, HandoffStatus
from gatechart.values.homes import Role
from gatechart.values.queries import MailQuery, Order, Query
from gatechart.values.search import Condition

SOUGHT = Query("g", where=(Condition("n", ("tAda",)),))
FULL = 2


class Transaction:
    """Work for a writer, which begins with a statement and ends when the test lets it."""

    def __init__(self, statement):
        self._statement = statement
        self._begun, self._released = threading.Event(), threading.Event()

    def __call__(self, connection):
        connection.execute(text(self._statement))
        self._begun.set()
        assert self._released.wait(5)

    @property
    def is_reached(self):
        return self._begun.is_set()

    async def reached(self):
        assert await asyncio.to_thread(self._begun.wait, 5)

    def go_on(self):
        self._released.set()


def settings(*pragmas):
    return lambda connection: [connection.exec_driver_sql(f"PRAGMA {pragma}").scalar() for pragma in pragmas]


@pytest.mark.parametrize("reconnected", [False, True])
async def test_the_writing_connection_puts_every_commit_on_disk(sqlite_url, reconnected):
    async with open_store(sqlite_url) as store:
        if reconnected:
            store._writer._connection.invalidate()
        found = await store.write(settings("journal_mode", "synchronous", "foreign_keys", "busy_timeout"))
        assert found == ["wal", FULL, 1, 5000]


async def test_the_url_says_how_long_to_wait_for_a_lock(sqlite_url):
    async with open_store(f"{sqlite_url}?timeout=0.25") as store:
        assert await store.write(settings("busy_timeout")) == [250]


async def test_the_reading_connections_cannot_write(sqlite_url):
    async with open_store(sqlite_url) as store:
        with pytest.raises(StoreUnreadableError, match="attempt to write a readonly database"):
            await store.read(lambda connection: connection.execute(text("DELETE FROM owner")))


async def test_a_database_that_was_closed_is_not_read_again(sqlite_url):
    async with open_store(sqlite_url) as store:
        await verdicts(store, started("a"))
    with pytest.raises(RuntimeError, match="the database is closed"):
        await store.load("a")
    gc.collect()  # a connection left open would complain


async def test_a_writing_transaction_holds_the_lock_from_its_beginning(sqlite_url, sqlite_path):
    def begin_another(_):
        with closing(sqlite3.connect(sqlite_path, timeout=0)) as other:
            other.execute("BEGIN IMMEDIATE")

    async with open_store(sqlite_url) as store:
        with pytest.raises(StoreBusyError, match="locked by another program"):
            await store.write(begin_another)


async def test_readers_read_on_while_a_writer_writes(sqlite_url):
    async with open_store(sqlite_url) as store:
        await lives(store, "a", turns=3)
        transaction = Transaction("DELETE FROM agents")
        writing = asyncio.create_task(store.write(transaction))
        await transaction.reached()
        async with open_store(f"{sqlite_url}?timeout=0", role=Role.READER) as reader:
            assert (await store.load("a")).version == (await reader.load("a")).version == 3
        transaction.go_on()
        await writing
        with pytest.raises(UnknownAgentError):
            await store.load("a")


async def test_a_transaction_runs_to_its_end_whoever_stops_waiting(sqlite_url):
    async with open_store(sqlite_url) as store:
        transaction, withdrawn = Transaction("UPDATE owner SET host = 'h'"), Transaction("DELETE FROM owner")
        waiting = [asyncio.create_task(store.write(each)) for each in (transaction, withdrawn)]
        await transaction.reached()
        for task in waiting:
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        transaction.go_on()
        assert await verdicts(store, started("a")) == [COMMITTED]
        assert await store.write(lambda connection: connection.scalar(text("SELECT host FROM owner"))) == "h"
        assert not withdrawn.is_reached


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_closing_waits_for_the_transaction_under_way(sqlite_url, sqlite_path, is_cancelled):
    transaction = Transaction("UPDATE owner SET host = 'h'")

    async def write_and_close():
        async with open_store(sqlite_url) as store:
            writing = asyncio.create_task(store.write(transaction))
            await transaction.reached()
            asyncio.get_running_loop().call_later(0.05, transaction.go_on)
        await writing

    closing_task = asyncio.create_task(write_and_close())
    await transaction.reached()
    if is_cancelled:
        await asyncio.sleep(0)
        closing_task.cancel()
        threading.Timer(0.05, transaction.go_on).start()
    await asyncio.wait([closing_task])
    with closing(sqlite3.connect(sqlite_path)) as raw:
        assert raw.execute("SELECT host FROM owner").fetchall() == [("h",)]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("gatechart-writer")]


@pytest.mark.parametrize("error", [LookupError, KeyboardInterrupt])
async def test_a_transaction_that_raises_is_taken_back(sqlite_url, error):
    def delete_and_raise(connection):
        connection.execute(text("DELETE FROM agents"))
        raise error

    async with open_store(sqlite_url) as store:
        await lives(store, "a", turns=1)
        with pytest.raises(error):
            await store.write(delete_and_raise)
        assert await verdicts(store, started("b")) == [COMMITTED]
        assert [each.agent_id for each in await store.load_many("ab")] == ["a", "b"]


@pytest.mark.parametrize(
    ("statement", "plan"),
    [
        (due_mail((NOON, 5), 9), "SEARCH mail USING INDEX ix_mail_due_us (due_us>? AND due_us<?)"),
        (waiting_mail(5, 9), "SEARCH mail USING INTEGER PRIMARY KEY (rowid>?)"),
        (found_mail(MailQuery("a", after=5)), "SEARCH mail USING INDEX ix_mail_recipient (recipient=? AND rowid>?)"),
        (NAMED, "USING INDEX uq_mail_recipient_event_id (recipient=? AND event_id=?)"),
        (APPLIED, "USING INDEX uq_history_agent_event_id (agent=? AND event_id=?)"),
        (ACTIVE, "INDEX sqlite_autoindex_invokes_1 (agent=? AND state=? AND epoch=? AND invoke=?)"),
        (running_invokes(None, 5, 9), "SEARCH invokes USING INTEGER PRIMARY KEY (rowid>?)"),
        (running_invokes("a", 5, 9), "INDEX sqlite_autoindex_invokes_1 (agent=?"),
        (AGENTS, "USING INDEX sqlite_autoindex_agents_1 (id=?)"),
        (found_handoffs(HandoffQuery(status=HandoffStatus.PENDING)), "INDEX ix_handoffs_status (status=? AND rowid>?)"),
        (found_handoffs(HandoffQuery(status=HandoffStatus.ACCEPTED)), "INDEX ix_handoffs_status (status=?"),
        (found_handoffs(HandoffQuery(target="b", status=HandoffStatus.PENDING)), "INDEX ix_handoffs_target (target=?"),
        (
            found_rows(SOUGHT, None, 9),
            "SEARCH found_values USING COVERING INDEX ix_found_values_field (field=? AND value=?)",
        ),
        (found_rows(SOUGHT, None, 9), "SEARCH agents USING INTEGER PRIMARY KEY (rowid=?)"),
        (found_rows(Query(order=Order.of("n")), ("t", 5), 9), "USING COVERING INDEX ix_found_values_field (field=?"),
        (found_handoffs(HandoffQuery(source="a")), "INDEX ix_handoffs_source (source=? AND rowid>?)"),
        (
            found_handoffs(HandoffQuery(source="a", newest_first=True)),
            "INDEX ix_handoffs_source (source=? AND rowid<?)",
        ),
    ],
)
async def test_what_is_asked_often_is_asked_by_an_index(sqlite_url, statement, plan):
    def steps_of(connection):
        compiled = statement.compile(dialect=connection.dialect, compile_kwargs={"render_postcompile": True})
        values = tuple(compiled.params.get(name) for name in compiled.positiontup)
        found = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled}", values)
        return [row.detail for row in found]

    async with open_store(sqlite_url) as store:
        steps = await store.read(steps_of)
    assert [step for step in steps if plan in step], steps
    assert not [step for step in steps if step.startswith(("SCAN mail", "SCAN history"))]


async def test_an_owner_is_woken_by_the_commits_of_others_and_not_by_its_own(sqlite_url, monkeypatch):
    monkeypatch.setattr("gatechart.stores.sql.sqlite.LONGEST_NAP_S", 0.01)
    monkeypatch.setattr("gatechart.stores.sql.sqlite.LOOKS_EVERY", 1_000_000)
    async with open_store(sqlite_url) as store, open_asking(sqlite_url) as asking:
        notifier = store.requests._notifier
        await notifier.notified()  # it does not know yet who wrote before
        woken = asyncio.ensure_future(notifier.notified())
        await lives(store, "a", turns=3)
        await asyncio.wait([woken], timeout=0.3)
        assert not woken.done()
        writing = asyncio.create_task(lives(store, "b", turns=3))
        await asking.ask(FIRST)
        await asyncio.wait_for(woken, 5)
        await writing


async def test_numbers_of_mail_go_on_when_the_database_is_opened_again(sqlite_url):
    async with open_store(sqlite_url) as store:
        await posted(store, letter(store, "a"), last := letter(store, "a", id="1"))
        await verdicts(store, MailEnd(last.number))
    async with open_store(sqlite_url) as store:
        assert store.numbers(2) == last.number + 1
        assert store.numbers(1) == last.number + 3


async def test_a_store_opened_for_reading_shows_what_is_pending(sqlite_url):
    async with open_store(sqlite_url) as store:
        call = call_of(await calling(store, "a", "f"), "f")
        await posted(store, mail := letter(store, "a"), timer := letter(store, "a", due=NOON))
        await store.commit([StepRecord(call, "s", "1")])
    async with open_store(sqlite_url, role=Role.READER) as reader:
        assert list(await kept(reader)) == [mail, timer]
        assert [*await reader.waiting(after=0, limit=9), *await reader.due(after=(NOON, 0), limit=9)] == [mail, timer]
        assert await invoked(reader) == ["f"]
        assert await reader.steps(call) == {"s": "1"}
        with pytest.raises(OwnershipLostError):
            await reader.commit([MailEnd(mail.number)])


async def test_what_is_kept_is_there_when_the_database_is_opened_again(sqlite_url):
    async with open_store(sqlite_url) as store:
        [turns] = await lives(store, "a", turns=3)
        history = await store.history("a")
    async with open_store(sqlite_url) as store:
        assert await store.load("a") == turns[-1].snapshot
        assert await store.history("a") == history
        assert await verdicts(store, going_on(turns[-1], "TOLD")) == [COMMITTED]


async def test_erasing_leaves_no_row_behind(sqlite_url, sqlite_path):
    async with open_store(sqlite_url) as store:
        await lives(store, "ab", turns=3)
        await store.erase("a")
    with sqlite3.connect(sqlite_path) as raw:
        assert raw.execute("SELECT (SELECT count(*) FROM agents), (SELECT count(*) FROM history)").fetchall() == [
            (1, 3)
        ]
    raw.close()


async def test_a_reader_sees_what_is_committed_after_it_was_opened(sqlite_url):
    async with open_store(sqlite_url) as store, open_store(sqlite_url, role=Role.READER) as reader:
        [turns] = await lives(store, "a", turns=3)
        assert await reader.load("a") == turns[-1].snapshot


async def test_a_store_opened_for_reading_writes_nothing(sqlite_url):
    async with open_store(sqlite_url) as store:
        [turns] = await lives(store, "a", turns=2)
    async with open_store(sqlite_url, role=Role.READER) as reader:
        with pytest.raises(OwnershipLostError):
            await reader.commit([going_on(turns[-1], "TOLD")])
        with pytest.raises(OwnershipLostError):
            await reader.erase("a")
        assert await reader.load("a") == turns[-1].snapshot


async def test_a_database_locked_by_another_program_is_named_and_nothing_is_written(sqlite_url, sqlite_path):
    first = started("a")
    async with open_store(f"{sqlite_url}?timeout=0.05") as store:
        await store.commit([first])
        other = sqlite3.connect(sqlite_path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusyError, match=r"agents\.db is locked .*\?timeout="):
            await store.commit([going_on(first, "TOLD"), started("b")])
        with pytest.raises(StoreBusyError):
            await store.erase("a")
        assert await store.load("a") == first.snapshot
        other.execute("ROLLBACK")
        assert await verdicts(store, going_on(first, "TOLD"), started("b")) == [COMMITTED, COMMITTED]
        other.close()


@pytest.mark.parametrize("is_new", [True, False])
async def test_a_database_locked_by_another_program_is_not_opened_for_writing(
    sqlite_url, sqlite_path, unchanged, is_new
):
    if not is_new:
        async with open_store(sqlite_url):
            pass
    other = sqlite3.connect(sqlite_path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with unchanged(sqlite_path.parent), pytest.raises(StoreBusyError, match=r"agents\.db is locked"):
        async with open_store(f"{sqlite_url}?timeout=0.05"):
            pass
    other.close()


async def test_a_turn_that_breaks_a_constraint_takes_the_whole_commit_back(sqlite_url):
    """The group is then tried turn by turn, see the tests of the runtime."""
    async with open_store(sqlite_url) as store:
        a, b = await lives(store, "ab", turns=2)
        breaking = going_on(b[-1], "TOLD", event_id="b-1")
        with pytest.raises(Exception, match="UNIQUE constraint failed"):
            await store.commit([going_on(a[-1], "TOLD"), started("c"), breaking])
        assert [(await store.load(agent_id)).version for agent_id in "ab"] == [2, 2]
        assert len(await store.history("a")) == len(await store.history("b")) == 2


def test_a_full_disk_fails_the_commit_and_nothing_is_written(child, sqlite_url):
    answer, _ = child("fill", sqlite_url).communicate()
    error, before, after = answer.splitlines()
    assert error.startswith("StoreFailedError: ")
    assert "agents.db failed (" in error
    assert (before, after) == ("1 1", "2 2")
