"""One owner for each database: a lock that dies with its process, and an epoch that says who came last."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout
from sqlalchemy import Connection, insert, inspect, select, update

from gatechart.errors import OwnershipLostError, StoreOwnedError, StoreReadOnlyError
from gatechart.stores.rows import from_us, to_us
from gatechart.stores.statements import Ask
from gatechart.stores.tables import owner

EPOCH: Final = Ask(select(owner.c.epoch))  # with every transaction


@contextmanager
def owner_lock(path: Path) -> Iterator[bool]:
    """Holds the lock file beside the database; yields False where another runtime holds it.

    Raises StoreReadOnlyError where the folder cannot be written.
    """
    lock = FileLock(path.with_name(path.name + ".lock"), blocking=False, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        yield False
        return
    except OSError as error:
        raise StoreReadOnlyError(str(path), str(error)) from error
    try:
        yield True
    finally:
        lock.release()


def raise_epoch(connection: Connection) -> int:
    """Writes this process down as the owner, and returns the epoch that begins with it."""
    epoch = current_epoch(connection) + 1
    values = {"epoch": epoch, "host": socket.gethostname(), "pid": os.getpid(), "since_us": to_us(datetime.now(UTC))}
    connection.execute(insert(owner).values(id=1, **values) if epoch == 1 else update(owner).values(**values))
    return epoch


def check_epoch(connection: Connection, epoch: int, path: Path) -> None:
    """Raises OwnershipLostError where a later epoch has begun."""
    current = current_epoch(connection)
    if current != epoch:
        raise OwnershipLostError(str(path), epoch, current)


def owned(connection: Connection, path: Path) -> StoreOwnedError:
    """The error that names the owner, as far as the database knows it."""
    is_written = inspect(connection).has_table(owner.name)
    row = connection.execute(select(owner)).one_or_none() if is_written else None
    return StoreOwnedError(str(path), row.host, row.pid, from_us(row.since_us)) if row else unknown_owner(path)


def unknown_owner(path: Path) -> StoreOwnedError:
    """The error for a database whose owner has not written its name down yet."""
    return StoreOwnedError(str(path), "", 0, None)


def current_epoch(connection: Connection) -> int:
    """The epoch of the owner that came last; 0 where there was none."""
    found = EPOCH.all(connection)
    return found[0][0] if found else 0
