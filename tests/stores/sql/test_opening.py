"""Databases and URLs with which nothing can be done: one clear error each, and nothing is changed."""

import os
import sqlite3
from pathlib import Path

import pytest

from gatechart.errors import (
    OutsideError,
    StoreCorruptError,
    StoreMissingError,
    StoreUrlError,
)
from gatechart.stores import MemoryStore, open_store, upgrade_store
from gatechart.stores.opening import open_asking
from gatechart.stores.sql.tables import metadata
from gatechart.testing.records import lives, started
from gatechart.values.agents import Status
from gatechart.values.homes import Role
from gatechart.values.queries import Query

BOTH = pytest.mark.parametrize("role", [Role.OWNER, Role.READER])


async def opened(url, **options):
    """The ids that the store at the URL holds."""
    async with open_store(url, **options) as store:
        return [snapshot.agent_id for snapshot in (await store.find(Query())).agents]


@pytest.fixture
async def with_agents(sqlite_url):
    """The URL of a database of many pages, closed."""
    async with open_store(sqlite_url) as store:
        await lives(store, "abcdefgh", turns=3)
        await store.commit([started(f"agent {n}", context={"text": "x" * 1000}) for n in range(200)])
    return sqlite_url


async def test_there_is_nothing_to_read_where_there_is_no_database(sqlite_url, tmp_path):
    with pytest.raises(StoreMissingError, match=r"no database at .*agents\.db"):
        await opened(sqlite_url, role=Role.READER)
    assert list(tmp_path.iterdir()) == []


async def test_there_is_nothing_to_read_in_an_empty_file(sqlite_url, sqlite_path, unchanged):
    sqlite_path.touch()
    with unchanged(sqlite_path.parent), pytest.raises(StoreMissingError):
        await opened(sqlite_url, role=Role.READER)


@BOTH
async def test_garbage_is_no_database(sqlite_url, sqlite_path, unchanged, role):
    sqlite_path.write_bytes(b"These are no tables. " * 1000)
    with unchanged(sqlite_path.parent), pytest.raises(StoreCorruptError, match=r"agents\.db is not a sound"):
        await opened(sqlite_url, role=role)


@BOTH
async def test_the_database_of_another_program_is_left_alone(sqlite_url, sqlite_path, unchanged, role):
    raw = sqlite3.connect(sqlite_path)
    raw.execute("CREATE TABLE songs (title TEXT)")
    raw.close()
    with unchanged(sqlite_path.parent), pytest.raises(StoreCorruptError, match="no schema of gatechart"):
        await opened(sqlite_url, role=role)


LACKS = [
    *((f"DROP TABLE {table}", f"the table {table!r} is missing") for table in metadata.tables),
    ("ALTER TABLE mail DROP COLUMN reason", "the column 'reason' of the table 'mail' is missing"),
]


async def open_to_read(url):
    async with open_store(url, role=Role.READER):
        pass


async def open_to_write(url):
    async with open_store(url):
        pass


async def open_to_ask(url):
    async with open_asking(url):
        pass


@pytest.mark.parametrize("opening", [open_to_read, open_to_write, open_to_ask, upgrade_store])
@pytest.mark.parametrize(("change", "told"), LACKS)
async def test_a_database_that_lacks_a_part_is_not_opened(sqlite_url, sqlite_path, unchanged, change, told, opening):
    await open_to_write(sqlite_url)
    raw = sqlite3.connect(sqlite_path)
    with raw:
        raw.execute(change)
    raw.close()
    with unchanged(sqlite_path.parent), pytest.raises(StoreCorruptError, match=f"{told}.*restore it from a backup"):
        await opening(sqlite_url)


