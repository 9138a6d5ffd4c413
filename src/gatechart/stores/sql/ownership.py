"""The row that says who owns a database: an epoch for each owner that came, and the name of the last."""

from __future__ import annotations

import os
import socket
from datetime import UTC, datetime
from typing import Final

from sqlalchemy import Connection, insert, inspect, select, update

from gatechart.errors import OwnershipLostError, StoreOwnedError
from gatechart.stores.sql.agent_rows import from_us, to_us
from gatechart.stores.sql.statements import Ask
from gatechart.stores.sql.tables import owner

EPOCH: Final = Ask(select(owner.c.epoch))
GUARDED: Final = Ask(select(owner.c.epoch).with_for_update(read=True))  # with every transaction: no other begins
TAKEN: Final = Ask(select(owner.c.epoch).with_for_update())


def raise_epoch(connection: Connection) -> int:
    """Writes this process down as the owner, and returns the epoch that begins with it."""
    epoch = _epoch(TAKEN, connection) + 1
    values = {"epoch": epoch, "host": socket.gethostname(), "pid": os.getpid(), "since_us": to_us(datetime.now(UTC))}
    connection.execute(insert(owner).values(id=1, **values) if epoch == 1 else update(owner).values(**values))
    return epoch


def check_epoch(connection: Connection, epoch: int, name: str, *, guarded: bool = True) -> None:
    """Raises OwnershipLostError where a later epoch has begun; none begins until the transaction ends.

    guarded: False for a transaction that only reads, in which one may begin.
    """
    current = _epoch(GUARDED if guarded else EPOCH, connection)
    if current != epoch:
        raise OwnershipLostError(name, epoch, current)


def owned(connection: Connection, name: str) -> StoreOwnedError:
    """The error that names the owner, as far as the database knows it."""
    is_written = inspect(connection).has_table(owner.name)
    row = connection.execute(select(owner)).one_or_none() if is_written else None
    return StoreOwnedError(name, row.host, row.pid, from_us(row.since_us)) if row else unknown_owner(name)


def unknown_owner(name: str) -> StoreOwnedError:
    """The error for a database whose owner has not written its name down yet."""
    return StoreOwnedError(name, "", 0, None)


def current_epoch(connection: Connection) -> int:
    """The epoch of the owner that came last; 0 where there was none."""
    return _epoch(EPOCH, connection)


def _epoch(asked: Ask, connection: Connection) -> int:
    found = asked.all(connection)
    return found[0][0] if found else 0
