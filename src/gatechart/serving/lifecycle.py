"""The life of a server: starting, while the runtime recovers; open; and stopping, while requests under route end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import StrEnum
from secrets import token_hex
from typing import Final

from gatechart.api import TURN
from gatechart.errors import FeedLaggedError, RuntimeClosedError
from gatechart.hosting.subscriptions import Subscription
from gatechart.runtime import Runtime
from gatechart.serving.answers import RETRY_AFTER, Refused
from gatechart.serving.changes import ReplayBuffer
from gatechart.values import HistoryEntry

logger = logging.getLogger(__name__)

BUFFER_BYTES: Final = 32 * 2**20


class Phase(StrEnum):
    """Where a server is in its life."""

    STARTING = "starting"  # the runtime is recovering
    OPEN = "open"
    STOPPING = "stopping"  # requests under route may end


class Lifecycle:
    """The runtime, once there is one, and the recent turns that `/changes` replays.

    buffer, buffer_bytes: how many recent turns are kept, and how many bytes of them.
    """

    def __init__(self, *, buffer: int = 10_000, buffer_bytes: int = BUFFER_BYTES) -> None:
        self.phase = Phase.STARTING
        self.buffer = ReplayBuffer(token_hex(8), buffer, buffer_bytes)
        self._runtime: Runtime | None = None

    @property
    def runtime(self) -> Runtime:
        """The runtime. Raises Refused if it is not open yet, or closed already."""
        if self._runtime is None:
            raise self._not_ready()
        return self._runtime

    def check_open(self) -> None:
        """Raise Refused if the server is starting or stopping."""
        if self.phase is not Phase.OPEN:
            raise self._not_ready()

    def _not_ready(self) -> Refused:
        message = f"the server is {self.phase}; try again in a moment"
        return Refused(503, "NotReady", message, retry_after=RETRY_AFTER["retry-after"])

    @asynccontextmanager
    async def hosting(self, runtime: Runtime) -> AsyncIterator[None]:
        """Serve with this runtime inside the block."""
        async with runtime.changes() as changes:
            recording = asyncio.create_task(self._record(changes))
            self._runtime, self.phase = runtime, Phase.OPEN
            try:
                yield
            finally:
                self.stop()
                self._runtime = None
                recording.cancel()
                await asyncio.wait((recording,))

    def stop(self) -> None:
        """Report not ready and end the streams. Requests are still answered until the runtime or the server closes."""
        self.phase = Phase.STOPPING
        self.buffer.close()

    async def _record(self, changes: Subscription[HistoryEntry]) -> None:
        while True:
            try:
                entry = await anext(changes)
            except FeedLaggedError as error:
                logger.warning("turns were committed faster than they were recorded", extra={"lost": error.lost})
                self.buffer.skip(error.lost)
            except RuntimeClosedError:
                return
            else:
                self._add(entry)

    def _add(self, entry: HistoryEntry) -> None:
        try:
            item = TURN.write(entry)
        except Exception:  # one turn that cannot be written must not end the stream for all
            told = {"agent_id": entry.agent_id, "version": entry.version}
            logger.exception("a turn could not be written as JSON", extra=told)
            self.buffer.skip(1)
        else:
            self.buffer.add(item)
