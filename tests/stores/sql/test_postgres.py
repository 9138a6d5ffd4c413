"""What is PostgreSQL's own: its schema, its errors, connections that are cut, the numbers of mail."""

import asyncio
import importlib.util
import logging
import signal
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from gatechart import Runtime
from gatechart.errors import (
    OwnershipLostError,
    StoreBusyError,
    StoreCorruptError,
    StoreFailedError,
    StoreMissingError,
    StoreOwnedError,
    StoreUnreachableError,
    StoreUrlError,
)
from gatechart.stores import open_store, upgrade_store
from gatechart.stores.opening import open_asking
from gatechart.stores.sql import schema
from gatechart.stores.sql.postgres import ServerNotifier
from gatechart.stores.sql.postgres_session import END_HOLDER, HOLDER, LOCK
from gatechart.testing.errands import kept, letter, posted
from gatechart.testing.records import COMMITTED, NOON, going_on, lives, started, verdicts
from gatechart.testing.requests_contract import FIRST
from gatechart.values.commits import MailEnd, Posting, Verdict
from gatechart.values.homes import Role
from gatechart.values.mail import MailStatus
from gatechart.values.queries import Query
from tests.postgres import NoServerError, Server
from tests.stores.sql.earlier import set_back

FAR = NOON.replace(year=9000)

DESCRIBED = (
    "SELECT table_name, ordinal_position, column_name, data_type, is_nullable, column_default"
    " FROM information_schema.columns WHERE table_schema = 'public'",
    "SELECT relname, relkind::text, reloptions FROM pg_class WHERE relnamespace = 'public'::regnamespace",
    "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint"
    " WHERE connamespace = 'public'::regnamespace",
    "SELECT sequencename, data_type::text FROM pg_sequences WHERE schemaname = 'public'",
)


@asynccontextmanager
async def connected(url):
    engine = create_async_engine(url, poolclass=NullPool)
    try:
        async with engine.begin() as connection:
            yield connection
    finally:
        await engine.dispose()


async def asked(url, sql, **values):
    async with connected(url) as connection:
        found = await connection.execute(text(sql), values)
        return [tuple(row) for row in found] if found.returns_rows else []


async def built_by(url, build, *changes):
    """What the database looks like once a function has built it and statements have changed it."""
    async with connected(url) as connection:
        await connection.run_sync(build)
        for change in changes:
            await connection.execute(text(change))
    return [sorted(map(str, await asked(url, sql))) for sql in DESCRIBED]


def by_migrations(connection):
    schema.upgrade_schema(connection, "a database")


@pytest.fixture
def another_url(postgres_server):
    name = postgres_server.new()
    yield postgres_server.url(name)
    postgres_server.ask(f"DROP DATABASE {name} (FORCE)")


async def test_migrations_build_what_the_tables_say(empty_postgres_url, another_url):
    built = await built_by(empty_postgres_url, schema.create_schema)
    assert await built_by(another_url, by_migrations) == built
    assert all(built)


@pytest.mark.parametrize(
    "change",
    [
        "DROP INDEX ix_agents_graph_status",
        "ALTER TABLE agents RESET (fillfactor)",
        "ALTER TABLE history ALTER took_us TYPE INTEGER",
        "ALTER TABLE mail ALTER number DROP DEFAULT",
        "ALTER TABLE owner DROP CONSTRAINT ck_owner_single",
        "ALTER TABLE steps DROP CONSTRAINT fk_steps_invocation",
    ],
)
async def test_a_difference_between_two_schemas_is_seen(empty_postgres_url, another_url, change):
    built = await built_by(empty_postgres_url, schema.create_schema)
    assert await built_by(another_url, schema.create_schema, change) != built


async def test_an_empty_database_gets_its_tables_on_first_use_or_when_asked(empty_postgres_url, another_url):
    with pytest.raises(StoreMissingError):
        async with open_store(empty_postgres_url, role=Role.READER):
            pass
    async with open_store(empty_postgres_url) as store:
        await lives(store, "a", turns=2)
    assert await upgrade_store(another_url) == (None, schema.NEWEST)
    assert await upgrade_store(another_url) == (schema.NEWEST, schema.NEWEST)


async def test_a_database_of_another_program_is_left_alone(empty_postgres_url):
    await asked(empty_postgres_url, "CREATE TABLE songs (title TEXT)")
    for call in (upgrade_store(empty_postgres_url), opened(empty_postgres_url)):
        with pytest.raises(StoreCorruptError, match="no schema of gatechart"):
            await call


