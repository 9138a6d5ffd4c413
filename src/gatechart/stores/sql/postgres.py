"""A database on a PostgreSQL server. The session that holds its advisory lock owns it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from typing import Final, TypeVar

from sqlalchemy import Connection, text
from sqlalchemy.engine import URL
from sqlalchemy.ext.asyncio import AsyncEngine

from gatechart.stores.sql.connections import Reader, opened_reader
from gatechart.stores.sql.database import Hold, Notifier, Writer
from gatechart.stores.sql.postgres_engines import is_cut, read_errors, reading_engine, write_errors, writing_engine
from gatechart.stores.sql.postgres_notifier import NOTIFY, opened_notifier
from gatechart.stores.sql.postgres_session import HOLDER, Session, opened_session

LAST_NUMBER: Final = text("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM mail_number_seq")
KEEP_NUMBER: Final = text("SELECT setval('mail_number_seq', :number)")

IS_HELD: Final = text(f"SELECT pid {HOLDER}")

T = TypeVar("T")


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
            yield _ServerHold(self, reader, session)

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[tuple[Reader, Writer]]:
        """See Database."""
        async with opened_reader(reading_engine(self._url), is_cut) as reader:
            engine = writing_engine(self._url)
            try:
                yield reader, _Transactions(engine)
            finally:
                await engine.dispose()

    @asynccontextmanager
    async def notifier(self) -> AsyncIterator[Notifier]:
        """See Database."""
        async with opened_notifier(self.name, reading_engine(self._url)) as notifier:
            yield notifier

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

    def check_there(self) -> None:
        """See Database."""

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

    def keep_number(self, connection: Connection, number: int) -> None:
        """See Database."""
        connection.execute(KEEP_NUMBER, {"number": number})


class _Transactions:
    """A writer without the owner's lock. See Writer."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def run(self, work: Callable[[Connection], T]) -> T:
        """See Writer."""
        async with self._engine.begin() as connection:
            return await connection.run_sync(work)


class _ServerHold:
    """See Hold."""

    grace_s = 0.5  # the server notices a death a moment later

    def __init__(self, database: PostgresDatabase, reader: Reader, session: Session) -> None:
        self.reader = reader
        self.writer = session
        self._database = database

    async def take(self) -> bool:
        """See Hold."""
        with self._database.write_errors():
            return await self.writer.take()

    async def seize(self) -> None:
        """See Hold. Ends the owner's session, along with the transaction in which it may be frozen."""
        with self._database.write_errors():
            await self.writer.seize()

    def confirm(self, connection: Connection) -> None:
        """See Hold. Nothing to do: a session without the lock commits nothing."""

    def settle(self) -> None:
        """See Hold."""
