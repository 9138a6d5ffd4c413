"""Items that invokes publish, for readers over HTTP: one buffer per watched invoke, kept briefly without readers."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from secrets import token_hex
from typing import Any, TypeAlias

from pydantic_core import to_json
from starlette.types import Receive, Scope, Send

from gatechart.api.route import ITEM
from gatechart.hosting.subscriptions import Subscription
from gatechart.runtime.runtime import Runtime
from gatechart.serving.event_stream import Cursor, EventStream, ReplayBuffer, after_end, record
from gatechart.tasks import start_task
from gatechart.values.names import AgentId

_Key: TypeAlias = tuple[AgentId, str]  # an agent, and the id of one of its invokes


@dataclass(eq=False, slots=True)
class _Recording:
    """The published items of an invoke, kept while a reader may return."""

    name: str  # of its buffer
    key: _Key
    buffer: ReplayBuffer
    task: asyncio.Task[None]
    readers: int = 0
    expiry: asyncio.TimerHandle | None = None  # set while there are no readers


class InvokeStreams:
    """The watched invokes. All readers of an invoke share one buffer, each with a cursor.

    most, most_bytes: the most items and bytes to keep of each invoke.
    linger_s: time that a buffer without readers is kept, for a reader that reconnects.
    most_idle: the most buffers without readers; the one idle for longest is dropped first.
    """

    def __init__(
        self, *, most: int = 10_000, most_bytes: int = 2**20, linger_s: float = 30.0, most_idle: int = 100
    ) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._linger_s = linger_s
        self._most_idle = most_idle
        self._recordings: dict[str, _Recording] = {}  # by the names of their buffers
        self._newest: dict[_Key, _Recording] = {}
        self._idle: dict[str, _Recording] = {}  # the one idle for longest first

    async def reader(
        self, runtime: Runtime, agent_id: AgentId, invoke: str, cursor: Cursor | None
    ) -> StreamResponse | None:
        """Return the response for a reader; None if it has read to the end of the invoke.

        cursor: its position, from its last event; None starts with the next published item.
        Raises as `Runtime.stream` does.
        """
        key = (agent_id, invoke)
        recording = self._known(key, cursor) or await self._start_recording(runtime, key)
        buffer = recording.buffer
        if buffer.is_complete and cursor == after_end(buffer.end):
            return None
        return StreamResponse(self, recording, cursor or buffer.end)

    def _known(self, key: _Key, cursor: Cursor | None) -> _Recording | None:
        """Return the recording that the reader had before, else the current one unless that invoke has ended."""
        before = None if cursor is None else self._recordings.get(cursor.buffer)
        if before is not None and before.key == key:
            return before
        newest = self._newest.get(key)
        return None if newest is None or newest.buffer.is_closed else newest

    async def _start_recording(self, runtime: Runtime, key: _Key) -> _Recording:
        stack = AsyncExitStack()
        subscription = await stack.enter_async_context(runtime.stream(*key))
        name = token_hex(8)
        buffer = ReplayBuffer(name, self._most, self._most_bytes)
        task = start_task(_record(stack, subscription, buffer, key))
        recording = self._recordings[name] = self._newest[key] = _Recording(name, key, buffer, task)
        self._expire_later(recording)
        return recording

    def join(self, recording: _Recording) -> None:
        """Count a new reader."""
        recording.readers += 1
        if recording.expiry is not None:
            recording.expiry.cancel()
            recording.expiry = None
            self._idle.pop(recording.name, None)

    def leave(self, recording: _Recording) -> None:
        """Discount a reader. A recording without readers is kept for a while."""
        recording.readers -= 1
        if not recording.readers and recording.name in self._recordings:
            self._expire_later(recording)

    def _expire_later(self, recording: _Recording) -> None:
        recording.expiry = asyncio.get_running_loop().call_later(self._linger_s, self._drop, recording)
        self._idle[recording.name] = recording
        if len(self._idle) > self._most_idle:
            self._drop(next(iter(self._idle.values())))

    def _drop(self, recording: _Recording) -> None:
        self._recordings.pop(recording.name, None)
        self._idle.pop(recording.name, None)
        if self._newest.get(recording.key) is recording:
            del self._newest[recording.key]
        if recording.expiry is not None:
            recording.expiry.cancel()
        recording.task.cancel()

    def close(self) -> None:
        """End all responses, without an end event: their readers can continue with the next server."""
        for recording in tuple(self._recordings.values()):
            recording.buffer.close()
            self._drop(recording)


class StreamResponse:
    """The response for one reader, counted as a reader while it runs."""

    def __init__(self, streams: InvokeStreams, recording: _Recording, cursor: Cursor) -> None:
        self._streams = streams
        self._recording = recording
        self._stream = EventStream(recording.buffer, ITEM, cursor)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve an ASGI request."""
        self._streams.join(self._recording)
        try:
            await self._stream(scope, receive, send)
        finally:
            self._streams.leave(self._recording)


async def _record(stack: AsyncExitStack, subscription: Subscription[Any], buffer: ReplayBuffer, key: _Key) -> None:
    async with stack:
        await record(subscription, buffer, _text, lambda _: {"agent_id": key[0], "invoke": key[1]})


def _text(item: Any) -> bytes:
    """Write an item as JSON. Infinite numbers and NaN become strings, as in a context, because JSON has none."""
    return to_json(item, inf_nan_mode="strings")