async def opened(url):
    async with open_store(url):
        pass


async def test_a_database_in_use_is_not_upgraded(postgres_url):
    async with open_store(postgres_url) as store:
        with pytest.raises(StoreOwnedError, match="owned by process"):
            await upgrade_store(postgres_url)
        assert await verdicts(store, started("a")) == [COMMITTED]


@pytest.mark.parametrize("role", [Role.OWNER, Role.READER])
@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (lambda url: url.rpartition("/")[0] + "/nowhere", 'database "nowhere" does not exist'),
        (lambda url: url.replace("gatechart@", "nobody:secret@"), 'role "nobody" does not exist'),
        (lambda _url: "postgresql+asyncpg://gatechart@127.0.0.1:1/agents", "[Cc]onnect"),
        (lambda _url: "postgresql+asyncpg://gatechart@no.such.host.invalid/agents", "[Nn]ame|address"),
    ],
)
async def test_a_server_that_cannot_be_reached_is_named_without_the_password(postgres_url, wrong, problem, role):
    with pytest.raises(StoreUnreachableError, match=problem) as caught:
        async with open_store(wrong(postgres_url), role=role):
            pass
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("postgresql+asyncpg://gatechart:secret@localhost", "it names no database"),
        (
            "postgresql+asyncpg://gatechart:secret@localhost/agents?sslmode=on",
            "unknown parameter sslmode; the parameters are",
        ),
        ("postgresql+asyncpg://gatechart:secret@localhost/agents?timeout=soon", "not a number of seconds"),
    ],
)
async def test_a_url_that_names_no_database_is_refused(url, problem):
    with pytest.raises(StoreUrlError, match=problem) as caught:
        await opened(url)
    assert "secret" not in str(caught.value)


async def test_the_extra_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setattr("gatechart.stores.sql.opening.find_spec", lambda name: None)
    assert importlib.util.find_spec("asyncpg")
    with pytest.raises(StoreUrlError, match=r"install 'gatechart\[postgres\]'"):
        await opened("postgresql+asyncpg://localhost/agents")


async def test_numbers_of_mail_rise_over_restarts_though_the_mail_is_gone(postgres_url):
    numbers = []
    for _ in range(3):
        async with open_store(postgres_url) as store:
            mail = letter(store, "a")
            await posted(store, mail)
            assert await verdicts(store, MailEnd(mail.number)) == [COMMITTED]
            assert await kept(store) == []
            numbers.append(mail.number)
    assert numbers == [1, 2, 3]


async def test_text_with_nul_is_kept_and_found_among_texts_like_it(postgres_url):
    reasons = ["a\0b", "a\x1a0b", "a\x1a\x1a0b", "\x1a", "\0"]
    async with open_store(postgres_url) as store:
        mails = [replace(letter(store, "a", id=reason), reason=reason, status=MailStatus.WAITING) for reason in reasons]
        await posted(store, *mails)
        assert await kept(store) == mails
        again = [replace(mail, number=store.numbers(1)) for mail in mails]
        assert set(await verdicts(store, *map(Posting, again))) == {Verdict.REPEATED}


async def cut(url):
    """End all sessions of the database but the one that asks, and wait until they are over."""
    await asked(
        url,
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )


async def test_connections_that_are_cut_are_made_again(postgres_url, caplog):
    async with open_store(postgres_url) as store:
        first = started("a")
        await store.commit([first])
        for number in range(2, 5):
            await cut(postgres_url)
            first = going_on(first, "TOLD")
            assert await verdicts(store, first) == [COMMITTED]
            await cut(postgres_url)
            assert (await store.load("a")).version == number
        assert await verdicts(store, started("b")) == [COMMITTED]
        with pytest.raises(StoreOwnedError):
            await opened(postgres_url)
    assert "the connection to the database was lost; reconnecting" in caplog.text


async def test_an_owner_with_nothing_to_write_keeps_the_database_though_its_connection_is_cut(safe_server):
    url = safe_server.url(safe_server.new())
    async with open_store(url) as store:
        safe_server.stop()
        await asyncio.sleep(0)  # the loop hears of it
        safe_server.start()
        sought = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory'"
        while not await asyncio.to_thread(safe_server.ask, sought):  # noqa: ASYNC110  nothing tells
            await asyncio.sleep(0.05)
        with pytest.raises(StoreOwnedError):
            await opened(url)
        assert await verdicts(store, started("a")) == [COMMITTED]


