"""What is SQLite's own: what its connections are set to, and what happens when it fails in the middle."""

import sqlite3

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from gatechart.errors import OwnershipLostError, StoreBusyError
from gatechart.stores import open_store
from gatechart.testing.records import COMMITTED, going_on, lives, started, verdicts

FULL = 2


async def setting(connection, pragma):
    return (await connection.exec_driver_sql(f"PRAGMA {pragma}")).scalar()


@pytest.mark.parametrize("reconnected", [False, True])
async def test_the_writing_connection_puts_every_commit_on_disk(sqlite_url, reconnected):
    async with open_store(sqlite_url) as store:
        if reconnected:
            await store._writer.dispose()
        async with store._writer.connect() as connection:
            assert await setting(connection, "journal_mode") == "wal"
            assert await setting(connection, "synchronous") == FULL
            assert await setting(connection, "foreign_keys") == 1
            assert await setting(connection, "busy_timeout") == 5000


async def test_the_url_says_how_long_to_wait_for_a_lock(sqlite_url):
    async with open_store(f"{sqlite_url}?timeout=0.25") as store, store._writer.connect() as connection:
        assert await setting(connection, "busy_timeout") == 250


async def test_the_reading_connections_cannot_write(sqlite_url):
    async with open_store(sqlite_url) as store, store._reader.connect() as connection:
        with pytest.raises(OperationalError, match="readonly"):
            await connection.execute(text("DELETE FROM owner"))


async def test_a_writing_transaction_holds_the_lock_from_its_beginning(sqlite_url, sqlite_path):
    async with open_store(sqlite_url) as store, store._writer.begin():
        with sqlite3.connect(sqlite_path, timeout=0) as other, pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
        other.close()


async def test_readers_read_on_while_a_writer_writes(sqlite_url):
    async with open_store(sqlite_url) as store:
        await lives(store, "a", turns=3)
        async with store._writer.begin() as connection:
            await connection.execute(text("DELETE FROM agents"))
            async with open_store(f"{sqlite_url}?timeout=0", read_only=True) as reader:
                assert (await store.load("a")).version == (await reader.load("a")).version == 3
            await connection.rollback()


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
    async with open_store(sqlite_url) as store, open_store(sqlite_url, read_only=True) as reader:
        [turns] = await lives(store, "a", turns=3)
        assert await reader.load("a") == turns[-1].snapshot


async def test_a_store_opened_for_reading_writes_nothing(sqlite_url):
    async with open_store(sqlite_url) as store:
        [turns] = await lives(store, "a", turns=2)
    async with open_store(sqlite_url, read_only=True) as reader:
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
        with pytest.raises(StoreBusyError, match=r"agents\.db locked .*\?timeout="):
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
    with unchanged(sqlite_path.parent), pytest.raises(StoreBusyError, match=r"agents\.db locked"):
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
    assert "agents.db failed: " in error
    assert (before, after) == ("1 1", "2 2")
