"""Notifications by LISTEN and NOTIFY that wake the owner of a PostgreSQL database when a request arrives."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from asyncpg import InterfaceError, InternalClientError, PostgresError
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from gatechart.stores.sql.postgres_engines import FAILURES

logger = logging.getLogger(__name__)

CHANNEL: Final = "gatechart_requests"
NOTIFY: Final = text(f"SELECT pg_notify('{CHANNEL}', '')")
RAISED: Final = (
    *FAILURES,
    PostgresError,
    InterfaceError,
    InternalClientError,
)  # here the driver is also called directly
LOOK_S: Final = 2.0  # then the owner looks anyway: a connection may be lost silently


class ServerNotifier:
    """A notifier with its own connection, which it replaces if it is lost. See Notifier."""

    def __init__(self, name: str, engine: AsyncEngine) -> None:
        self._name = name
        self._engine = engine
        self._connection: AsyncConnection | None = None
        self._rings = asyncio.Event()

    def listen(self) -> None:
        """See Notifier. Nothing to do: it always listens."""

    async def notified(self) -> None:
        """See Notifier."""
        await self.connect()
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_S):
                await self._rings.wait()
        self._rings.clear()

    async def connect(self) -> None:
        """Listen for notifications from now on, if the server allows it."""
        if self._connection is not None and not (await self._driver(self._connection)).is_closed():
            return
        await self.close()
        try:
            self._connection = await self._engine.connect()
            await (await self._driver(self._connection)).add_listener(CHANNEL, self._notify)
        except RAISED as error:
            logger.warning("nobody can be heard who asks; the owner looks for itself", exc_info=error)
            await self.close()

    async def close(self) -> None:
        """Stop listening."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(*RAISED):
                await connection.invalidate()  # it still listens, so the pool must not reuse it
                await connection.close()

    def _notify(self, *_told: object) -> None:
        self._rings.set()

    @staticmethod
    async def _driver(connection: AsyncConnection) -> Any:
        """Return the driver's own connection."""
        return (await connection.get_raw_connection()).driver_connection


@asynccontextmanager
async def opened_notifier(name: str, engine: AsyncEngine) -> AsyncIterator[ServerNotifier]:
    """Open a notifier that hears every notification from now on."""
    notifier = ServerNotifier(name, engine)
    try:
        await notifier.connect()
        yield notifier
    finally:
        await notifier.close()
        await engine.dispose()
