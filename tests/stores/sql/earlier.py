"""Databases of an earlier schema, with what they hold today."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from gatechart.stores.sql.schema import SCHEMAS

UNDOING = {
    "0009": [f"ALTER TABLE {table} DROP COLUMN operator_reason" for table in ("history", "mail")],
    "0010": [f"ALTER TABLE agents DROP COLUMN {column}" for column in ("started_us", "changed_us")],
    "0011": ["DROP TABLE found_values", "DROP TABLE searchable"],
    "0012": ["DROP TABLE breakers"],
    "0013": ["DROP TABLE journals"],
    "0014": [f"ALTER TABLE {table} DROP COLUMN transfers" for table in ("agents", "history")],
    "0015": [
        "ALTER TABLE agents DROP COLUMN trail",
        "ALTER TABLE agents DROP COLUMN noticed",
        "ALTER TABLE history DROP COLUMN fired",
    ],
    "0016": [f"ALTER TABLE handoffs DROP COLUMN {column}" for column in ("recipient", "choice")],
    "0017": ["DROP TABLE hosts"],
}
"""What undoes each migration, which has the next one find what it found then."""


async def set_back(url, revision):
    """Make of a database of the newest schema one of an earlier."""
    undone = [each for later in reversed(SCHEMAS) if later > revision for each in UNDOING[later]]
    engine = create_async_engine(url, poolclass=NullPool)
    async with engine.begin() as connection:
        for statement in [*undone, f"UPDATE alembic_version SET version_num = '{revision}'"]:
            await connection.execute(text(statement))
    await engine.dispose()