async def test_an_idle_owner_whose_connection_was_cut_takes_its_lock_again(postgres_url):
    async with open_store(postgres_url) as store:
        for agent_id in "ab":
            await cut(postgres_url)
            await until_owned(postgres_url)
            with pytest.raises(StoreOwnedError):
                await opened(postgres_url)
            assert await verdicts(store, started(agent_id)) == [COMMITTED]


async def until_owned(url):
    async with asyncio.timeout(60):
        while not await asked(url, f"SELECT pid {HOLDER}"):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_who_lost_the_database_does_not_take_its_lock_again(postgres_url):
    async with open_store(postgres_url) as store:
        async with open_store(postgres_url, role=Role.TAKE_OVER) as other:
            for agent_id in "ab":
                with pytest.raises(OwnershipLostError):
                    await store.commit([started(agent_id)])
            assert await verdicts(other, started("c")) == [COMMITTED]
        async with open_store(postgres_url) as third:  # the one that lost it does not have the lock either
            assert await verdicts(third, started("d")) == [COMMITTED]
        with pytest.raises(OwnershipLostError):
            await store.commit([started("e")])
        assert [each.agent_id for each in (await store.find(Query())).agents] == ["c", "d"]


async def test_who_is_told_of_the_loss_before_the_connection_is_mended_leaves_it_so(postgres_url, monkeypatch):
    monkeypatch.setattr("gatechart.stores.sql.postgres_session.PAUSE_S", 1.0)
    async with open_store(postgres_url) as store:
        async with open_store(postgres_url, role=Role.TAKE_OVER):
            mending = [task for task in asyncio.all_tasks() if task.get_coro().__name__ == "_mend"]
            with pytest.raises(OwnershipLostError):
                await store.commit([started("a")])
        await asyncio.wait(mending)
        async with open_store(postgres_url) as third:
            assert await verdicts(third, started("b")) == [COMMITTED]


async def test_a_session_without_the_lock_does_not_write_though_no_epoch_has_begun(postgres_url):
    """As where another runtime has taken the lock and is about to begin its epoch."""
    async with open_store(postgres_url) as store:
        async with connected(postgres_url) as other:
            taking = asyncio.create_task(other.execute(text(f"SELECT pg_advisory_lock({LOCK})")))
            await asyncio.wait([taking], timeout=0.2)
            await asked(postgres_url, END_HOLDER.text)
            await taking
            with pytest.raises(StoreBusyError, match="another session holds the owner's lock"):
                await store.commit([started("a")])
        assert await verdicts(store, started("a")) == [COMMITTED]


async def test_an_owner_whose_database_was_upgraded_while_it_was_cut_off_cannot_write(empty_postgres_url, monkeypatch):
    monkeypatch.setattr("gatechart.stores.sql.postgres_session.PAUSE_S", 3600)
    async with open_store(empty_postgres_url) as store:
        await set_back(empty_postgres_url, "0008")
        await cut(empty_postgres_url)
        assert await upgrade_store(empty_postgres_url) == ("0008", schema.NEWEST)
        with pytest.raises(OwnershipLostError):
            await store.commit([started("a")])


@pytest.mark.parametrize("times", [1, 3])
async def test_a_transaction_that_stood_in_anothers_way_is_tried_again(empty_postgres_url, caplog, times):
    async with open_store(empty_postgres_url) as store:
        await stumble(empty_postgres_url, times, "40001")
        assert await verdicts(store, started("a")) == [COMMITTED]
        assert len(await store.history("a")) == 1
    assert caplog.text.count("retrying a transaction") >= times


async def test_a_transaction_that_stands_in_the_way_again_and_again_is_given_up(empty_postgres_url):
    async with open_store(empty_postgres_url) as store:
        await stumble(empty_postgres_url, 10, "40P01")
        with pytest.raises(StoreBusyError):
            await store.commit([started("a")])
        await asked(empty_postgres_url, "DROP TRIGGER stumble ON agents")
        assert await verdicts(store, started("a")) == [COMMITTED]


async def stumble(url, times, state):
    """Lets the next insertions of agents fail so many times."""
    await asked(url, "CREATE SEQUENCE IF NOT EXISTS stumbled")
    await asked(url, "SELECT setval('stumbled', 1, false)")
    await asked(
        url,
        f"""CREATE OR REPLACE FUNCTION stumble() RETURNS trigger AS $$ BEGIN
            IF nextval('stumbled') <= {times} THEN RAISE EXCEPTION 'stumbled' USING ERRCODE = '{state}'; END IF;
            RETURN NEW; END $$ LANGUAGE plpgsql""",
    )
    await asked(url, "CREATE TRIGGER stumble BEFORE INSERT ON agents FOR EACH ROW EXECUTE FUNCTION stumble()")