@BOTH
async def test_a_truncated_database_is_not_sound(with_agents, sqlite_path, unchanged, role):
    os.truncate(sqlite_path, sqlite_path.stat().st_size // 2)
    with unchanged(sqlite_path.parent), pytest.raises(StoreCorruptError):
        await opened(with_agents, role=role)


@BOTH
async def test_a_damaged_page_is_told_and_what_lies_on_others_is_read(with_agents, sqlite_path, role):
    raw = sqlite3.connect(sqlite_path)
    page_size, pages = (raw.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "page_count"))
    raw.close()
    whole = sqlite_path.read_bytes()
    last_of_the_agents = whole.rindex(b"agent 199") // page_size
    assert last_of_the_agents < pages
    with sqlite_path.open("r+b") as file:
        file.seek(last_of_the_agents * page_size)
        file.write(b"\xde\xad" * (page_size // 2))
    async with open_store(with_agents, role=role) as store:
        with pytest.raises(StoreCorruptError, match="malformed"):
            await store.find(Query(limit=1000))
        assert (await store.load("a")).version == 3


@pytest.mark.parametrize(
    ("change", "call"),
    [
        ("UPDATE agents SET configuration = 'A' WHERE id = 'a'", lambda store: store.load("a")),
        ("UPDATE agents SET context = '[' WHERE id = 'a'", lambda store: store.load("a")),
        ("UPDATE history SET context = '['", lambda store: store.snapshot_at("a", 2)),
    ],
)
async def test_a_row_that_a_hand_has_spoilt_is_told(with_agents, sqlite_path, change, call):
    raw = sqlite3.connect(sqlite_path)
    with raw:
        raw.execute(change)
    raw.close()
    async with open_store(with_agents, role=Role.READER) as store:
        with pytest.raises(StoreCorruptError, match=r"agents\.db"):
            await call(store)


async def test_a_row_that_a_hand_has_spoilt_is_shown_among_the_others(with_agents, sqlite_path):
    raw = sqlite3.connect(sqlite_path)
    with raw:
        raw.execute("UPDATE agents SET status = 'asleep' WHERE id = 'a'")
        raw.execute("UPDATE history SET taken = 'A' WHERE version = 2")
    raw.close()
    async with open_store(with_agents, role=Role.READER) as store:
        first, second, *_ = (await store.find(Query())).agents
        assert (first.agent_id, first.status, second.status) == ("a", Status.UNREADABLE, Status.ACTIVE)
        assert [entry.version for entry in await store.history("a") if entry.status is Status.UNREADABLE] == [2]


class TestWithoutRights:
    """Each visit is that of a process without a superuser's rights."""

    @pytest.fixture
    async def url(self, open_folder):
        url = f"sqlite+aiosqlite:///{open_folder}/agents.db"
        async with open_store(url) as store:
            await store.commit([started("a")])
        (open_folder / "agents.db").chmod(0o444)
        (open_folder / "agents.db.lock").chmod(0o666)
        return url

    def test_a_file_that_cannot_be_written_is_not_opened_for_writing(self, child, url, open_folder, unchanged):
        with unchanged(open_folder):
            told, _ = child("visit", "write", url).communicate()
        assert told.startswith("StoreReadOnlyError: ")
        assert "agents.db cannot be written" in told
        assert "make file and folder writable, or open it for reading" in told

    def test_a_file_that_cannot_be_written_can_be_read(self, child, url):
        assert child("visit", "read", url).communicate()[0] == "a\n"

    def test_a_folder_that_cannot_be_written_takes_no_new_database(self, child, open_folder, unchanged):
        open_folder.chmod(0o555)
        with unchanged(open_folder):
            told, _ = child("visit", "write", f"sqlite+aiosqlite:///{open_folder}/new.db").communicate()
        assert told.startswith("StoreReadOnlyError: ")

    def test_a_folder_that_cannot_be_written_keeps_its_database_from_being_written(
        self, child, url, open_folder, unchanged
    ):
        (open_folder / "agents.db").chmod(0o666)
        (open_folder / "agents.db.lock").unlink()
        open_folder.chmod(0o555)
        with unchanged(open_folder):
            told, _ = child("visit", "write", url).communicate()
        assert told.startswith("StoreReadOnlyError: ")

    def test_a_lock_that_exists_but_a_folder_that_cannot_be_written(self, child, url, open_folder, unchanged):
        (open_folder / "agents.db").chmod(0o666)
        open_folder.chmod(0o555)
        with unchanged(open_folder):
            told, _ = child("visit", "write", url).communicate()
        assert told.startswith("StoreReadOnlyError: ")

    def test_a_database_in_a_folder_that_cannot_be_written_can_be_read(self, child, url, open_folder, unchanged):
        open_folder.chmod(0o555)
        with unchanged(open_folder):
            assert child("visit", "read", url).communicate()[0] == "a\n"

    async def test_a_database_that_cannot_be_written_is_read_whatever_its_folder_is_called(self, child, open_folder):
        urls = []
        for name in ("with space", "with#hash", "with%20percent", "with?question", "üñí"):
            folder = open_folder / name
            folder.mkdir()
            urls.append(f"sqlite+aiosqlite:///{str(folder).replace('%', '%25').replace('?', '%3F')}/agents.db")
            async with open_store(urls[-1]) as store:
                await store.commit([started(name)])
            assert (folder / "agents.db").exists()
            folder.chmod(0o555)
        told, _ = child("visit", "read", *urls).communicate()
        assert told.splitlines() == ["with space", "with#hash", "with%20percent", "with?question", "üñí"]

    async def test_what_a_living_owner_commits_is_read_in_a_folder_that_cannot_be_written(
        self, child, url, open_folder
    ):
        async with open_store(url) as store:
            await store.commit([started("b")])
            open_folder.chmod(0o555)
            assert child("visit", "read", url).communicate()[0] == "a b\n"

    @pytest.mark.parametrize("access", ["read", "write"])
    def test_a_file_that_cannot_be_read_is_told(self, child, url, open_folder, access):
        (open_folder / "agents.db").chmod(0)
        told, _ = child("visit", access, url).communicate()
        assert told.startswith("Store")
        assert "agents.db" in told
        assert access == "write" or "open it for reading" not in told

    @pytest.mark.parametrize("access", ["read", "write"])
    def test_a_folder_that_cannot_be_entered_is_told(self, child, url, open_folder, access):
        open_folder.chmod(0)
        told, _ = child("visit", access, url).communicate()
        assert told.startswith("Store")
        assert str(open_folder) in told


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("", "it is no URL"),
        ("agents.db", "it is no URL"),
        ("memory", "it is no URL"),
        ("sqlite:///{folder}/agents.db", "'sqlite' is not supported"),
        ("postgresql+psycopg://localhost/agents", "'postgresql.psycopg' is not supported"),
        ("nonsense://agents", "'nonsense' is not supported"),
        ("sqlite+aiosqlite://", "it names no file"),
        ("sqlite+aiosqlite:///:memory:", "it names no file"),
        ("sqlite+aiosqlite:////{folder}/no such/agents.db", "there is no folder .*no such"),
        ("sqlite+aiosqlite:////{folder}", "is a folder"),
        ("sqlite+aiosqlite:////{folder}/file/agents.db", "there is no folder .*file"),
        ("sqlite+aiosqlite:////{folder}/agents.db?timeout=soon", "timeout"),
        ("sqlite+aiosqlite:////{folder}/agents.db?timeout=1&timeout=2", "timeout"),
        ("sqlite+aiosqlite:////{folder}/agents.db?mode=ro", "mode"),
        ("sqlite+aiosqlite://here/agents.db", "host|here"),
        ("sqlite+aiosqlite://here:there/agents.db", "it is no URL"),
        ("sqlite+aiosqlite://:secret@/agents.db", "host|password|name"),
        ("sqlite+aiosqlite:///~nobody-of-that-name/agents.db", "home|folder"),
        ("sqlite+aiosqlite:////{folder}/a\x00b.db", "file|character"),
    ],
)
@pytest.mark.parametrize("call", [opened, upgrade_store])
async def test_a_url_that_names_no_store_is_refused(tmp_path, url, problem, call):
    (tmp_path / "file").touch()
    url = url.format(folder=str(tmp_path).lstrip("/"))
    with pytest.raises(StoreUrlError, match=problem) as caught:
        await call(url)
    assert caught.value.url == url
    assert "use 'sqlite+aiosqlite:///agents.db' for a file, 'postgresql+asyncpg:" in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


