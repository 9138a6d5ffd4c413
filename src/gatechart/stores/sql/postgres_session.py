"""The one session that writes to a PostgreSQL database and holds the lock of its owner."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, NamedTuple, TypeVar

from sqlalchemy import Connection, TextClause, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from gatechart.errors.outside import OwnershipLostError, StoreBusyError, StoreFailedError
from gatechart.stores.sql.postgres_connections import FAILURES, is_cut, state_of, write_errors
from gatechart.tasks import start_task

logger = logging.getLogger(__name__)

T = TypeVar("T")

PID: Final = text("SELECT pg_backend_pid()")
CHANCE: Final = "40"  # SQLSTATE prefix of serialization failures and deadlocks
ATTEMPTS: Final = 4  # per transaction
PAUSE_S: Final = 0.1  # before the first reconnection, so that a runtime that ended this session comes first
MEND_S: Final = 1.0  # between two reconnections in the background


class _Made(NamedTuple):
    """A new connection."""

    connection: AsyncConnection
    is_held: bool  # whether it holds the owner's lock
    pid: int  # of the server process behind it
    raw: Any  # asyncpg's connection


class Session:
    """A session that runs transactions one after the other, as a `Writer` does.

    The lock belongs to the session, so losing the connection loses the lock. A new connection takes the lock again
    before it writes anything. Each transaction checks the owner's epoch, so it fails if another owner came in between.
    A lost connection is replaced as soon as the loss is noticed, so that a runtime with nothing to write stays the
    owner.
    """

    def __init__(self, name: str, engine: AsyncEngine) -> None:
        self._name = name
        self._engine = engine
        self._connection: AsyncConnection | None = None
        self._is_held = False  # whether the connection holds the lock
        self._pid: int | None = None  # of the server process behind the last connection
        self._turn = asyncio.Lock()
        self._lost: OwnershipLostError | None = None
        self._under_way: set[asyncio.Task[object]] = set()
        self._mending: asyncio.Task[None] | None = None
        self._is_ending = False

    async def take(self) -> bool:
        """Take the lock, and return whether the session holds it. If not, the session has no connection."""
        async with self._turn:
            return await self._take()

    async def seize(self) -> None:
        """End the session that holds the lock, and take the lock. Raises StoreBusyError if others are faster."""
        async with self._turn:
            if not await self._take(END_HOLDER):
                raise StoreBusyError(self._name, "its owner's session does not end")

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Return the result of the work once its transaction is committed. Roll back if the work raises.

        Cancelling the caller only stops the wait. Raises StoreFailedError if the connection was lost during the commit,
        when nobody can know whether the transaction was committed, and otherwise as `Writer.run` does.
        """
        task = start_task(self._run(work))
        self._under_way.add(task)
        task.add_done_callback(self._forget)
        with write_errors(self._name):
            return await asyncio.shield(task)

    async def end(self) -> None:
        """Release the lock after the transactions under way."""
        self._is_ending = True
        if self._mending is not None:
            self._mending.cancel()
            await asyncio.wait([self._mending])
        while self._under_way:
            await asyncio.wait(self._under_way)
        await self._disconnect()
        await self._engine.dispose()

    async def _run(self, work: Callable[[Connection], T]) -> T:
        """Return the result of the work. Try again after serialization failures, and once after a lost connection."""
        async with self._turn:
            for attempt in range(1, ATTEMPTS):
                try:
                    return await self._transaction(work)
                except FAILURES as error:
                    is_chance = state_of(error).startswith(CHANCE) or (attempt == 1 and is_cut(error))
                    if not is_chance:
                        raise
                    facts = {"attempt": attempt, "problem": str(error)}
                    whole = error if attempt == 1 else None
                    logger.warning("a transaction is tried again: %(problem)s", facts, extra=facts, exc_info=whole)
            return await self._transaction(work)

    async def _transaction(self, work: Callable[[Connection], T]) -> T:
        if self._lost is not None:
            raise self._lost
        connection = self._connection or await self._connected_again()
        try:
            transaction = await connection.begin()
            try:
                done = await connection.run_sync(work)
                if not self._is_held:  # after the work, whose epoch check names a new owner if there is one
                    raise StoreBusyError(self._name, "another session has the lock of its owner")
            except BaseException:
                with suppress(*FAILURES):  # a lost connection has nothing to roll back
                    await transaction.rollback()
                raise
            await self._commit(connection)
        except OwnershipLostError as error:
            self._lost = error
            await self._disconnect()
            raise
        except BaseException as error:
            if not self._is_held or not isinstance(error, Exception) or await _is_over(connection, error):
                await self._disconnect()
            raise
        return done

    async def _commit(self, connection: AsyncConnection) -> None:
        try:
            await connection.commit()
        except FAILURES as error:
            # Without an SQLSTATE the server has not answered, so nobody knows whether it has committed. It must not
            # be retried.
            if await _is_over(connection, error) or not state_of(error):
                await self._disconnect()
                raise StoreFailedError(self._name, f"the connection was lost during a commit: {error}") from error
            raise

    async def _connected_again(self) -> AsyncConnection:
        logger.warning("the connection to the database was lost; a new one is made", extra={"store": self._name})
        made = await self._connect(END_OWN)
        self._use(made)
        return made.connection

    async def _take(self, end: TextClause | None = None) -> bool:
        made = await self._connect(end)
        if made.is_held:
            self._use(made)
        else:
            await made.connection.close()
        return made.is_held

    def _use(self, made: _Made) -> None:
        self._connection, self._is_held = made.connection, made.is_held
        if made.is_held:
            self._pid = made.pid
            made.raw.add_termination_listener(self._cut)

    def _cut(self, _raw: object) -> None:
        """Begin to reconnect. Called when a connection has ended."""
        is_wanted = self._connection is not None and self._lost is None and not self._is_ending
        if is_wanted and self._mending is None:
            self._mending = start_task(self._mend())

    async def _mend(self) -> None:
        try:
            await asyncio.sleep(PAUSE_S)
            while not await self._is_mended():  # noqa: ASYNC110  a server tells nobody that it is there
                await asyncio.sleep(MEND_S)
        finally:
            self._mending = None

    async def _is_mended(self) -> bool:
        """Whether no more attempts are needed: there is a connection, or another session holds or has held the lock."""
        async with self._turn:
            connection = self._connection
            if self._lost is not None or (connection is not None and not await _is_over(connection)):
                return True
            await self._disconnect()
            try:
                await self._connected_again()
            except FAILURES as error:
                logger.debug("there is no connection yet", exc_info=error)
                return False
            if not self._is_held:
                await self._disconnect()
            return True

    async def _connect(self, end: TextClause | None) -> _Made:
        """Open a connection, and take the lock if possible. end: a statement that may end the session holding it."""
        connection = await self._engine.connect()
        try:
            is_held = await tried(connection, end, self._pid)
            pid = (await connection.execute(PID)).scalar_one()
            await connection.commit()
            raw = (await connection.get_raw_connection()).driver_connection
        except BaseException:
            await connection.close()
            raise
        return _Made(connection, is_held, pid, raw)

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            await connection.close()
        except FAILURES as error:
            logger.debug("a connection could not be closed", exc_info=error)

    def _forget(self, task: asyncio.Task[object]) -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # marks it as retrieved, for the caller may be gone


