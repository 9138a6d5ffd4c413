"""Streams of server-sent events: a buffer of recent items, and the response that replays it to each reader."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate, islice, takewhile
from typing import Any, Final, TypeVar

from pydantic_core import to_json
from starlette.types import Receive, Scope, Send

from gatechart.api.route import END, MISSED
from gatechart.errors.operation import FeedLaggedError, RuntimeClosedError
from gatechart.hosting.subscriptions import Subscription
from gatechart.serving.connections import cut_off, disconnected
from gatechart.tasks import start_task
from gatechart.values.frozen import value

logger = logging.getLogger(__name__)

T = TypeVar("T")

_BATCH: Final = 100  # maximum number of items written at once
_BATCH_BYTES: Final = 2**16  # per batch, unless one item is larger; limits the memory of a stalled reader
_RETRY_MS: Final = 1000  # time that a browser waits before it reconnects
_HEADERS: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # keeps nginx from buffering the stream
]


@value
class Cursor:
    """A reader's position: its last item of a buffer. Its text is the id of a server-sent event."""

    buffer: str
    number: int

    def __str__(self) -> str:
        return f"{self.buffer}-{self.number}"


def parse_cursor(text: str) -> Cursor | None:
    """Parse the id of a server-sent event; None if the text is not one.

    >>> parse_cursor("a1b2-17"), parse_cursor("a1b2-x"), parse_cursor("")
    (Cursor(buffer='a1b2', number=17), None, None)
    """
    buffer, _, number = text.rpartition("-")
    if not buffer or not number.isascii() or not number.isdigit() or len(number) > 18:
        return None
    return Cursor(buffer, int(number))


@value
class Missed:
    """Items that a reader can no longer get."""

    lost: int | None  # their number; None if unknown, because the cursor belongs to another buffer


class ReplayBuffer:
    """The newest items, numbered from 1. Each reader has a cursor, so a slow reader does not delay others.

    name: unique to this buffer. most, most_bytes: the most items and bytes to keep; the newest item is always kept.
    """

    def __init__(self, name: str, most: int, most_bytes: int) -> None:
        self._name = name
        self._most = most
        self._most_bytes = most_bytes
        self._items: deque[bytes] = deque()
        self._bytes = 0
        self._end = 0  # the number of the newest item
        self._is_closed = False
        self._is_complete = False
        self._changed = asyncio.Event()

    @property
    def end(self) -> Cursor:
        """The cursor after the newest item."""
        return Cursor(self._name, self._end)

    @property
    def is_closed(self) -> bool:
        """Whether no more items will be added."""
        return self._is_closed

    @property
    def is_complete(self) -> bool:
        """Whether the source of the items has ended, not only the server."""
        return self._is_complete

    def add(self, item: bytes) -> None:
        """Add an item, and drop the oldest ones if there are too many."""
        self._items.append(item)
        self._bytes += len(item)
        self._end += 1
        while len(self._items) > self._most or (self._bytes > self._most_bytes and len(self._items) > 1):
            self._bytes -= len(self._items.popleft())
        self._wake()

    def skip(self, count: int) -> None:
        """Record that `count` items were lost before they could be added; readers miss them and all earlier items."""
        self._items.clear()
        self._bytes = 0
        self._end += count
        self._wake()

    def complete(self) -> None:
        """Close the buffer with an end event for readers, as the source has no more items."""
        self._is_complete = True
        self.close()

    def close(self) -> None:
        """Close the buffer. Readers can still read its items."""
        self._is_closed = True
        self._wake()

    def read(self, cursor: Cursor, most: int, most_bytes: int) -> tuple[Cursor, Missed | None, tuple[bytes, ...]]:
        """Return the cursor after the items, the items missed before them (or None), and the items.

        most, most_bytes: the most items and bytes to return; at least one item if there is any.
        """
        oldest = self._end - len(self._items)  # the cursor before the oldest stored item
        is_known = cursor.buffer == self._name and cursor.number <= self._end
        missed = Missed(oldest - cursor.number) if is_known and cursor.number < oldest else None
        skipped = max(cursor.number - oldest, 0) if is_known else 0
        sizes = accumulate(len(item) for item in islice(self._items, skipped, skipped + most))
        count = max(1, sum(1 for _ in takewhile(lambda size: size <= most_bytes, sizes)))
        found = tuple(islice(self._items, skipped, skipped + count))
        return Cursor(self._name, oldest + skipped + len(found)), missed if is_known else Missed(None), found

    async def news(self, cursor: Cursor, patience_s: float) -> bool:
        """Wait for an item after the cursor, or for the end. Return False after `patience_s` seconds."""
        try:
            async with asyncio.timeout(patience_s):
                while cursor == self.end and not self._is_closed:
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


