"""The life of a server: starting, while the runtime recovers; open; and stopping, while running requests end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from enum import StrEnum
from secrets import token_hex
from typing import Final

from gatechart.api.codec import TURN
from gatechart.runtime.runtime import Runtime
from gatechart.serving.answers import RETRY_AFTER, NotServed
from gatechart.serving.event_stream import ReplayBuffer, record
from gatechart.serving.streams import InvokeStreams
from gatechart.tasks import start_task
from gatechart.values.queries import HistoryEntry

BUFFER_BYTES: Final = 32 * 2**20


class Phase(StrEnum):
    """The phase of a server's life."""

    STARTING = "starting"  # the runtime is recovering
    OPEN = "open"
    STOPPING = "stopping"  # running requests may end


class Lifecycle:
    """Holds the runtime, once it is open, the recent turns that `/changes` replays, and the streams of watched invokes.

    buffer, buffer_bytes: the most recent turns to keep, and the most bytes of them.
    streams: the buffers of published items, kept for readers that reconnect.
    """

    def __init__(
        self, *, buffer: int = 10_000, buffer_bytes: int = BUFFER_BYTES, streams: InvokeStreams | None = None
    ) -> None:
        self.phase = Phase.STARTING
        self.streams = streams or InvokeStreams()
        self.buffer = ReplayBuffer(token_hex(8), buffer, buffer_bytes)
        self._runtime: Runtime | None = None

    @property
    def runtime(self) -> Runtime:
        """The runtime. Raises NotServed if it is not open yet, or already closed."""
        if self._runtime is None:
            raise self._not_ready()
        return self._runtime

    def check_open(self) -> None:
        """Raise NotServed if the server is starting or stopping."""
        if self.phase is not Phase.OPEN:
            raise self._not_ready()

    def _not_ready(self) -> NotServed:
        message = f"the server is {self.phase}; try again in a moment"
        return NotServed(503, "NotReady", message, retry_after=RETRY_AFTER["retry-after"])

    @asynccontextmanager
    async def hosting(self, runtime: Runtime) -> AsyncIterator[None]:
        """Serve this runtime inside the block."""
        async with runtime.changes(framework=True) as changes:
            recording = start_task(record(changes, self.buffer, _turn_text, _turn_facts))
            self._runtime, self.phase = runtime, Phase.OPEN
            try:
                yield
            finally:
                self.stop()
                self._runtime = None
                recording.cancel()
                await asyncio.wait((recording,))

    def stop(self) -> None:
        """Report not ready and end the streams. The server still answers requests until it or the runtime closes."""
        self.phase = Phase.STOPPING
        self.buffer.close()
        self.streams.close()


def _turn_text(turn: HistoryEntry) -> bytes:
    return TURN.write(turn)


def _turn_facts(turn: HistoryEntry) -> Mapping[str, object]:
    return {"agent_id": turn.agent_id, "version": turn.version}
