"""The schema of a database: created if there is none, checked if there is one, upgraded on request."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from sqlalchemy import Connection, inspect, text

from gatechart.errors import SchemaOutdatedError, SchemaTooNewError, StoreCorruptError
from gatechart.stores.sql.tables import metadata

SCHEMAS: Final = (
    "0001",
    "0002",
    "0003",
    "0004",
    "0005",
    "0006",
    "0007",
    "0008",
    "0009",
)  # ids of the migrations, oldest first
NEWEST: Final = SCHEMAS[-1]

_VERSION_TABLE: Final = """
CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
)
"""


def schema_of(connection: Connection) -> str | None:
    """Return the schema of the database, or None if the database is empty."""
    tables = inspect(connection).get_table_names()
    if "alembic_version" not in tables:
        return None if not tables else ""
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none() or ""


def create_schema(connection: Connection) -> None:
    """Create the newest schema in an empty database."""
    metadata.create_all(connection)
    connection.execute(text(_VERSION_TABLE))
    connection.execute(text("INSERT INTO alembic_version VALUES (:newest)"), {"newest": NEWEST})


def check_schema(found: str, name: str) -> None:
    """Raise SchemaOutdatedError, SchemaTooNewError or StoreCorruptError if the schema is not the newest."""
    if found == NEWEST:
        return
    if not found:
        raise StoreCorruptError(name, "it has tables, but no schema of gatechart")
    if found in SCHEMAS:
        raise SchemaOutdatedError(name, found, NEWEST)
    raise SchemaTooNewError(name, found, NEWEST)


def missing_from(connection: Connection) -> str:
    """Describe a table or column that a database of the newest schema lacks. Empty if none is missing.

    Found only later, a missing table would look like an outage to writers, and accepted mail would wait for ever.
    """
    inspector = inspect(connection)
    there = set(inspector.get_table_names())
    for table in metadata.sorted_tables:
        if table.name not in there:
            return f"the table {table.name!r} is missing"
    for (_, name), columns in inspector.get_multi_columns(filter_names=list(metadata.tables)).items():
        known = {column["name"] for column in columns}
        for column in metadata.tables[name].columns:
            if column.name not in known:
                return f"the column {column.name!r} of the table {name!r} is missing"
    return ""


def check_upgradable(found: str | None, name: str) -> None:
    """Raise SchemaTooNewError or StoreCorruptError if no migration leads from the schema to the newest."""
    if found is not None and found not in SCHEMAS:
        check_schema(found, name)


def upgrade_schema(connection: Connection, name: str) -> tuple[str | None, str]:
    """Run the missing migrations inside the connection's transaction.

    Returns the schema before (None if it was empty) and after. Raises as `check_upgradable` does.
    """
    from alembic import command  # noqa: PLC0415  only this needs Alembic, and it is slow to import
    from alembic.config import Config  # noqa: PLC0415

    before = schema_of(connection)
    check_upgradable(before, name)
    config = Config()
    config.set_main_option("script_location", str(files("gatechart.migrations")))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
    return before, NEWEST
