"""The one session that writes to a PostgreSQL database, and that holds the lock of its owner."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, NamedTuple, TypeVar

from sqlalchemy import Connection, TextClause, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from gatechart.errors import OwnershipLostError, StoreBusyError, StoreFailedError
from gatechart.stores.sql.postgres_engines import FAILURES, is_cut, state_of

logger = logging.getLogger(__name__)

T = TypeVar("T")

PID: Final = text("SELECT pg_backend_pid()")
CHANCE: Final = "40"  # how the SQLSTATE of a serialization failure begins, and of a deadlock
ATTEMPTS: Final = 4  # at a transaction
PAUSE_S: Final = 0.1  # before the first, so that who ended this session to take over is faster
MEND_S: Final = 1.0  # between two attempts at a connection that nothing waits for


class _Made(NamedTuple):
    """A new connection."""

    connection: AsyncConnection
    is_held: bool  # whether it has the lock
    pid: int  # of the server's process for it
    raw: Any  # asyncpg's own


class Session:
    """Runs transactions, one after the other, as a `Writer` does.

    The lock is the session's: who has lost the connection has lost the lock. A new connection takes it again before it
    writes anything; that nobody else came meanwhile is what each transaction makes sure of by the owner's epoch. It is
    made as soon as the loss is noticed, so that who has nothing to write owns the database all the same.
    """

    def __init__(self, name: str, engine: AsyncEngine) -> None:
        self._name = name
        self._engine = engine
        self._connection: AsyncConnection | None = None
        self._is_held = False  # whether the connection has the lock
        self._pid: int | None = None  # of the server's process for the last connection
        self._turn = asyncio.Lock()
        self._lost: OwnershipLostError | None = None
        self._under_way: set[asyncio.Task[object]] = set()
        self._mending: asyncio.Task[None] | None = None
        self._is_ending = False

    async def take(self) -> bool:
        """Whether the session holds the lock now. Where not, there is no session."""
        async with self._turn:
            return await self._take()

    async def seize(self) -> None:
        """Ends the session that holds the lock, and takes it. Raises StoreBusyError where others are faster."""
        async with self._turn:
            if not await self._take(END_HOLDER):
                raise StoreBusyError(self._name, "its owner's session does not end")

    async def run(self, work: Callable[[Connection], T]) -> T:
        """The result of the work, once its transaction is committed; taken back where it raises.

        A caller who is cancelled only stops waiting. Raises StoreFailedError where nobody knows whether it is
        committed, for the connection was lost in the midst of it.
        """
        task = asyncio.create_task(self._run(work))
        self._under_way.add(task)
        task.add_done_callback(self._forget)
        return await asyncio.shield(task)

    async def end(self) -> None:
        """Lets go of the lock, behind the transactions under way."""
        self._is_ending = True
        if self._mending is not None:
            self._mending.cancel()
            await asyncio.wait([self._mending])
        while self._under_way:
            await asyncio.wait(self._under_way)
        await self._disconnect()
        await self._engine.dispose()

    async def _run(self, work: Callable[[Connection], T]) -> T:
        """The result, in as many attempts as nothing but chance stands against."""
        async with self._turn:
            for attempt in range(1, ATTEMPTS):
                try:
                    return await self._transaction(work)
                except FAILURES as error:
                    is_chance = state_of(error).startswith(CHANCE) or (attempt == 1 and is_cut(error))
                    if not is_chance:
                        raise
                    logger.warning("a transaction is tried again", extra={"attempt": attempt}, exc_info=error)
            return await self._transaction(work)

    async def _transaction(self, work: Callable[[Connection], T]) -> T:
        if self._lost is not None:
            raise self._lost
        connection = self._connection or await self._connected_again()
        try:
            transaction = await connection.begin()
            try:
                done = await connection.run_sync(work)
                if not self._is_held:  # the work would have raised, had another owner begun
                    raise StoreBusyError(self._name, "another session has the lock of its owner")
            except BaseException:
                with suppress(*FAILURES):  # a connection that is lost has nothing to take back
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
        """Called when a connection has come to its end."""
        is_wanted = self._connection is not None and self._lost is None and not self._is_ending
        if is_wanted and self._mending is None:
            self._mending = asyncio.get_running_loop().create_task(self._mend())

    async def _mend(self) -> None:
        try:
            await asyncio.sleep(PAUSE_S)
            while not await self._is_mended():  # noqa: ASYNC110  a server tells nobody that it is there
                await asyncio.sleep(MEND_S)
        finally:
            self._mending = None

    async def _is_mended(self) -> bool:
        """Whether there is a connection again, or none to be had: somebody else has the lock, or has had it."""
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
        """A new connection, with the lock if it is to be had; `end` says whose session may be ended for it."""
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
            task.exception()  # which nobody may be there to take


async def _is_over(connection: AsyncConnection, error: BaseException | None = None) -> bool:
    """Whether the connection is of no more use, by what it raised or by itself."""
    if (error is not None and is_cut(error)) or connection.invalidated or connection.closed:
        return True
    raw: Any = (await connection.get_raw_connection()).driver_connection
    return bool(raw.is_closed())


@asynccontextmanager
async def opened_session(name: str, engine: AsyncEngine) -> AsyncIterator[Session]:
    """A session, not connected yet, that ends behind the transaction under way."""
    session = Session(name, engine)
    try:
        yield session
    finally:
        await session.end()


LOCK: Final = 0x6761_7465_6368_6172  # "gatechar"; of one database, as all advisory locks
TAKE: Final = text(f"SELECT pg_try_advisory_lock({LOCK})")
HOLDER: Final = f"""
FROM pg_locks WHERE locktype = 'advisory' AND granted AND database = (
    SELECT oid FROM pg_database WHERE datname = current_database()
) AND classid = {LOCK >> 32} AND objid = {LOCK & 0xFFFF_FFFF} AND objsubid = 1
"""
END_HOLDER: Final = text(f"SELECT pg_terminate_backend(pid) {HOLDER}")
END_OWN: Final = text(f"SELECT pg_terminate_backend(pid) {HOLDER} AND pid = :pid")
LOOKS: Final = 500  # for a lock whose holder's session was told to end
LOOK_S: Final = 0.01


async def tried(connection: AsyncConnection, end: TextClause | None, pid: int | None) -> bool:
    """Whether the connection holds the lock now.

    end: whose session may be ended for it: whoever's holds it, or this runtime's own before, the server's process pid.
    """
    taken: bool = (await connection.execute(TAKE)).scalar_one()
    for _ in range(LOOKS):
        if taken or end is None:
            break
        ended = (await connection.execute(end, {"pid": pid} if end is END_OWN else {})).all()
        taken = (await connection.execute(TAKE)).scalar_one()
        if not ended and end is END_OWN:  # it is not this runtime's
            break
        await asyncio.sleep(0 if taken else LOOK_S)
    return taken
