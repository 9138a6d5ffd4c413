"""The one session that writes to a PostgreSQL database, and that holds the lock of its owner."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, TextClause, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from gatechart.errors import OwnershipLostError, StoreBusyError, StoreFailedError
from gatechart.stores.postgres_engines import FAILURES, is_cut, state_of

logger = logging.getLogger(__name__)

T = TypeVar("T")

LOCK: Final = 0x6761_7465_6368_6172  # "gatechar"; of one database, as all advisory locks
PID: Final = text("SELECT pg_backend_pid()")
TAKE: Final = text(f"SELECT pg_try_advisory_lock({LOCK})")
HOLDER: Final = f"""
FROM pg_locks WHERE locktype = 'advisory' AND granted AND database = (
    SELECT oid FROM pg_database WHERE datname = current_database()
) AND classid = {LOCK >> 32} AND objid = {LOCK & 0xFFFF_FFFF} AND objsubid = 1
"""
END_HOLDER: Final = text(f"SELECT pg_terminate_backend(pid) {HOLDER}")
END_OWN: Final = text(f"SELECT pg_terminate_backend(pid) {HOLDER} AND pid = :pid")
CHANCE: Final = "40"  # how the SQLSTATE of a serialization failure begins, and of a deadlock
ATTEMPTS: Final = 4  # at a transaction
LOOKS: Final = 500  # for a lock whose holder's session was told to end
LOOK_S: Final = 0.01
GRACE_LOOKS: Final = 50  # for one whose holder has died perhaps, which the server notices a moment later
REGAIN_S: Final = 0.2  # after which an idle session connects again; who has ended it to take over is faster


class Session:
    """Runs transactions, one after the other, as a `Writer` does.

    The lock is the session's: who has lost the connection has lost the lock. A new connection takes it again before it
    writes anything; that nobody else came meanwhile is what each transaction makes sure of by the owner's epoch. Where
    there is no transaction, it connects again all the same, so that others go on finding the database owned.
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
        self._regaining: asyncio.Task[None] | None = None
        self._is_open = True

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
        self._is_open = False
        if self._regaining is not None:
            self._regaining.cancel()
            await asyncio.wait([self._regaining])
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
        connection, is_held = await self._connect(END_OWN)
        await self._keep(connection, is_held=is_held)
        return connection

    async def _take(self, end: TextClause | None = None) -> bool:
        connection, is_held = await self._connect(end)
        if is_held:
            await self._keep(connection, is_held=True)
        else:
            await connection.close()
        return is_held

    async def _keep(self, connection: AsyncConnection, *, is_held: bool) -> None:
        self._connection, self._is_held = connection, is_held
        (await _raw(connection)).add_termination_listener(self._connection_ended)

    def _connection_ended(self, *_told: object) -> None:
        if self._is_open and (self._regaining is None or self._regaining.done()):
            self._regaining = asyncio.create_task(self._regain())

    async def _regain(self) -> None:
        """Takes the lock again that went with the connection, unless a transaction is faster, or somebody else."""
        is_over = False
        while not is_over:
            await asyncio.sleep(REGAIN_S)
            try:
                async with self._turn:
                    is_over = await self._regained()
            except Exception as error:
                logger.debug("the server cannot be reached yet", exc_info=error)

    async def _regained(self) -> bool:
        """Whether there is nothing left to do. Raises what connecting raises."""
        if self._lost is not None:
            return True
        if self._connection is not None:
            if not await _is_closed(self._connection):
                return True
            await self._disconnect()
        connection, is_held = await self._connect(END_OWN)
        if is_held:
            logger.warning("the connection to the database was lost, and made again", extra={"store": self._name})
            await self._keep(connection, is_held=True)
        else:
            logger.warning("the database was lost to somebody else", extra={"store": self._name})
            await connection.close()
        return True

    async def _connect(self, end: TextClause | None) -> tuple[AsyncConnection, bool]:
        """A new connection, and whether it has the lock; `end` says whose session may be ended for it."""
        connection = await self._engine.connect()
        try:
            is_held = await self._tried(connection, end)
            self._pid = (await connection.execute(PID)).scalar_one()
            await connection.commit()
        except BaseException:
            await connection.close()
            raise
        return connection, is_held

    async def _tried(self, connection: AsyncConnection, end: TextClause | None) -> bool:
        taken: bool = (await connection.execute(TAKE)).scalar_one()
        for _ in range(GRACE_LOOKS if end is None else LOOKS):
            if taken:
                break
            ended = end is None or await self._ended(connection, end)
            taken = (await connection.execute(TAKE)).scalar_one()
            if not ended and end is END_OWN:  # it is not this runtime's
                break
            await asyncio.sleep(0 if taken else LOOK_S)
        return taken

    async def _ended(self, connection: AsyncConnection, end: TextClause) -> bool:
        """Whether a session was told to end."""
        return bool((await connection.execute(end, {"pid": self._pid} if end is END_OWN else {})).all())

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


async def _is_over(connection: AsyncConnection, error: BaseException) -> bool:
    """Whether the connection is of no more use."""
    return is_cut(error) or await _is_closed(connection)


async def _is_closed(connection: AsyncConnection) -> bool:
    return connection.invalidated or connection.closed or bool((await _raw(connection)).is_closed())


async def _raw(connection: AsyncConnection) -> Any:
    """The driver's own connection."""
    return (await connection.get_raw_connection()).driver_connection


@asynccontextmanager
async def opened_session(name: str, engine: AsyncEngine) -> AsyncIterator[Session]:
    """A session, not connected yet, that ends behind the transaction under way."""
    session = Session(name, engine)
    try:
        yield session
    finally:
        await session.end()
