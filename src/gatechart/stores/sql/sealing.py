"""The mark on a database whose agents have moved: whoever opens it by mistake is told where they are."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import Connection, select, update

from gatechart.errors import StoreMovedError
from gatechart.stores.sql.agent_rows import from_us, to_us
from gatechart.stores.sql.tables import owner


def moved_to(connection: Connection) -> tuple[str, datetime] | None:
    """Where the agents live now, and since when; None where they live here."""
    row = connection.execute(select(owner.c.moved_to, owner.c.moved_us)).one_or_none()
    return None if row is None or row.moved_to is None else (row.moved_to, from_us(row.moved_us))


def seal(connection: Connection, to: str) -> None:
    """Writes down that the agents live elsewhere from now on. Called by the owner."""
    connection.execute(update(owner).values(moved_to=to, moved_us=to_us(datetime.now(UTC))))


def unseal(connection: Connection) -> None:
    """Writes down that the agents live here. Called by the owner."""
    connection.execute(update(owner).values(moved_to=None, moved_us=None))


def check_not_moved(connection: Connection, name: str, to: str | None) -> None:
    """Raises StoreMovedError where the agents have moved, but not to `to`."""
    found = moved_to(connection)
    if found is not None and found[0] != to:
        raise StoreMovedError(name, *found)
