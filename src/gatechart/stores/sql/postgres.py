"""A database on a PostgreSQL server. The session that holds its advisory lock owns it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, text
from sqlalchemy.engine import URL
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from gatechart.stores.sql.database import Hold, Notifier, Reader, Writer, opened_reader
from gatechart.stores.sql.postgres_connections import (
    FAILURES,
    is_cut,
    read_errors,
    reading_engine,
    write_errors,
    writing_engine,
)
from gatechart.stores.sql.postgres_session import HOLDER, PostgresSession, opened_session

LAST_NUMBER: Final = text("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM mail_number_seq")

IS_HELD: Final = text(f"SELECT pid {HOLDER}")

CHANNEL: Final = "gatechart_requests"
NOTIFY: Final = text(f"SELECT pg_notify('{CHANNEL}', '')")
LOOK_S: Final = 2.0  # after this, the owner checks anyway: a connection may be lost silently

T = TypeVar("T")

logger = logging.getLogger(__name__)


class PostgresDatabase:
    """A database on a PostgreSQL server. Fulfils `Database`."""

    def __init__(self, url: URL) -> None:
        self._url = url
        self.name = url.set(query={}).render_as_string()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Reader]:
        """See Database."""
        async with opened_reader(reading_engine(self._url), is_cut) as reader:
            yield reader

    @asynccontextmanager
    async def holding(self) -> AsyncIterator[Hold]:
        """See Database."""
        async with (
            opened_reader(reading_engine(self._url), is_cut) as reader,
            opened_session(self.name, writing_engine(self._url)) as session,
        ):
            yield _ServerHold(self, self._url, reader, session)

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[tuple[Reader, Writer]]:
        """See Database."""
        async with opened_reader(reading_engine(self._url), is_cut) as reader:
            engine = writing_engine(self._url)
            try:
                yield reader, _Transactions(self.name, engine)
            finally:
                await engine.dispose()

    def notify(self, connection: Connection) -> None:
        """See Database."""
        connection.execute(NOTIFY)

    async def is_owned(self, reader: Reader) -> bool:
        """See Database."""
        with self.read_errors():
            return await reader.run(lambda connection: connection.execute(IS_HELD).first() is not None)

    def is_absent(self) -> bool:
        """See Database. A server refuses the connection if the database does not exist."""
        return False

    def read_errors(self) -> AbstractContextManager[None]:
        """See Database."""
        return read_errors(self.name)

    def write_errors(self) -> AbstractContextManager[None]:
        """See Database."""
        return write_errors(self.name)

    def last_number(self, connection: Connection) -> int:
        """See Database. The sequence of the number column remembers it."""
        last: int = connection.execute(LAST_NUMBER).scalar_one()
        return last


class _Transactions:
    """A writer without the owner's lock. See Writer."""

    def __init__(self, name: str, engine: AsyncEngine) -> None:
        self._name = name
        self._engine = engine

    async def run(self, work: Callable[[Connection], T]) -> T:
        """See Writer."""
        with write_errors(self._name):
            async with self._engine.begin() as connection:
                return await connection.run_sync(work)


class _ServerHold:
    """See Hold."""

    grace_s = 0.5  # the server notices a death with a short delay

    def __init__(self, database: PostgresDatabase, url: URL, reader: Reader, session: PostgresSession) -> None:
        self.reader = reader
        self.writer = session
        self._database = database
        self._url = url

    async def take(self) -> bool:
        """See Hold."""
        with self._database.write_errors():
            return await self.writer.take()

    async def seize(self) -> None:
        """See Hold. Ends the owner's session, and with it a transaction that a frozen owner left open."""
        with self._database.write_errors():
            await self.writer.seize()

    def confirm(self, connection: Connection) -> None:
        """See Hold. Nothing to do: a session without the lock commits nothing."""

    def settle(self) -> None:
        """See Hold."""

    @asynccontextmanager
    async def notifier(self) -> AsyncIterator[Notifier]:
        """See Hold."""
        engine = reading_engine(self._url)
        notifier = ServerNotifier(engine)
        try:
            await notifier.connect()
            yield notifier
        finally:
            await notifier.close()
            await engine.dispose()


class ServerNotifier:
    """A notifier with a dedicated connection, replaced when it is lost. See Notifier."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._connection: AsyncConnection | None = None
        self._notified = asyncio.Event()

    def listen(self) -> None:
        """See Notifier. Nothing to do: it always listens."""

    async def notified(self) -> None:
        """See Notifier."""
        await self.connect()
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_S):
                await self._notified.wait()
        self._notified.clear()

    async def connect(self) -> None:
        """Listen for notifications from now on, if the server allows it."""
        if self._connection is not None and not (await self._driver(self._connection)).is_closed():
            return
        await self.close()
        try:
            self._connection = await self._engine.connect()
            await (await self._driver(self._connection)).add_listener(CHANNEL, self._notify)
        except FAILURES as error:
            logger.warning("cannot listen for notifications of requests; the owner polls instead", exc_info=error)
            await self.close()

    async def close(self) -> None:
        """Stop listening."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(*FAILURES):
                await connection.invalidate()  # it still listens, so the pool must not reuse it
                await connection.close()

    def _notify(self, *_arguments: object) -> None:
        self._notified.set()

    @staticmethod
    async def _driver(connection: AsyncConnection) -> Any:
        """Return the connection of the driver."""
        return (await connection.get_raw_connection()).driver_connection
