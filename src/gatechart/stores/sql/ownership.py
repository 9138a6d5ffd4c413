"""Ownership of a database: the owner's epoch, the claims of runtimes that open it, and the seal after a move."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from datetime import UTC, datetime
from enum import Enum
from time import monotonic
from typing import Final, TypeVar

from sqlalchemy import Connection, insert, inspect, select, update

from gatechart.errors.outside import OwnershipLostError, StoreMovedError, StoreOwnedError
from gatechart.errors.root import OutsideError
from gatechart.stores.sql.columns import from_us, to_us
from gatechart.stores.sql.database import Database, Hold
from gatechart.stores.sql.statements import Single
from gatechart.stores.sql.tables import owner

T = TypeVar("T")

EPOCH: Final = Single(select(owner.c.epoch))
GUARDED: Final = Single(select(owner.c.epoch).with_for_update(read=True))  # locks the row: no new epoch can start
TAKEN: Final = Single(select(owner.c.epoch).with_for_update())


def raise_epoch(connection: Connection) -> int:
    """Record this process as the owner, and return its new epoch."""
    epoch = _epoch(TAKEN, connection) + 1
    values = {"epoch": epoch, "host": socket.gethostname(), "pid": os.getpid(), "since_us": to_us(datetime.now(UTC))}
    connection.execute(insert(owner).values(id=1, **values) if epoch == 1 else update(owner).values(**values))
    return epoch


def in_epoch(epoch: int, name: str, work: Callable[[Connection], T], connection: Connection) -> T:
    """Do the work in the owner's transaction and return its result. No later epoch can start until it ends.

    Raises OwnershipLostError, before the work, if a later epoch has started already.
    """
    check_epoch(connection, epoch, name, GUARDED)
    return work(connection)


def check_epoch(connection: Connection, epoch: int, name: str, question: Single = EPOCH) -> None:
    """Raise OwnershipLostError if a later epoch has started. question: the query for the epoch."""
    current = _epoch(question, connection)
    if current != epoch:
        raise OwnershipLostError(name, epoch, current)


def owned(connection: Connection, name: str) -> StoreOwnedError:
    """Return the error that names the owner, if the database has recorded it."""
    is_written = inspect(connection).has_table(owner.name)
    row = connection.execute(select(owner)).one_or_none() if is_written else None
    return StoreOwnedError(name, row.host, row.pid, from_us(row.since_us)) if row else unknown_owner(name)


def unknown_owner(name: str) -> StoreOwnedError:
    """Return the error for a database whose owner has not recorded its name yet."""
    return StoreOwnedError(name, "", 0, None)


def current_epoch(connection: Connection) -> int:
    """Return the epoch of the latest owner, or 0 if there was none."""
    return _epoch(EPOCH, connection)


def _epoch(query: Single, connection: Connection) -> int:
    found = query.all(connection)
    return found[0][0] if found else 0


logger = logging.getLogger(__name__)

LOOK_S: Final = 0.25  # between two attempts of a standby, as it must take over within two seconds
RETRY_S: Final = 0.05
LOG_INTERVAL_S: Final = 60.0  # between two log lines of a standby that still waits


class Claim(Enum):
    """What to do if another runtime owns the database."""

    REFUSED = "refused"
    STANDBY = "standby"  # wait until the owner ends
    TAKE_OVER = "take over"  # take over from the owner


async def claimed(hold: Hold, database: Database, claim: Claim) -> None:
    """Wait until this runtime holds the database. Raises StoreOwnedError, and as `Hold.seize` does."""
    if claim is Claim.STANDBY:
        await _stand_by(hold, database)
    elif not await _take_within_grace(hold):
        error = await owned_error(hold, database)
        if claim is Claim.REFUSED:
            raise error
        logger.warning("taking a database over from its owner", extra=_facts(error))
        await hold.seize()


async def _take_within_grace(hold: Hold) -> bool:
    """Try to take the lock until a dead owner's lock would have been released. Return whether it worked."""
    deadline = monotonic() + hold.grace_s
    while not await hold.take():
        if monotonic() >= deadline:
            return False
        await asyncio.sleep(RETRY_S)
    return True


async def owned_error(hold: Hold, database: Database) -> StoreOwnedError:
    """Return the error that names the owner."""
    if database.is_absent():
        return unknown_owner(database.name)
    with database.read_errors():
        return await hold.reader.run(lambda connection: owned(connection, database.name))


async def _stand_by(hold: Hold, database: Database) -> None:
    """Wait until the owner is gone. Raises as `Hold.take` does if the first attempt fails: waiting is useless."""
    if await hold.take():
        return
    began, waits, fails = monotonic(), _RateLimit(), _RateLimit()
    while True:
        if waits.is_due():
            logger.info("standing by until the owner is gone", extra=await _owner(hold, database))
        await asyncio.sleep(LOOK_S)  # ends if the caller cancels
        try:
            if await hold.take():
                break
        except OutsideError as error:  # for example, while a server restarts
            is_new = fails.is_new
            if fails.is_due():
                trace = error if is_new else None
                extra = {"store": database.name, "problem": str(error)}
                logger.warning(
                    "a standby cannot check whether the owner is gone; it keeps waiting", extra=extra, exc_info=trace
                )
    logger.info("the owner is gone; taking over", extra={"waited_s": round(monotonic() - began, 1)})


class _RateLimit:
    """A rate limit for a repeated message: at once, then every LOG_INTERVAL_S seconds."""

    def __init__(self) -> None:
        self._logged: float | None = None

    @property
    def is_new(self) -> bool:
        """Whether the message was not due yet."""
        return self._logged is None

    def is_due(self) -> bool:
        """Whether the message is due now. If so, it counts as sent."""
        if self._logged is not None and monotonic() - self._logged < LOG_INTERVAL_S:
            return False
        self._logged = monotonic()
        return True


async def _owner(hold: Hold, database: Database) -> dict[str, object]:
    try:
        return _facts(await owned_error(hold, database))
    except OutsideError:
        return {"store": database.name}


def _facts(error: StoreOwnedError) -> dict[str, object]:
    return {"store": error.path, "owner_host": error.host, "owner_pid": error.pid, "owner_since": str(error.since)}


def moved_to(connection: Connection) -> tuple[str, datetime] | None:
    """Return the new home of the agents, and when they moved there; None if they are here."""
    row = connection.execute(select(owner.c.moved_to, owner.c.moved_us)).one_or_none()
    return None if row is None or row.moved_to is None else (row.moved_to, from_us(row.moved_us))


def seal(connection: Connection, to: str) -> None:
    """Record that the agents have moved to another home. Called by the owner."""
    connection.execute(update(owner).values(moved_to=to, moved_us=to_us(datetime.now(UTC))))


def check_not_moved(connection: Connection, name: str, to: str | None) -> None:
    """Raise StoreMovedError if the agents have moved, unless they moved to `to`."""
    found = moved_to(connection)
    if found is not None and found[0] != to:
        raise StoreMovedError(name, *found)
