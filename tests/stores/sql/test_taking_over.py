"""Another runtime waits for the owner's end, or takes over from one that is frozen, which cannot write afterwards."""

import asyncio
import logging
import os
import signal
import time

import pytest

from gatechart.errors import (
    OwnershipLostError,
    PayloadError,
    StoreBusyError,
    StoreOwnedError,
    StoreUnreachableError,
    StoreUrlError,
)
from gatechart.stores import open_store
from gatechart.stores.sql import ownership
from gatechart.testing.records import COMMITTED, started, verdicts
from gatechart.values.homes import Role
from gatechart.values.queries import Query
from tests.homes import POSTGRESQL
from tests.postgres import state_of

pytestmark = pytest.mark.usefixtures("unmeasured")


@pytest.fixture(params=["sqlite", POSTGRESQL])
def url(request):
    return request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")


@pytest.fixture
def owner(child, url):
    """A process that owns the database; it starts agents when it is sent their ids."""
    process = child("obey", url)
    assert process.stdout.readline() == "open\n"
    yield process
    process.send_signal(signal.SIGCONT)


def told(process, line):
    """What the process says to a line."""
    process.stdin.write(f"{line}\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def frozen(process):
    process.send_signal(signal.SIGSTOP)
    stopped(process)


def stopped(process):
    """Return once the system has stopped it."""
    while state_of(process.pid) != "T":
        time.sleep(0.001)


async def agents(store):
    return [snapshot.agent_id for snapshot in (await store.find(Query())).agents]


async def test_a_standby_takes_over_within_two_seconds_of_the_owners_death(owner, url, caplog):
    caplog.set_level(logging.INFO, "gatechart")
    assert told(owner, "a") == "committed"
    opening = open_store(url, role=Role.STANDBY)
    waiting = asyncio.create_task(opening.__aenter__())
    assert not (await asyncio.wait([waiting], timeout=1))[0]
    owner.kill()
    died = time.monotonic()
    store = await waiting
    try:
        assert time.monotonic() - died < 2
        assert await verdicts(store, started("b")) == [COMMITTED]
        assert await agents(store) == ["a", "b"]
    finally:
        await opening.__aexit__(None, None, None)
    waited, took = (record for record in caplog.records if record.name == "gatechart.stores.sql.ownership")
    assert (waited.message, waited.owner_pid) == ("standing by until the owner is gone", owner.pid)
    assert took.message == "the owner is gone; taking over"


async def test_a_standby_where_nobody_owns_does_not_wait(url, caplog):
    caplog.set_level(logging.INFO, "gatechart")
    async with open_store(url, role=Role.STANDBY) as store:
        assert await verdicts(store, started("a")) == [COMMITTED]
    assert "standing by" not in caplog.text


NOWHERE = {
    "postgresql+asyncpg://gatechart@127.0.0.1:1/agents": StoreUnreachableError,
    "sqlite+aiosqlite:////no/such/folder/agents.db": StoreUrlError,
}


@pytest.mark.parametrize("nowhere", NOWHERE)
async def test_a_standby_for_what_can_never_be_owned_says_so_at_once(nowhere, caplog):
    async with asyncio.timeout(60):
        with pytest.raises(NOWHERE[nowhere]):
            async with open_store(nowhere, role=Role.STANDBY):
                pass
    assert caplog.records == []


async def test_a_standby_outlasts_a_server_that_is_away_and_says_so_once(safe_server, caplog, monkeypatch):
    caplog.set_level(logging.INFO, "gatechart")
    monkeypatch.setattr(ownership, "LOOK_S", 0.01)
    url = safe_server.url(safe_server.new())
    async with open_store(url):
        opening = open_store(url, role=Role.STANDBY)
        waiting = asyncio.create_task(opening.__aenter__())
        while "standing by" not in caplog.text:  # noqa: ASYNC110  a log tells nobody
            await asyncio.sleep(0.01)
        await asyncio.to_thread(safe_server.stop)
        assert not (await asyncio.wait([waiting], timeout=1.0))[0]
        await asyncio.to_thread(safe_server.start)
    await asyncio.wait_for(waiting, 20)
    await opening.__aexit__(None, None, None)
    told = [record.message for record in caplog.records if record.name == "gatechart.stores.sql.ownership"]
    assert told == [
        "standing by until the owner is gone",
        "a standby cannot look whether the owner is gone; it goes on",
        "the owner is gone; taking over",
    ]


async def test_a_standby_that_is_cancelled_leaves_the_owner_alone(owner, url):
    opening = open_store(url, role=Role.STANDBY)
    waiting = asyncio.create_task(opening.__aenter__())
    await asyncio.wait([waiting], timeout=0.5)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert told(owner, "a") == "committed"
    with pytest.raises(StoreOwnedError):
        async with open_store(url):
            pass


async def test_who_was_frozen_and_is_taken_over_from_cannot_write_when_it_wakes_up(owner, url):
    assert told(owner, "a") == "committed"
    frozen(owner)
    async with open_store(url, role=Role.TAKE_OVER) as store:
        assert await verdicts(store, started("b")) == [COMMITTED]
        owner.send_signal(signal.SIGCONT)
        assert told(owner, "c") == OwnershipLostError.__name__
        assert told(owner, "d") == OwnershipLostError.__name__
        assert await verdicts(store, started("e")) == [COMMITTED]
        assert await agents(store) == ["a", "b", "e"]


@pytest.mark.parametrize("wakes", [True, False])
async def test_a_third_runtime_is_refused_while_the_taker_lives(owner, url, wakes):
    """Also once the one that was frozen is gone, with the lock that it had; and not once the taker is closed."""
    frozen(owner)
    async with open_store(url, role=Role.TAKE_OVER) as store:
        await assert_owned_by_this_process(url)
        if wakes:
            owner.send_signal(signal.SIGCONT)
            assert told(owner, "") == ""  # it closes in order
        owner.kill()
        owner.wait()
        await assert_owned_by_this_process(url)
        assert await verdicts(store, started("a")) == [COMMITTED]
    async with open_store(url) as store:
        assert await agents(store) == ["a"]


async def assert_owned_by_this_process(url):
    with pytest.raises(StoreOwnedError) as caught:
        async with open_store(url):
            pass
    assert caught.value.pid == os.getpid()


async def test_who_takes_over_is_taken_over_from(url):
    """By another in the same way, as often as it takes; the last one owns."""
    async with (
        open_store(url) as first,
        open_store(url, role=Role.TAKE_OVER) as second,
        open_store(url, role=Role.TAKE_OVER) as third,
    ):
        for lost in (first, second):
            with pytest.raises(OwnershipLostError):
                await lost.commit([started("a")])
        assert await verdicts(third, started("b")) == [COMMITTED]
        await assert_owned_by_this_process(url)
    async with open_store(url) as store:
        assert await agents(store) == ["b"]


async def test_taking_over_what_nobody_owns_is_opening_it(url):
    async with open_store(url, role=Role.TAKE_OVER) as store:
        assert await verdicts(store, started("a")) == [COMMITTED]
        await assert_owned_by_this_process(url)


async def test_an_owner_that_froze_in_a_transaction_on_sqlite_has_to_be_ended(child, sqlite_url):
    owner = child("obey", sqlite_url)
    assert owner.stdout.readline() == "open\n"
    assert told(owner, "!") == "inside"
    stopped(owner)
    with pytest.raises(StoreBusyError, match=r"in the midst of a transaction .*: end that process"):
        async with open_store(f"{sqlite_url}?timeout=0.2", role=Role.TAKE_OVER):
            pass
    owner.kill()
    owner.wait()
    async with open_store(sqlite_url, role=Role.TAKE_OVER) as store:
        assert await agents(store) == []


async def test_an_owner_that_froze_in_a_transaction_on_postgresql_is_taken_over_from(child, postgres_url):
    owner = child("obey", postgres_url)
    assert owner.stdout.readline() == "open\n"
    assert told(owner, "!") == "inside"
    stopped(owner)
    async with open_store(postgres_url, role=Role.TAKE_OVER) as store:
        assert await verdicts(store, started("a")) == [COMMITTED]
        owner.send_signal(signal.SIGCONT)
        assert (await asyncio.to_thread(owner.stdout.readline)).strip() != "committed"
        assert told(owner, "b") == OwnershipLostError.__name__
        assert await agents(store) == ["a"]


async def test_a_store_is_not_opened_in_an_unknown_role(url):
    with pytest.raises(PayloadError, match="unknown role 'guest'"):
        async with open_store(url, role="guest"):
            pass
    async with open_store(url) as store:
        assert await agents(store) == []