async def record(
    feed: Subscription[T], buffer: ReplayBuffer, write: Callable[[T], bytes], facts: Callable[[T], Mapping[str, Any]]
) -> None:
    """Add the items of a feed to a buffer until the feed ends, or its runtime closes.

    write: converts an item to JSON text; if it raises, readers miss the item, and the item is logged with its `facts`.
    """
    while True:
        try:
            item = await anext(feed)
        except FeedLaggedError as error:
            logger.warning("items arrived faster than they were recorded: %d were lost", error.lost)
            buffer.skip(error.lost)
        except StopAsyncIteration:
            buffer.complete()
            return
        except RuntimeClosedError:
            return
        else:
            try:
                buffer.add(write(item))
            except Exception:  # one bad item must not end the stream for all readers
                logger.exception("an item of a stream could not be written as JSON", extra=facts(item))
                buffer.skip(1)


class EventStream:
    """A response that runs until the reader disconnects or stalls for too long, or the buffer ends.

    kind: the name of the events. cursor: where to start. beat_s: the interval of heartbeats on a silent stream, in
    seconds. stall_s: the time after which a reader that does not read is disconnected, in seconds. shown: converts an
    item for this reader; None omits the item, but still advances the position.
    """

    def __init__(
        self,
        buffer: ReplayBuffer,
        kind: str,
        cursor: Cursor,
        *,
        beat_s: float = 15.0,
        stall_s: float = 60.0,
        shown: Callable[[bytes], bytes | None] = bytes,
    ) -> None:
        self._buffer = buffer
        self._kind = kind.encode()
        self._cursor = cursor
        self._beat_s = beat_s
        self._stall_s = stall_s
        self._shown = shown

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve an ASGI request."""
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body"})
            return
        writing, disconnecting = start_task(self._replay(send)), start_task(disconnected(receive))
        try:
            await asyncio.wait((writing, disconnecting), return_when=asyncio.FIRST_COMPLETED)
            if writing.done() and isinstance(writing.exception(), TimeoutError):
                await cut_off(scope, receive)
        finally:
            for task in (writing, disconnecting):
                task.cancel()
            await asyncio.gather(writing, disconnecting, return_exceptions=True)

    async def _replay(self, send: Send) -> None:
        await self._write(send, f"retry: {_RETRY_MS}\nid: {self._cursor}\n\n".encode())
        while True:
            self._cursor, missed, found = self._buffer.read(self._cursor, _BATCH, _BATCH_BYTES)
            if missed or found:
                await self._write(send, b"".join(self._events(missed, found)))
            elif self._buffer.is_closed:
                break
            elif not await self._buffer.news(self._cursor, self._beat_s):
                await self._write(send, b":\n\n")
        if self._buffer.is_complete:
            await self._write(send, f"event: {END}\nid: {after_end(self._cursor)}\ndata: null\n\n".encode())
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _events(self, missed: Missed | None, found: tuple[bytes, ...]) -> Iterator[bytes]:
        before = self._cursor.number - len(found)
        if missed is not None:
            lost = to_json({"lost": missed.lost}).decode()
            yield f"event: {MISSED}\nid: {Cursor(self._cursor.buffer, before)}\ndata: {lost}\n\n".encode()
        buffer = self._cursor.buffer.encode()
        data: bytes | None = b""
        for number, item in enumerate(found, before + 1):
            data = self._shown(item)
            if data is not None:
                yield b"event: %b\nid: %b-%d\ndata: %b\n\n" % (self._kind, buffer, number, data)
        if data is None:  # only the position: otherwise a reader that reconnects would seem to have missed items
            yield b"id: %b-%d\n\n" % (buffer, self._cursor.number)

    async def _write(self, send: Send, text: bytes) -> None:
        async with asyncio.timeout(self._stall_s):
            await send({"type": "http.response.body", "body": text, "more_body": True})


def after_end(last: Cursor) -> Cursor:
    """Return the cursor of a reader that also has the event `end`, which follows the last item."""
    return Cursor(last.buffer, last.number + 1)