async def test_memory_has_nothing_to_upgrade():
    with pytest.raises(StoreUrlError) as caught:
        await upgrade_store("memory:")
    assert "it is no URL" not in str(caught.value)


async def test_a_relative_path_is_one_in_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    async with open_store() as store:
        await store.commit([started("a")])
    assert (tmp_path / "agents.db").exists()
    assert await opened(f"sqlite+aiosqlite:////{tmp_path}/agents.db") == ["a"]


async def test_a_tilde_is_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert await opened("sqlite+aiosqlite:///~/agents.db") == []
    assert (tmp_path / "agents.db").exists()


async def test_a_link_that_leads_to_itself_is_told(sqlite_url, sqlite_path):
    sqlite_path.symlink_to(sqlite_path)
    with pytest.raises(OutsideError, match=r"agents\.db"):
        await opened(sqlite_url)


async def test_a_link_and_what_it_leads_to_are_one_database(sqlite_url, sqlite_path, tmp_path):
    (tmp_path / "link.db").symlink_to(sqlite_path)
    async with open_store(sqlite_url):
        with pytest.raises(OutsideError, match="is owned by"):
            await opened(f"sqlite+aiosqlite:///{tmp_path}/link.db")


async def test_nothing_lies_beside_a_database_that_was_closed_but_its_lock(sqlite_url, tmp_path):
    assert await opened(sqlite_url) == []
    assert sorted(path.name for path in tmp_path.iterdir()) in (["agents.db"], ["agents.db", "agents.db.lock"])


async def test_a_store_of_ones_own_is_passed_on_as_it_is():
    mine = MemoryStore()
    async with open_store(mine) as store:
        assert store is mine


@pytest.mark.parametrize("given", [None, Path("agents.db"), object()])
async def test_what_is_neither_a_url_nor_a_store_is_refused(given):
    with pytest.raises(StoreUrlError, match="neither a URL nor a store"):
        async with open_store(given):
            pass


async def test_a_database_that_was_taken_away_takes_no_more_turns(sqlite_url, sqlite_path):
    async with open_store(sqlite_url) as store:
        sqlite_path.unlink()
        with pytest.raises(StoreMissingError):
            await store.commit([started("a")])
