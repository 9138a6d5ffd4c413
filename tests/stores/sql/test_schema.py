"""The migrations build what the tables say, and a database of another schema is upgraded or refused."""

import re
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from importlib.resources import files

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, inspect, text

from gatechart.errors import (
    SchemaOutdatedError,
    SchemaTooNewError,
    StoreCorruptError,
    StoreMissingError,
    StoreOwnedError,
    UnknownVersionError,
)
from gatechart.stores import open_store, upgrade_store
from gatechart.stores.sql import schema
from gatechart.stores.sql.columns import from_us
from gatechart.stores.sql.tables import metadata
from gatechart.testing.errands import acting, kept, letter, minutes, posted
from gatechart.testing.records import COMMITTED, NOON, going_on, lives, started, verdicts
from gatechart.values.agents import Event, Status
from gatechart.values.commits import TurnRecord
from gatechart.values.homes import Role
from gatechart.values.queries import HistoryEntry, Pruning
from tests.stores.sql.earlier import set_back

NEWEST, LATER = schema.NEWEST, f"{int(schema.NEWEST) + 1:04}"
SECOND = f"""
import sqlalchemy as sa
from alembic import op

revision = "{LATER}"
down_revision = "{NEWEST}"

def upgrade():
    op.create_table("notes", sa.Column("note", sa.Text, server_default="none"))
    op.execute("UPDATE agents SET graph = 'renamed'")
"""

SECOND_SCHEMA = """
CREATE TABLE agents (
    "key" INTEGER NOT NULL, id VARCHAR NOT NULL, graph VARCHAR NOT NULL, graph_version VARCHAR NOT NULL,
    fingerprint VARCHAR NOT NULL, configuration TEXT NOT NULL, context TEXT NOT NULL, version INTEGER NOT NULL,
    status VARCHAR NOT NULL, memory TEXT,
    CONSTRAINT pk_agents PRIMARY KEY ("key"), CONSTRAINT uq_agents_id UNIQUE (id)
);
CREATE INDEX ix_agents_graph_status ON agents (graph, status);
CREATE TABLE history (
    agent INTEGER NOT NULL, version INTEGER NOT NULL, event VARCHAR NOT NULL, event_id VARCHAR, payload TEXT,
    sender VARCHAR, time_us BIGINT NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL, taken TEXT, changed TEXT,
    status VARCHAR NOT NULL, took_us INTEGER NOT NULL, guard_errors TEXT,
    CONSTRAINT pk_history PRIMARY KEY (agent, version),
    CONSTRAINT fk_history_agent FOREIGN KEY(agent) REFERENCES agents ("key") ON DELETE CASCADE
) WITHOUT ROWID;
CREATE UNIQUE INDEX uq_history_agent_event_id ON history (agent, event_id) WHERE event_id IS NOT NULL;
CREATE TABLE owner (
    id SMALLINT NOT NULL, epoch INTEGER NOT NULL, host VARCHAR NOT NULL, pid INTEGER NOT NULL, since_us BIGINT NOT NULL,
    CONSTRAINT pk_owner PRIMARY KEY (id), CONSTRAINT ck_owner_single CHECK (id = 1)
);
CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO alembic_version VALUES ('0002');
INSERT INTO owner VALUES (1, 3, 'here', 1, 0);
INSERT INTO agents VALUES (1, 'a', 'g', '1', 'f', '["B"]', '{"n":2}', 2, 'active', '[["H",["A"]]]');
INSERT INTO history VALUES
    (1, 1, 'agent.started.A', NULL, NULL, NULL, 1, '[]', '["A"]', NULL, '{"n":1}', 'active', 9, NULL),
    (1, 2, 'TOLD', '1', NULL, NULL, 2, '["A"]', '["B"]', '["A --TOLD--> B"]', '{"n":2}', 'active', 9, NULL);
"""


