"""How a runtime comes to own a database that another runtime may own."""

from __future__ import annotations

import asyncio
import logging
from enum import Enum
from time import monotonic
from typing import Final

from gatechart.errors import OutsideError, StoreOwnedError
from gatechart.stores.sql.database import Database, Hold
from gatechart.stores.sql.ownership import owned, unknown_owner

logger = logging.getLogger(__name__)

LOOK_S: Final = 0.25  # between two looks of a standby, which is to take over within two seconds
AGAIN_S: Final = 0.05
TELL_S: Final = 60.0  # between two lines that say that it still waits


class Claim(Enum):
    """What to do where another runtime owns the database."""

    REFUSED = "refused"
    STANDBY = "standby"  # wait for its end
    TAKE_OVER = "take over"  # in spite of it


async def claimed(hold: Hold, database: Database, claim: Claim) -> None:
    """Returns when this runtime holds the database. Raises StoreOwnedError, and as `Hold.seize`."""
    if claim is Claim.STANDBY:
        await _stood_by(hold, database)
    elif not await _taken_soon(hold):
        error = await owned_error(hold, database)
        if claim is Claim.REFUSED:
            raise error
        logger.warning("taking a database over from its owner", extra=_facts(error))
        await hold.seize()


async def _taken_soon(hold: Hold) -> bool:
    """Whether the lock was taken, in so much time as that of a dead owner may need to be free."""
    deadline = monotonic() + hold.grace_s
    while not await hold.take():
        if monotonic() >= deadline:
            return False
        await asyncio.sleep(AGAIN_S)
    return True


async def owned_error(hold: Hold, database: Database) -> StoreOwnedError:
    """The error that names the owner."""
    if database.is_absent():
        return unknown_owner(database.name)
    with database.read_errors():
        return await hold.reader.run(lambda connection: owned(connection, database.name))


async def _stood_by(hold: Hold, database: Database) -> None:
    """Returns when the owner is gone. Raises as `Hold.take` where that fails at once: then waiting helps nobody."""
    if await hold.take():
        return
    began, waits, fails = monotonic(), _Seldom(), _Seldom()
    while True:
        if waits.is_due():
            logger.info("standing by until the owner is gone", extra=await _owner(hold, database))
        await asyncio.sleep(LOOK_S)  # whoever cancels the opening ends the wait
        try:
            if await hold.take():
                break
        except OutsideError as error:  # such as while a server is started again
            is_new = fails.is_new
            if fails.is_due():
                trace = error if is_new else None
                extra = {"store": database.name, "problem": str(error)}
                logger.warning(
                    "a standby cannot look whether the owner is gone; it goes on", extra=extra, exc_info=trace
                )
    logger.info("the owner is gone; taking over", extra={"waited_s": round(monotonic() - began, 1)})


class _Seldom:
    """What is told once, and then only every TELL_S seconds."""

    def __init__(self) -> None:
        self._told: float | None = None

    @property
    def is_new(self) -> bool:
        """Whether it was never told."""
        return self._told is None

    def is_due(self) -> bool:
        """Whether to tell it now, which counts as told."""
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
