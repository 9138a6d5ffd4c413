"""The schema of a database: create it if the database is empty, check it, upgrade it on request.

The migrations between versions are the modules of `persistence/versions`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from importlib.resources import files
from typing import Final

from sqlalchemy import Connection, text

from gatechart.errors.outside import SchemaOutdatedError, SchemaTooNewError, StoreCorruptError
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
    "0010",
    "0011",
    "0012",
    "0013",
    "0014",
    "0015",
    "0016",
    "0017",
)  # ids of the migrations, oldest first
NEWEST: Final = SCHEMAS[-1]

_VERSION_TABLE: Final = """
CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
)
"""


_COLUMNS: Final = {
    "sqlite": """
        SELECT found.name, "column".name FROM sqlite_master AS found JOIN pragma_table_info(found.name) AS "column"
        WHERE found.type = 'table' AND substr(found.name, 1, 7) <> 'sqlite_'
    """,
    "postgresql": """
        SELECT relname, attname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
        WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')
        AND attnum > 0 AND NOT attisdropped
    """,
}  # by dialect


def schema_of(connection: Connection) -> str | None:
    """Return the schema of the database, or None if the database is empty."""
    return _schema_among(columns_by_table(connection), connection)


def found_in(connection: Connection) -> tuple[str | None, str]:
    """Return the schema of the database (None if it is empty), and the first part of the newest schema that is missing.

    A missing table that is found later would look like an outage to writers, and accepted mail would wait for ever.
    """
    columns = columns_by_table(connection)
    found = _schema_among(columns, connection)
    return found, _missing_from(columns) if found == NEWEST else ""


def columns_by_table(connection: Connection) -> Mapping[str, set[str]]:
    """Return the column names of each table with one query; SQLAlchemy's reflection needs one for each table."""
    columns: defaultdict[str, set[str]] = defaultdict(set)
    for table, column in connection.exec_driver_sql(_COLUMNS[connection.dialect.name]):
        columns[table].add(column)
    return columns


def _schema_among(columns: Mapping[str, set[str]], connection: Connection) -> str | None:
    if "alembic_version" not in columns:
        return None if not columns else ""
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none() or ""


def _missing_from(stored: Mapping[str, set[str]]) -> str:
    for table in metadata.sorted_tables:
        if table.name not in stored:
            return f"the table {table.name!r} is missing"
        for column in table.columns:
            if column.name not in stored[table.name]:
                return f"the column {column.name!r} of the table {table.name!r} is missing"
    return ""


def create_schema(connection: Connection) -> None:
    """Create the newest schema in an empty database."""
    metadata.create_all(connection, checkfirst=False)
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


def check_upgradable(found: str | None, name: str) -> None:
    """Raise SchemaTooNewError or StoreCorruptError if the schema cannot be migrated to the newest."""
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
