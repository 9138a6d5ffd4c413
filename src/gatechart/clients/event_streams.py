"""Streams from a server, which survive lost connections: committed turns, and items that invokes publish."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from time import monotonic
from types import TracebackType
from typing import Any, Final, Self

import httpx
from pydantic import ValidationError
from pydantic_core import from_json

from gatechart.api.codec import TURN as TURN_ANSWER
from gatechart.api.route import END, ITEM, MISSED, TURN
from gatechart.clients.errors import ChangesMissedError, ItemsMissedError, ServerAnswerError, ServerUnreachableError
from gatechart.clients.server import is_not_ready, refusal
from gatechart.values.delays import Retry
from gatechart.values.frozen import value
from gatechart.values.queries import HistoryEntry

_SILENCE_S: Final = 45.0  # three heartbeats of the server; after that the connection counts as dead
_AGAIN: Final = Retry(attempts=2**31, first_s=0.05, factor=2.0, most_s=2.0)


@value
class ServerEvent:
    """One server-sent event: its name, its data, and the position in the stream after it."""

    kind: str = ""
    data: bytes = b""
    id: str = ""


class Events:
    """The events of one stream, from when it is entered. It reconnects at its position after a lost connection.

    path: path of the stream. verb: name of the call, for errors. patience_s: how long to try to connect.
    """

    def __init__(self, http: httpx.AsyncClient, url: str, path: str, verb: str, patience_s: float) -> None:
        self.url = url
        self._http = http
        self._path = path
        self._verb = verb
        self._patience_s = patience_s
        self._position = ""  # the id of the last event
        self._connection = AsyncExitStack()
        self._events: AsyncIterator[ServerEvent] | None = None
        self._failures = 0  # consecutive connections without an event

    async def __aenter__(self) -> Self:
        await self._connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._connection.aclose()

    async def next(self) -> ServerEvent:
        """Return the next event, after reconnecting if necessary.

        Raises ServerUnreachableError, and the server's refusal.
        """
        while True:
            if self._events is None:
                await self._connect()
            assert self._events is not None
            try:
                event = await anext(self._events)
            except (StopAsyncIteration, httpx.TransportError):
                self._events = None
                await self._connection.aclose()
                if self._failures:
                    await asyncio.sleep(_AGAIN.wait_s(self._failures) or 0.0)
                self._failures += 1
            else:
                self._failures = 0
                self._position = event.id or self._position
                return event

    async def _connect(self) -> None:
        """Connect, and read the position where the stream starts."""
        until, failed = monotonic() + self._patience_s, 0
        while True:
            try:
                self._events = await self._open_stream()
            except (httpx.TransportError, _NotReadyError) as error:
                await self._connection.aclose()
                failed += 1
                wait_s = _AGAIN.wait_s(failed) or 0.0
                if monotonic() + wait_s > until:
                    raise ServerUnreachableError(self.url, str(error) or type(error).__name__) from error
                await asyncio.sleep(wait_s)
            else:
                return

    async def _open_stream(self) -> AsyncIterator[ServerEvent]:
        headers = {"accept": "text/event-stream", **({"last-event-id": self._position} if self._position else {})}
        timeout = httpx.Timeout(_SILENCE_S, connect=10.0)
        request = self._http.stream("GET", self._path, headers=headers, timeout=timeout)
        response = await self._connection.enter_async_context(request)
        if response.status_code != httpx.codes.OK:
            text = await response.aread()
            if is_not_ready(response.status_code, text):
                raise _NotReadyError("it is not ready")
            raise refusal(self.url, response.status_code, text, self._verb)
        events = told_events(response.aiter_raw())
        first = await anext(events, None)  # the start position, so that no later event is missed
        if first is None:
            raise _NotReadyError("it ended the stream at once")
        self._position = self._position or first.id
        return events


class _NotReadyError(Exception):
    """The server is starting or stopping."""


class Changes:
    """An endless async iterator over committed turns. Returned by `HttpClient.changes`.

    Raises ServerUnreachableError, the server's refusal, and ChangesMissedError; it may continue after the last.
    """

    def __init__(self, events: Events) -> None:
        self._events = events

    def __aiter__(self) -> AsyncIterator[HistoryEntry]:
        return self

    async def __anext__(self) -> HistoryEntry:
        while True:
            event = await self._events.next()
            if event.kind == TURN:
                return self._entry(event)
            if event.kind == MISSED:
                raise ChangesMissedError(from_json(event.data)["lost"])

    def _entry(self, event: ServerEvent) -> HistoryEntry:
        try:
            return TURN_ANSWER.read(event.data)
        except ValidationError as error:
            raise ServerAnswerError(self._events.url, httpx.codes.OK, str(error)) from error


class Published:
    """An async iterator over the items that an invoke publishes, until it ends. Returned by `HttpClient.stream`.

    Items are JSON values. Raises ServerUnreachableError, the server's refusal, and ItemsMissedError; it may continue
    after the last.
    """

    def __init__(self, events: Events) -> None:
        self._events = events
        self._has_ended = False

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        while not self._has_ended:
            event = await self._events.next()
            if event.kind == ITEM:
                return self._item(event)
            if event.kind == MISSED:
                raise ItemsMissedError(from_json(event.data)["lost"])
            self._has_ended = event.kind == END
        raise StopAsyncIteration

    def _item(self, event: ServerEvent) -> Any:
        try:
            return from_json(event.data)
        except ValueError as error:
            raise ServerAnswerError(self._events.url, httpx.codes.OK, str(error)) from error


async def told_events(parts: AsyncIterator[bytes]) -> AsyncIterator[ServerEvent]:
    """Yield the events in a stream of chunks of any size. Heartbeats are skipped."""
    rest = b""
    async for part in parts:
        *blocks, rest = (rest + part).split(b"\n\n")
        for block in blocks:
            event = _parsed(block)
            if event != ServerEvent():
                yield event


def _parsed(block: bytes) -> ServerEvent:
    fields = dict(line.split(b": ", 1) for line in block.split(b"\n") if b": " in line)
    return ServerEvent(fields.get(b"event", b"").decode(), fields.get(b"data", b""), fields.get(b"id", b"").decode())