async def test_many_reads_wait_for_a_connection(postgres_url):
    async with open_store(postgres_url) as store:
        await lives(store, "a", turns=1)
        loaded = await asyncio.gather(*(store.load("a") for _ in range(100)))
        assert {snapshot.version for snapshot in loaded} == {1}


async def test_a_server_that_does_not_answer_is_not_waited_for_for_ever(safe_server):
    url = safe_server.url(safe_server.new())
    async with open_store(f"{url}?timeout=0.5") as store:
        safe_server.signal(signal.SIGSTOP)
        try:
            with pytest.raises((StoreUnreachableError, StoreFailedError)):
                await store.commit([started("a")])
        finally:
            safe_server.signal(signal.SIGCONT)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT])
async def test_a_server_that_is_started_again_goes_on_with_its_owner(safe_server, how, caplog):
    caplog.set_level(logging.ERROR, "gatechart")
    url = safe_server.url(safe_server.new())
    async with open_store(url) as store:
        first = started("a")
        assert await verdicts(store, first) == [COMMITTED]
        safe_server.stop(how)
        with pytest.raises(StoreUnreachableError):
            await store.commit([going_on(first, "TOLD")])
        with pytest.raises(StoreUnreachableError):
            await store.load("a")
        safe_server.start()
        assert await verdicts(store, going_on(first, "TOLD")) == [COMMITTED]
        assert [entry.version for entry in await store.history("a")] == [1, 2]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT])
async def test_an_owner_takes_requests_after_its_server_was_started_again(safe_server, how):
    url = safe_server.url(safe_server.new())
    async with Runtime.open(url, graphs=()):
        async with asyncio.timeout(60):
            assert await answered(url, "before")
        await asyncio.to_thread(safe_server.stop, how)
        await asyncio.sleep(0.7)  # so that it looks while there is no server
        await asyncio.to_thread(safe_server.start)
        async with asyncio.timeout(60):
            assert await answered(url, "after")


async def test_a_bell_whose_session_ends_as_it_begins_to_listen_is_made_again(postgres_server, postgres_url, caplog):
    """The driver raises then as it is, without SQLAlchemy between."""
    ended = []

    class Cut(ServerNotifier):
        @staticmethod
        async def _driver(connection):
            raw = await ServerNotifier._driver(connection)
            if not ended:
                ended.append(raw.get_server_pid())
                await asyncio.to_thread(postgres_server.ask, f"SELECT pg_terminate_backend({ended[0]}, 2000)")
            return raw

    engine = create_async_engine(postgres_url)
    bell = Cut(engine)
    await bell.connect()
    assert "the owner polls instead" in caplog.text
    await bell.connect()
    await asked(postgres_url, "SELECT pg_notify('gatechart_requests', '')")
    async with asyncio.timeout(1):
        await bell.notified()
    await bell.close()
    await engine.dispose()


async def answered(url, name):
    """What the owner answers to a request."""
    async with open_asking(url) as asking:
        number = await asking.ask(replace(FIRST, id=name, call='{"verb":"stop","id":"nobody"}', until=FAR))
        while (text := await asking.answer_to(number)) is None:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        return text


def test_a_server_of_the_tests_that_does_not_begin_leaves_nothing_behind(postgres_server):
    server = Server("no_such_setting=1")
    with pytest.raises(NoServerError, match="no_such_setting"), server:
        pass
    assert (server.folder.exists(), server.thread.is_alive(), server.loop.is_closed()) == (False, False, True)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("DROP TABLE steps", "the table 'steps' is missing"),
        ("ALTER TABLE mail DROP COLUMN reason", "the column 'reason' of the table 'mail' is missing"),
    ],
)
@pytest.mark.parametrize("role", [Role.OWNER, Role.READER])
async def test_a_database_that_lacks_a_part_is_not_opened(empty_postgres_url, change, told, role):
    async with open_store(empty_postgres_url):
        pass
    async with connected(empty_postgres_url) as connection:
        await connection.execute(text(change))
    with pytest.raises(StoreCorruptError, match=told):
        async with open_store(empty_postgres_url, role=role):
            pass