def built_by(build, *changes):
    """What a database looks like that a function has built and statements have changed."""
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        build(connection)
        for change in changes:
            connection.execute(text(change))
        look = inspect(connection)
        tables = {name: described(look, name) for name in look.get_table_names()}
        stored = connection.execute(text("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
        statements = {(row.type, row.name): definitions(row.sql) for row in stored}
    engine.dispose()
    return tables, statements


def described(look, table):
    plain = {
        "columns": [{**column, "type": str(column["type"])} for column in look.get_columns(table)],
        "key": look.get_pk_constraint(table),
        "unique": look.get_unique_constraints(table),
        "foreign": look.get_foreign_keys(table),
        "checks": look.get_check_constraints(table),
        "indexes": [
            {**index, "dialect_options": {k: str(v) for k, v in index.get("dialect_options", {}).items()}}
            for index in look.get_indexes(table)
        ],
    }
    return {part: sorted(map(str, found)) if isinstance(found, list) else found for part, found in plain.items()}


def definitions(sql):
    """A statement's text, its columns and constraints in one order, a column's named constraint as one of the table."""
    head, _, rest = " ".join(sql.split()).partition("(")
    body, _, tail = rest.rpartition(")")
    parts = [part.strip() for part in re.split(r",(?![^(]*\))", body)]
    split = [piece.strip() for part in parts for piece in re.split(r"(?<=\S) (?=CONSTRAINT )", part)]
    return head.strip(), sorted(split), tail.strip()


def by_migrations(connection):
    schema.upgrade_schema(connection, "a database in memory")


def test_migrations_build_what_the_tables_say():
    tables, statements = built_by(schema.create_schema)
    migrated_tables, migrated_statements = built_by(by_migrations)
    assert migrated_tables.keys() == tables.keys() == set(metadata.tables) | {"alembic_version"}
    for table, description in tables.items():
        assert migrated_tables[table] == description
    assert migrated_statements == statements


@pytest.mark.parametrize(
    "change",
    [
        "DROP INDEX ix_agents_graph_status",
        "DROP INDEX uq_history_agent_event_id",
        "DROP INDEX ix_mail_due_us",
        "CREATE INDEX another ON agents (status)",
        "ALTER TABLE agents ADD COLUMN another TEXT",
        "ALTER TABLE agents RENAME COLUMN status TO state",
        "ALTER TABLE owner DROP COLUMN pid",
        "DROP TABLE owner",
        "CREATE TABLE another (id INTEGER)",
    ],
)
def test_a_difference_between_two_schemas_is_seen(change):
    assert built_by(schema.create_schema, change) != built_by(schema.create_schema)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("CREATE TABLE t (a TEXT)", "CREATE TABLE t (a TEXT NOT NULL)"),
        ("CREATE TABLE t (a TEXT)", "CREATE TABLE t (a TEXT DEFAULT 'x')"),
        ("CREATE TABLE t (a TEXT)", "CREATE TABLE t (a VARCHAR)"),
        ("CREATE TABLE t (a TEXT)", "CREATE TABLE t (a TEXT CONSTRAINT few CHECK (a IN ('x', 'y')))"),
        ("CREATE TABLE t (a TEXT PRIMARY KEY)", "CREATE TABLE t (a TEXT PRIMARY KEY) WITHOUT ROWID"),
        ("CREATE TABLE t (a REFERENCES u(b))", "CREATE TABLE t (a REFERENCES u(b) ON DELETE CASCADE)"),
    ],
)
def test_a_difference_between_two_tables_is_seen(one, other):
    assert built_by(lambda connection: connection.execute(text(one))) != built_by(
        lambda connection: connection.execute(text(other))
    )


def test_the_known_schemas_are_those_of_the_migrations():
    config = Config()
    config.set_main_option("script_location", str(files("gatechart.migrations")))
    scripts = ScriptDirectory.from_config(config)
    assert tuple(reversed([script.revision for script in scripts.walk_revisions()])) == schema.SCHEMAS
    assert scripts.get_current_head() == schema.NEWEST


