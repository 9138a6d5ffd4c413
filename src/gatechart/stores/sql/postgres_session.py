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
PAUSE_S: Final = 0.1  # before the first reconnection, so that a runtime that ended this session reconnects first
MEND_S: Final = 1.0  # between two reconnections in the background


class _Opened(NamedTuple):
    """A new connection."""

    connection: AsyncConnection
    is_held: bool  # whether it holds the owner's lock
    pid: int  # of the server process behind it
    raw: Any  # asyncpg's connection


class PostgresSession:
    """A `Writer` that runs transactions one after the other.

    The lock belongs to the session, so losing the connection loses the lock. A new connection takes the lock again
    before it writes. Each transaction checks the owner's epoch, so it fails if another runtime became the owner in
    between. A lost connection is replaced as soon as the loss is noticed, so that an idle runtime stays the owner.
    """

    def __init__(self, name: str, engine: AsyncEngine) -> None:
        self._name = name
        self._engine = engine
        self._connection: AsyncConnection | None = None
        self._is_held = False  # whether the connection holds the lock
        self._pid: int | None = None  # of the server process behind the last connection
        self._turn = asyncio.Lock()
        self._lost: OwnershipLostError | None = None
        self._running: set[asyncio.Task[object]] = set()
        self._mending: asyncio.Task[None] | None = None
        self._is_ending = False

    async def take(self) -> bool:
        """Take the lock, and return whether the session holds it. If not, the session has no connection."""
        async with self._turn:
            return await self._take()

    async def seize(self) -> None:
        """End the session that holds the lock, and take the lock. Raises StoreBusyError if another is faster."""
        async with self._turn:
            if not await self._take(END_HOLDER):
                raise StoreBusyError(self._name, "the owner's session does not end")

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Return the result of the work once its transaction is committed. Roll back if the work raises.

        Cancelling the caller only stops the wait. Raises StoreFailedError if the connection was lost during the commit,
        which leaves the outcome unknown, and otherwise as `Writer.run` does.
        """
        task = start_task(self._run(work))
        self._running.add(task)
        task.add_done_callback(self._forget)
        with write_errors(self._name):
            return await asyncio.shield(task)

    async def end(self) -> None:
        """Release the lock after the running transactions."""
        self._is_ending = True
        if self._mending is not None:
            self._mending.cancel()
            await asyncio.wait([self._mending])
        while self._running:
            await asyncio.wait(self._running)
        await self._disconnect()
        await self._engine.dispose()

    async def _run(self, work: Callable[[Connection], T]) -> T:
        """Return the result of the work. Retry after serialization failures, and once after a lost connection."""
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
                    logger.warning("retrying a transaction: %(problem)s", facts, extra=facts, exc_info=whole)
            return await self._transaction(work)

    async def _transaction(self, work: Callable[[Connection], T]) -> T:
        if self._lost is not None:
            raise self._lost
        connection = self._connection or await self._reconnect()
        try:
            transaction = await connection.begin()
            try:
                result = await connection.run_sync(work)
                if not self._is_held:  # checked after the work, whose epoch check names a new owner
                    raise StoreBusyError(self._name, "another session holds the owner's lock")
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
        return result

    async def _commit(self, connection: AsyncConnection) -> None:
        try:
            await connection.commit()
        except FAILURES as error:
            # Without an SQLSTATE the server has not answered, so it is unknown whether it has committed. The
            # transaction must not be retried.
            if await _is_over(connection, error) or not state_of(error):
                await self._disconnect()
                raise StoreFailedError(self._name, f"the connection was lost during a commit: {error}") from error
            raise

    async def _reconnect(self) -> AsyncConnection:
        logger.warning("the connection to the database was lost; reconnecting", extra={"store": self._name})
        opened = await self._connect(END_OWN)
        self._use(opened)
        return opened.connection

    async def _take(self, end: TextClause | None = None) -> bool:
        opened = await self._connect(end)
        if opened.is_held:
            self._use(opened)
        else:
            await opened.connection.close()
        return opened.is_held

    def _use(self, opened: _Opened) -> None:
        self._connection, self._is_held = opened.connection, opened.is_held
        if opened.is_held:
            self._pid = opened.pid
            opened.raw.add_termination_listener(self._cut)

    def _cut(self, _raw: object) -> None:
        """Start to reconnect. Called when a connection has ended."""
        is_wanted = self._connection is not None and self._lost is None and not self._is_ending
        if is_wanted and self._mending is None:
            self._mending = start_task(self._mend())

    async def _mend(self) -> None:
        try:
            await asyncio.sleep(PAUSE_S)
            while not await self._is_mended():  # noqa: ASYNC110  a server does not announce that it is up
                await asyncio.sleep(MEND_S)
        finally:
            self._mending = None

    async def _is_mended(self) -> bool:
        """Whether no more attempts are needed: there is a connection, or another session holds or held the lock."""
        async with self._turn:
            connection = self._connection
            if self._lost is not None or (connection is not None and not await _is_over(connection)):
                return True
            await self._disconnect()
            try:
                await self._reconnect()
            except FAILURES as error:
                logger.debug("cannot reconnect yet", exc_info=error)
                return False
            if not self._is_held:
                await self._disconnect()
            return True

    async def _connect(self, end: TextClause | None) -> _Opened:
        """Open a connection, and take the lock if possible. end: a statement that ends the session holding the lock."""
        connection = await self._engine.connect()
        try:
            is_held = await tried(connection, end, self._pid)
            pid = (await connection.execute(PID)).scalar_one()
            await connection.commit()
            raw = (await connection.get_raw_connection()).driver_connection
        except BaseException:
            await connection.close()
            raise
        return _Opened(connection, is_held, pid, raw)

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            await connection.close()
        except FAILURES as error:
            logger.debug("a connection could not be closed", exc_info=error)

    def _forget(self, task: asyncio.Task[object]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # marks it as retrieved, as the caller may have been cancelled


async def _is_over(connection: AsyncConnection, error: BaseException | None = None) -> bool:
    """Whether the connection is unusable, by the error or by its state."""
    if (error is not None and is_cut(error)) or connection.invalidated or connection.closed:
        return True
    raw: Any = (await connection.get_raw_connection()).driver_connection
    return bool(raw.is_closed())


@asynccontextmanager
async def opened_session(name: str, engine: AsyncEngine) -> AsyncIterator[PostgresSession]:
    """Open a session without a connection. On exit, wait for the running transaction."""
    session = PostgresSession(name, engine)
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
LOOKS: Final = 500  # attempts to take the lock after terminating its holder's session
LOOK_S: Final = 0.01


async def tried(connection: AsyncConnection, end: TextClause | None, pid: int | None) -> bool:
    """Try to take the lock, and return whether the connection holds it now.

    end: the statement that terminates the session in the way: any session, or only this runtime's earlier one, with the
    server process `pid`.
    """
    is_taken: bool = (await connection.execute(TAKE)).scalar_one()
    for _ in range(LOOKS):
        if is_taken or end is None:
            break
        ended = (await connection.execute(end, {"pid": pid} if end is END_OWN else {})).all()
        is_taken = (await connection.execute(TAKE)).scalar_one()
        if not ended and end is END_OWN:  # the holder is another runtime
            break
        await asyncio.sleep(0 if is_taken else LOOK_S)
    return is_taken
