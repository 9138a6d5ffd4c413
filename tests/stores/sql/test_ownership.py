"""One owner for each database: a second is refused and told who is first; an owner that was taken over cannot write."""

import asyncio
import os
import signal
import socket
import sqlite3
from datetime import UTC, datetime

import pytest
from filelock import FileLock

from gatechart.errors import OwnershipLostError, StoreOwnedError
from gatechart.stores import open_store
from gatechart.stores.sql.sqlite import LockFile
from gatechart.testing.records import COMMITTED, going_on, started, verdicts
from gatechart.values.homes import Role


def epoch_of(path):
    raw = sqlite3.connect(path)
    try:
        return raw.execute("SELECT epoch FROM owner").fetchone()[0]
    finally:
        raw.close()


def begin_epoch(path, epoch):
    raw = sqlite3.connect(path)
    with raw:
        raw.execute("UPDATE owner SET epoch = ?", (epoch,))
    raw.close()


async def test_a_second_owner_is_refused_and_the_first_is_named(sqlite_url, sqlite_path):
    before = datetime.now(UTC)
    async with open_store(sqlite_url) as store:
        with pytest.raises(StoreOwnedError) as caught:
            async with open_store(sqlite_url):
                pass
        assert (caught.value.pid, caught.value.host) == (os.getpid(), socket.gethostname())
        assert before <= caught.value.since <= datetime.now(UTC)
        assert f"agents.db is owned by process {os.getpid()} on {socket.gethostname()} since " in str(caught.value)
        assert epoch_of(sqlite_path) == 1
        assert await verdicts(store, started("a")) == [COMMITTED]


async def test_a_database_can_be_owned_again_once_it_is_closed(sqlite_url):
    for _ in range(3):
        async with open_store(sqlite_url):
            pass


async def test_who_only_looks_whether_there_is_an_owner_keeps_nobody_from_owning(sqlite_url, sqlite_path):
    async with open_store(sqlite_url):
        pass
    looking = FileLock(f"{sqlite_path}.lock", thread_local=False)
    looking.acquire()
    asyncio.get_running_loop().call_later(0.02, looking.release)
    async with open_store(sqlite_url) as store:
        assert await verdicts(store, started("a")) == [COMMITTED]


def test_a_lock_file_that_was_replaced_as_its_lock_was_taken_is_not_held(sqlite_path, monkeypatch):
    """The file was not there before; whoever was told to take over comes between taking and looking."""
    late, taker, third = (LockFile(sqlite_path) for _ in range(3))

    def acquire(lock):
        monkeypatch.undo()  # only the first lock is passed by
        lock.acquire()
        assert not taker.take()
        taker.replace()

    monkeypatch.setattr(FileLock, "acquire", acquire)
    assert not late.take()
    assert not taker.is_passed_by()
    assert not third.take()
    taker.release()
    assert third.take()
    third.release()


async def test_who_fails_to_take_over_leaves_the_owner_its_lock(sqlite_url, monkeypatch):
    async with open_store(sqlite_url) as store:
        with monkeypatch.context() as patch:
            patch.setattr("gatechart.stores.sql.opening.raise_epoch", fail)
            with pytest.raises(LookupError):
                async with open_store(sqlite_url, role=Role.TAKE_OVER):
                    pass
        with pytest.raises(StoreOwnedError):
            async with open_store(sqlite_url):
                pass
        assert await verdicts(store, started("a")) == [COMMITTED]


def fail(*_):
    raise LookupError


async def test_an_owner_that_fails_lets_go(sqlite_url):
    with pytest.raises(LookupError):
        async with open_store(sqlite_url):
            raise LookupError
    async with open_store(sqlite_url) as store:
        assert await verdicts(store, started("a")) == [COMMITTED]


async def test_readers_need_no_ownership(sqlite_url):
    async with open_store(sqlite_url) as store:
        await store.commit([started("a")])
        async with open_store(sqlite_url, role=Role.READER) as one, open_store(sqlite_url, role=Role.READER) as other:
            assert (await one.load("a")) == (await other.load("a"))
    async with open_store(sqlite_url, role=Role.READER), open_store(sqlite_url) as store:
        assert await verdicts(store, started("b")) == [COMMITTED]


async def test_an_owner_in_another_process_is_named_and_its_lock_dies_with_it(child, sqlite_url, sqlite_path):
    owner = child("own", sqlite_url)
    assert await asyncio.to_thread(owner.stdout.readline) == "open\n"
    with pytest.raises(StoreOwnedError) as caught:
        async with open_store(sqlite_url):
            pass
    assert caught.value.pid == owner.pid != os.getpid()
    owner.send_signal(signal.SIGKILL)
    assert owner.wait() == -signal.SIGKILL
    async with open_store(sqlite_url) as store:
        assert (await store.load("a")).version == 1
        assert epoch_of(sqlite_path) == 2
        assert await verdicts(store, started("b")) == [COMMITTED]


@pytest.mark.parametrize("has_a_file", [False, True])
async def test_an_owner_that_has_not_written_its_name_yet_is_an_owner(sqlite_url, sqlite_path, has_a_file):
    """As where two processes open a new database at the same moment."""
    if has_a_file:
        sqlite_path.touch()
    with FileLock(f"{sqlite_path}.lock"), pytest.raises(StoreOwnedError, match=r"agents\.db is owned by"):
        async with open_store(sqlite_url):
            pass
    assert sqlite_path.exists() == has_a_file


async def test_every_opening_for_writing_begins_an_epoch(sqlite_url, sqlite_path):
    for epoch in (1, 2, 3):
        async with open_store(sqlite_url):
            assert epoch_of(sqlite_path) == epoch
        async with open_store(sqlite_url, role=Role.READER):
            assert epoch_of(sqlite_path) == epoch


async def test_an_owner_of_an_epoch_that_has_ended_cannot_write(sqlite_url, sqlite_path):
    first = started("a")
    async with open_store(sqlite_url) as store:
        await store.commit([first])
        begin_epoch(sqlite_path, 7)
        with pytest.raises(OwnershipLostError) as caught:
            await store.commit([going_on(first, "TOLD"), started("b")])
        assert (caught.value.epoch, caught.value.current) == (1, 7)
        assert "another runtime has started epoch 7; nothing was written" in str(caught.value)
        with pytest.raises(OwnershipLostError):
            await store.erase("a")
        assert await store.load("a") == first.snapshot
        assert len(await store.history("a")) == 1
    assert epoch_of(sqlite_path) == 7


async def test_a_database_without_an_owner_is_not_written(sqlite_url, sqlite_path):
    async with open_store(sqlite_url) as store:
        raw = sqlite3.connect(sqlite_path)
        with raw:
            raw.execute("DELETE FROM owner")
        raw.close()
        with pytest.raises(OwnershipLostError):
            await store.commit([started("a")])