@pytest.fixture
def second_schema(monkeypatch, tmp_path_factory):
    """A later gatechart, with one more migration, whose text can be given."""

    def install(migration=SECOND):
        scripts = tmp_path_factory.mktemp("later") / "migrations"
        shutil.copytree(str(files("gatechart.migrations")), scripts, ignore=shutil.ignore_patterns("__pycache__"))
        (scripts / "versions" / f"v{LATER}_notes.py").write_text(migration)
        monkeypatch.setattr(schema, "files", lambda _package: scripts)
        monkeypatch.setattr(schema, "SCHEMAS", (*schema.SCHEMAS, LATER))
        monkeypatch.setattr(schema, "NEWEST", LATER)

    return install


@pytest.fixture
async def with_agents(sqlite_url):
    """The URL of a database that holds an agent with three turns."""
    async with open_store(sqlite_url) as store:
        await lives(store, "a", turns=3)
    return sqlite_url


def stored(path, sql):
    raw = sqlite3.connect(path)
    try:
        return raw.execute(sql).fetchall()
    finally:
        raw.close()


async def test_an_empty_database_is_created_on_first_use(sqlite_url, sqlite_path):
    sqlite_path.touch()
    async with open_store(sqlite_url) as store:
        await lives(store, "a", turns=1)
    assert stored(sqlite_path, "SELECT version_num FROM alembic_version") == [(NEWEST,)]


async def test_an_empty_database_is_upgraded_to_the_newest_schema(sqlite_url, sqlite_path):
    sqlite_path.touch()
    assert await upgrade_store(sqlite_url) == (None, NEWEST)
    async with open_store(sqlite_url) as store:
        await lives(store, "a", turns=2)


async def test_upgrading_a_database_of_the_newest_schema_changes_nothing(with_agents, sqlite_path, unchanged):
    with unchanged(sqlite_path.parent):
        assert await upgrade_store(with_agents) == (NEWEST, NEWEST)


@pytest.mark.parametrize("role", [Role.OWNER, Role.READER])
async def test_an_older_database_asks_for_the_command(with_agents, sqlite_path, second_schema, unchanged, role):
    second_schema()
    with unchanged(sqlite_path.parent), pytest.raises(SchemaOutdatedError) as caught:
        async with open_store(with_agents, role=role):
            pass
    assert (caught.value.found, caught.value.needed) == (NEWEST, LATER)
    assert "run `gatechart upgrade`" in str(caught.value)


async def test_an_older_database_is_upgraded_with_all_it_holds(with_agents, sqlite_path, second_schema):
    second_schema()
    assert await upgrade_store(with_agents) == (NEWEST, LATER)
    assert stored(sqlite_path, "SELECT version_num FROM alembic_version") == [(LATER,)]
    assert stored(sqlite_path, "SELECT count(*) FROM notes") == [(0,)]
    async with open_store(with_agents) as store:
        assert (await store.load("a")).graph == "renamed"
        assert len(await store.history("a")) == 3


async def test_what_the_second_schema_held_is_kept(sqlite_url, sqlite_path):
    """Agents of then have nothing pending, and take mail and timers from now on."""
    with closing(sqlite3.connect(sqlite_path)) as raw:
        raw.executescript(SECOND_SCHEMA)
    assert await upgrade_store(sqlite_url) == ("0002", NEWEST)
    async with open_store(sqlite_url) as store:
        snapshot = await store.load("a")
        assert (snapshot.configuration, snapshot.memory, snapshot.entered) == (("B",), (("H", ("A",)),), ())
        assert (snapshot.started, snapshot.changed) == (from_us(1), from_us(2))
        assert [(entry.event.name, entry.source, entry.target) for entry in await store.history("a")] == [
            ("agent.started.A", (), ("A",)),
            ("TOLD", ("A",), ("B",)),
        ]
        await posted(store, mail := letter(store, "a"))
        turn = replace(going_on(TurnRecord(None, snapshot, Event("", {}, NOON), (), 0), "TOLD"), previous=snapshot)
        turn = acting(store, turn, minutes(1, key="k"), consumes=mail)
        assert await verdicts(store, turn) == [COMMITTED]
        assert await kept(store) == list(turn.mail)


