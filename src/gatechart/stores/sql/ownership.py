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
GUARDED: Final = Single(select(owner.c.epoch).with_for_update(read=True))  # locks the row: no epoch begins meanwhile
TAKEN: Final = Single(select(owner.c.epoch).with_for_update())


def raise_epoch(connection: Connection) -> int:
    """Record this process as the owner, and return its new epoch."""
    epoch = _epoch(TAKEN, connection) + 1
    values = {"epoch": epoch, "host": socket.gethostname(), "pid": os.getpid(), "since_us": to_us(datetime.now(UTC))}
    connection.execute(insert(owner).values(id=1, **values) if epoch == 1 else update(owner).values(**values))
    return epoch


def in_epoch(epoch: int, name: str, work: Callable[[Connection], T], connection: Connection) -> T:
    """Return the result of the work, done in the owner's transaction: no later epoch can begin until it ends.

    Raises OwnershipLostError, before the work, if one has begun already.
    """
    check_epoch(connection, epoch, name, GUARDED)
    return work(connection)


def check_epoch(connection: Connection, epoch: int, name: str, question: Single = EPOCH) -> None:
    """Raise OwnershipLostError if a later epoch has begun. question: how the database is asked for the epoch."""
    current = _epoch(question, connection)
    if current != epoch:
        raise OwnershipLostError(name, epoch, current)


def owned(connection: Connection, name: str) -> StoreOwnedError:
    """Return the error that names the owner, as far as the database knows it."""
    is_written = inspect(connection).has_table(owner.name)
    row = connection.execute(select(owner)).one_or_none() if is_written else None
    return StoreOwnedError(name, row.host, row.pid, from_us(row.since_us)) if row else unknown_owner(name)


def unknown_owner(name: str) -> StoreOwnedError:
    """Return the error for a database whose owner has not recorded its name yet."""
    return StoreOwnedError(name, "", 0, None)


def current_epoch(connection: Connection) -> int:
    """Return the epoch of the latest owner, or 0 if there was none."""
    return _epoch(EPOCH, connection)


def _epoch(asked: Single, connection: Connection) -> int:
    found = asked.all(connection)
    return found[0][0] if found else 0


logger = logging.getLogger(__name__)

LOOK_S: Final = 0.25  # between two attempts of a standby, which must take over within two seconds
AGAIN_S: Final = 0.05
TELL_S: Final = 60.0  # between two log lines of a standby that still waits


class Claim(Enum):
    """What to do if another runtime owns the database."""

    REFUSED = "refused"
    STANDBY = "standby"  # wait until it ends
    TAKE_OVER = "take over"  # take its ownership away


async def claimed(hold: Hold, database: Database, claim: Claim) -> None:
    """Wait until this runtime holds the database. Raises StoreOwnedError, and as `Hold.seize` does."""
    if claim is Claim.STANDBY:
        await _stood_by(hold, database)
    elif not await _taken_soon(hold):
        error = await owned_error(hold, database)
        if claim is Claim.REFUSED:
            raise error
        logger.warning("taking a database over from its owner", extra=_facts(error))
        await hold.seize()


async def _taken_soon(hold: Hold) -> bool:
    """Take the lock within the time that a dead owner's lock may need to become free. Return whether that worked."""
    deadline = monotonic() + hold.grace_s
    while not await hold.take():
        if monotonic() >= deadline:
            return False
        await asyncio.sleep(AGAIN_S)
    return True


async def owned_error(hold: Hold, database: Database) -> StoreOwnedError:
    """Return the error that names the owner."""
    if database.is_absent():
        return unknown_owner(database.name)
    with database.read_errors():
        return await hold.reader.run(lambda connection: owned(connection, database.name))


async def _stood_by(hold: Hold, database: Database) -> None:
    """Wait until the owner is gone. Raises as `Hold.take` does if the first attempt fails, when waiting is useless."""
    if await hold.take():
        return
    began, waits, fails = monotonic(), _Seldom(), _Seldom()
    while True:
        if waits.is_due():
            logger.info("standing by until the owner is gone", extra=await _owner(hold, database))
        await asyncio.sleep(LOOK_S)  # ends if the opening is cancelled
        try:
            if await hold.take():
                break
        except OutsideError as error:  # for example, while a server restarts
            is_new = fails.is_new
            if fails.is_due():
                trace = error if is_new else None
                extra = {"store": database.name, "problem": str(error)}
                logger.warning(
                    "a standby cannot look whether the owner is gone; it goes on", extra=extra, exc_info=trace
                )
    logger.info("the owner is gone; taking over", extra={"waited_s": round(monotonic() - began, 1)})


class _Seldom:
    """A limit for a repeated message: at once, then every TELL_S seconds."""

    def __init__(self) -> None:
        self._told: float | None = None

    @property
    def is_new(self) -> bool:
        """Whether the message was never due before."""
        return self._told is None

    def is_due(self) -> bool:
        """Whether the message is due now. If it is, it counts as sent."""
        if self._told is not None and monotonic() - self._told < TELL_S:
            return False
        self._told = monotonic()
        return True


async def _owner(hold: Hold, database: Database) -> dict[str, object]:
    try:
        return _facts(await owned_error(hold, database))
    except OutsideError:
        return {"store": database.name}


def _facts(error: StoreOwnedError) -> dict[str, object]:
    return {"store": error.path, "owner_host": error.host, "owner_pid": error.pid, "owner_since": str(error.since)}


def moved_to(connection: Connection) -> tuple[str, datetime] | None:
    """Return where the agents live now, and since when; None if they live here."""
    row = connection.execute(select(owner.c.moved_to, owner.c.moved_us)).one_or_none()
    return None if row is None or row.moved_to is None else (row.moved_to, from_us(row.moved_us))


def seal(connection: Connection, to: str) -> None:
    """Record that the agents live elsewhere from now on. Called by the owner."""
    connection.execute(update(owner).values(moved_to=to, moved_us=to_us(datetime.now(UTC))))


def check_not_moved(connection: Connection, name: str, to: str | None) -> None:
    """Raise StoreMovedError if the agents have moved, unless they moved to `to`."""
    found = moved_to(connection)
    if found is not None and found[0] != to:
        raise StoreMovedError(name, *found)
