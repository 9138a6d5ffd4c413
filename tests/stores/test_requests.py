"""What others ask of the owner of a database."""

import asyncio
import os
import socket
import sqlite3
from datetime import UTC, datetime

import pytest

from gatechart import Runtime
from gatechart.errors import OwnershipLostError, StoreBusyError, StoreMissingError, StoreUrlError
from gatechart.stores import MemoryStore, open_store
from gatechart.stores.opening import open_asking
from gatechart.testing.contracts import RequestsContract
from gatechart.testing.requests_contract import BEFORE, FIRST, SECOND
from gatechart.values.homes import Role


class TestRequestsInMemory(RequestsContract):
    @pytest.fixture
    def requests(self):
        return MemoryStore().requests

    @pytest.fixture
    async def asking(self, requests):
        return requests


class TestRequestsInSqlite(RequestsContract):
    @pytest.fixture
    async def requests(self, sqlite_url):
        async with open_store(sqlite_url) as store:
            yield store.requests

    @pytest.fixture
    async def asking(self, requests, sqlite_url):
        async with open_asking(sqlite_url) as asking:
            yield asking


class TestRequestsOnPostgres(RequestsContract):
    @pytest.fixture
    async def requests(self, postgres_url):
        async with open_store(postgres_url) as store:
            yield store.requests

    @pytest.fixture
    async def asking(self, requests, postgres_url):
        async with open_asking(postgres_url) as asking:
            yield asking


async def test_the_owner_of_a_database_on_a_server_is_named_and_hears_who_asks(postgres_url, monkeypatch):
    async with open_store(postgres_url) as store, open_asking(postgres_url) as asking:
        assert await asking.owner() == f"process {os.getpid()} on {socket.gethostname()}"
        assert await asking.is_owned()
        monkeypatch.setattr("gatechart.stores.sql.postgres.LOOK_S", 3600)
        waiting = asyncio.ensure_future(store.requests.asked())
        await asyncio.sleep(0.1)
        await asking.ask(FIRST)
        await asyncio.wait_for(waiting, 20)
    async with open_asking(postgres_url) as asking:
        assert not await asking.is_owned()


async def test_the_owner_is_named_and_known_to_be_there(sqlite_url):
    async with open_store(sqlite_url), open_asking(sqlite_url) as asking:
        assert await asking.owner() == f"process {os.getpid()} on {socket.gethostname()}"
        assert await asking.is_owned()
    async with open_asking(sqlite_url) as asking:
        assert not await asking.is_owned()


async def test_nobody_asks_where_there_is_no_database_or_nobody_to_ask(sqlite_url, sqlite_path):
    with pytest.raises(StoreMissingError):
        async with open_asking(sqlite_url):
            pass
    assert not sqlite_path.exists()
    with pytest.raises(StoreUrlError, match="takes no requests"):
        async with open_asking(object()):
            pass


async def test_an_owner_that_was_taken_for_dead_takes_and_answers_nothing_more(sqlite_url, sqlite_path):
    async with open_store(sqlite_url) as store, open_asking(sqlite_url) as asking:
        number = await asking.ask(FIRST)
        await store.requests.take(BEFORE, limit=9)
        await asking.ask(SECOND)
        with sqlite3.connect(sqlite_path) as connection:
            connection.execute("UPDATE owner SET epoch = epoch + 1")
        connection.close()
        for write in (store.requests.take(BEFORE, limit=9), store.requests.answer(number, "{}", BEFORE)):
            with pytest.raises(OwnershipLostError):
                await write
        assert await asking.answer_to(number) is None


async def test_asking_waits_for_a_lock_but_not_for_ever(sqlite_url, sqlite_path):
    async with open_store(sqlite_url), open_asking(f"{sqlite_url}?timeout=0.05") as asking:
        other = sqlite3.connect(sqlite_path)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusyError):
            await asking.ask(FIRST)
        other.rollback()
        other.close()
        assert await asking.ask(FIRST) == 1


async def test_an_owner_of_whom_nothing_is_asked_does_not_look_into_the_database(sqlite_url, monkeypatch):
    async with open_store(sqlite_url) as store:
        looks = 0
        read = store.read

        async def counting(work):
            nonlocal looks
            looks += 1
            return await read(work)

        monkeypatch.setattr(store, "read", counting)
        waiting = asyncio.ensure_future(store.requests.asked())
        await asyncio.wait((waiting,), timeout=0.5)
        waiting.cancel()
        assert looks <= 3


async def test_an_answer_that_nobody_fetches_is_forgotten_also_where_nobody_asks_anything_more(sqlite_url):
    async with open_store(sqlite_url) as store, open_asking(sqlite_url) as asking:
        number = await asking.ask(FIRST)
        await store.requests.take(BEFORE, limit=9)
        await store.requests.answer(number, "{}", datetime(2000, 1, 1, tzinfo=UTC))
        waiting = asyncio.ensure_future(store.requests.asked())
        while await asking.answer_to(number) is not None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        assert not waiting.done()
        waiting.cancel()


async def test_a_visitor_takes_nothing(sqlite_url):
    async with Runtime.open(sqlite_url, graphs=(), role=Role.VISITOR), open_asking(sqlite_url) as asking:
        number = await asking.ask(FIRST)
        await asyncio.sleep(0.1)
        assert await asking.withdraw(number)