async def test_turns_of_the_second_schema_are_remembered_in_every_part(sqlite_url, sqlite_path):
    """Of then only the newest snapshot can be had: the history did not keep enough for those before."""
    with closing(sqlite3.connect(sqlite_path)) as raw:
        raw.executescript(SECOND_SCHEMA)
    await upgrade_store(sqlite_url)
    began, told = Event("agent.started.A", {}, from_us(1)), Event("TOLD", {}, from_us(2), "1")
    async with open_store(sqlite_url) as store:
        entries = [
            HistoryEntry("a", 1, began, (), ("A",), (), {"n": 1}, Status.ACTIVE, 9),
            HistoryEntry("a", 2, told, ("A",), ("B",), ("A --TOLD--> B",), {"n": 2}, Status.ACTIVE, 9),
        ]
        assert await store.history("a") == entries
        assert await store.applied("a", "1") == entries[1]
        turns = [replace(going_on(started("a"), "TOLD"), snapshot=await store.load("a"))]
        for number in range(3, 6):
            turns.append(going_on(turns[-1], "TOLD", context={"n": number}))
        assert [await verdicts(store, turn) for turn in turns[1:]] == [[COMMITTED]] * 3
        for turn in turns:
            assert await store.snapshot_at("a", turn.snapshot.version) == turn.snapshot
        with pytest.raises(UnknownVersionError, match="versions 2 to 5 can be had"):
            await store.snapshot_at("a", 1)
        assert (await store.prune(Pruning(ids_since=NOON, keep_turns=2))).turns == 3
        assert await store.snapshot_at("a", 4) == turns[2].snapshot


async def test_an_agent_whose_first_turn_was_pruned_has_no_known_start(with_agents):
    async with open_store(with_agents) as store:
        await lives(store, "b", turns=2)
        await store.prune(Pruning(ids_since=NOON + timedelta(days=1), keep_turns=2))
        newest = [await store.load(each) for each in "ab"]
    await set_back(with_agents, "0009")
    assert await upgrade_store(with_agents) == ("0009", NEWEST)
    async with open_store(with_agents) as store:
        assert [await store.load(each) for each in "ab"] == [replace(newest[0], started=None), newest[1]]
        assert (await store.snapshot_at("a", 2)).started is None


async def test_a_migration_that_fails_leaves_the_database_as_it_was(
    with_agents, sqlite_path, second_schema, unchanged, monkeypatch
):
    second_schema(SECOND + "    raise LookupError('in the middle')\n")
    with unchanged(sqlite_path.parent), pytest.raises(LookupError, match="in the middle"):
        await upgrade_store(with_agents)
    monkeypatch.undo()
    async with open_store(with_agents) as store:
        assert (await store.load("a")).graph == "g"


@pytest.mark.parametrize("role", [Role.OWNER, Role.READER])
async def test_a_newer_database_is_refused(with_agents, sqlite_path, second_schema, unchanged, monkeypatch, role):
    second_schema()
    await upgrade_store(with_agents)
    monkeypatch.undo()
    with unchanged(sqlite_path.parent), pytest.raises(SchemaTooNewError) as caught:
        async with open_store(with_agents, role=role):
            pass
    assert (caught.value.found, caught.value.known) == (LATER, NEWEST)
    with unchanged(sqlite_path.parent), pytest.raises(SchemaTooNewError, match="install a newer gatechart"):
        await upgrade_store(with_agents)


async def test_a_missing_database_is_not_upgraded(sqlite_url, tmp_path):
    with pytest.raises(StoreMissingError, match=r"no database at .*agents\.db"):
        await upgrade_store(sqlite_url)
    assert list(tmp_path.iterdir()) == []


async def test_a_database_in_use_is_not_upgraded(with_agents, sqlite_path, second_schema):
    async with open_store(with_agents) as store:
        second_schema()
        with pytest.raises(StoreOwnedError, match="owned by process"):
            await upgrade_store(with_agents)
        assert (await store.load("a")).graph == "g"


async def test_a_database_of_another_program_is_not_upgraded(sqlite_url, sqlite_path, unchanged):
    stored(sqlite_path, "CREATE TABLE songs (title TEXT)")
    with unchanged(sqlite_path.parent), pytest.raises(StoreCorruptError, match="no schema of gatechart"):
        await upgrade_store(sqlite_url)
