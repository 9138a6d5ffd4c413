"""The migrations build what the tables say, and a database of another schema is upgraded or refused."""

import re
import shutil
import sqlite3
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
)
from gatechart.stores import open_store, upgrade, upgrade_store
from gatechart.testing.records import lives

SECOND = """
import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

def upgrade():
    op.create_table("notes", sa.Column("note", sa.Text, server_default="none"))
    op.execute("UPDATE agents SET graph = 'renamed'")
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
    upgrade.upgrade_schema(connection, "a database in memory")


def test_migrations_build_what_the_tables_say():
    tables, statements = built_by(upgrade.create_schema)
    migrated_tables, migrated_statements = built_by(by_migrations)
    assert migrated_tables.keys() == tables.keys() == {"agents", "history", "owner", "alembic_version"}
    for table, description in tables.items():
        assert migrated_tables[table] == description
    assert migrated_statements == statements


@pytest.mark.parametrize(
    "change",
    [
        "DROP INDEX ix_agents_graph_status",
        "DROP INDEX uq_history_agent_event_id",
        "CREATE INDEX another ON agents (status)",
        "ALTER TABLE agents ADD COLUMN another TEXT",
        "ALTER TABLE agents RENAME COLUMN status TO state",
        "ALTER TABLE owner DROP COLUMN pid",
        "DROP TABLE owner",
        "CREATE TABLE another (id INTEGER)",
    ],
)
def test_a_difference_between_two_schemas_is_seen(change):
    assert built_by(upgrade.create_schema, change) != built_by(upgrade.create_schema)


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
    assert tuple(reversed([script.revision for script in scripts.walk_revisions()])) == upgrade.SCHEMAS
    assert scripts.get_current_head() == upgrade.NEWEST


@pytest.fixture
def second_schema(monkeypatch, tmp_path_factory):
    """A later gatechart, with one more migration, whose text can be given."""

    def install(migration=SECOND):
        scripts = tmp_path_factory.mktemp("later") / "migrations"
        shutil.copytree(str(files("gatechart.migrations")), scripts, ignore=shutil.ignore_patterns("__pycache__"))
        (scripts / "versions" / "v0003_notes.py").write_text(migration)
        monkeypatch.setattr(upgrade, "files", lambda _package: scripts)
        monkeypatch.setattr(upgrade, "SCHEMAS", ("0001", "0002", "0003"))
        monkeypatch.setattr(upgrade, "NEWEST", "0003")

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
    assert stored(sqlite_path, "SELECT version_num FROM alembic_version") == [("0002",)]


async def test_an_empty_database_is_upgraded_to_the_newest_schema(sqlite_url, sqlite_path):
    sqlite_path.touch()
    assert await upgrade_store(sqlite_url) == (None, "0002")
    async with open_store(sqlite_url) as store:
        await lives(store, "a", turns=2)


async def test_upgrading_a_database_of_the_newest_schema_changes_nothing(with_agents, sqlite_path, unchanged):
    with unchanged(sqlite_path.parent):
        assert await upgrade_store(with_agents) == ("0002", "0002")


@pytest.mark.parametrize("read_only", [False, True])
async def test_an_older_database_asks_for_the_command(with_agents, sqlite_path, second_schema, unchanged, read_only):
    second_schema()
    with unchanged(sqlite_path.parent), pytest.raises(SchemaOutdatedError) as caught:
        async with open_store(with_agents, read_only=read_only):
            pass
    assert (caught.value.found, caught.value.needed) == ("0002", "0003")
    assert "run `gatechart upgrade`" in str(caught.value)


async def test_an_older_database_is_upgraded_with_all_it_holds(with_agents, sqlite_path, second_schema):
    second_schema()
    assert await upgrade_store(with_agents) == ("0002", "0003")
    assert stored(sqlite_path, "SELECT version_num FROM alembic_version") == [("0003",)]
    assert stored(sqlite_path, "SELECT count(*) FROM notes") == [(0,)]
    async with open_store(with_agents) as store:
        assert (await store.load("a")).graph == "renamed"
        assert len(await store.history("a")) == 3


async def test_a_migration_that_fails_leaves_the_database_as_it_was(
    with_agents, sqlite_path, second_schema, unchanged, monkeypatch
):
    second_schema(SECOND + "    raise LookupError('in the middle')\n")
    with unchanged(sqlite_path.parent), pytest.raises(LookupError, match="in the middle"):
        await upgrade_store(with_agents)
    monkeypatch.undo()
    async with open_store(with_agents) as store:
        assert (await store.load("a")).graph == "g"


@pytest.mark.parametrize("read_only", [False, True])
async def test_a_newer_database_is_refused(with_agents, sqlite_path, second_schema, unchanged, monkeypatch, read_only):
    second_schema()
    await upgrade_store(with_agents)
    monkeypatch.undo()
    with unchanged(sqlite_path.parent), pytest.raises(SchemaTooNewError) as caught:
        async with open_store(with_agents, read_only=read_only):
            pass
    assert (caught.value.found, caught.value.known) == ("0003", "0002")
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