async def _is_over(connection: AsyncConnection, error: BaseException | None = None) -> bool:
    """Whether the connection is no longer usable, judged by the error or by its own state."""
    if (error is not None and is_cut(error)) or connection.invalidated or connection.closed:
        return True
    raw: Any = (await connection.get_raw_connection()).driver_connection
    return bool(raw.is_closed())


@asynccontextmanager
async def opened_session(name: str, engine: AsyncEngine) -> AsyncIterator[Session]:
    """Open a session without a connection. At the end, wait for the transaction under way."""
    session = Session(name, engine)
    try:
        yield session
    finally:
        await session.end()


LOCK: Final = 0x6761_7465_6368_6172  # "gatechar"; advisory locks are per database
TAKE: Final = text(f"SELECT pg_try_advisory_lock({LOCK})")
HOLDER: Final = f"""
FROM pg_locks WHERE locktype = 'advisory' AND granted AND database = (
    SELECT oid FROM pg_database WHERE datname = current_database()
) AND classid = {LOCK >> 32} AND objid = {LOCK & 0xFFFF_FFFF} AND objsubid = 1
"""
END_HOLDER: Final = text(f"SELECT pg_terminate_backend(pid) {HOLDER}")
END_OWN: Final = text(f"SELECT pg_terminate_backend(pid) {HOLDER} AND pid = :pid")
LOOKS: Final = 500  # attempts at the lock after its holder's session was told to end
LOOK_S: Final = 0.01


async def tried(connection: AsyncConnection, end: TextClause | None, pid: int | None) -> bool:
    """Try to take the lock, and return whether the connection holds it now.

    end: the statement that ends the session in the way: any session, or only this runtime's earlier one, the server
    process `pid`.
    """
    taken: bool = (await connection.execute(TAKE)).scalar_one()
    for _ in range(LOOKS):
        if taken or end is None:
            break
        ended = (await connection.execute(end, {"pid": pid} if end is END_OWN else {})).all()
        taken = (await connection.execute(TAKE)).scalar_one()
        if not ended and end is END_OWN:  # the holder is another runtime
            break
        await asyncio.sleep(0 if taken else LOOK_S)
    return taken
