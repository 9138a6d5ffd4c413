"""What a server streams, over as many connections as needed: committed turns, and what invokes publish."""

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

from gatechart.api import TURN as TURN_ANSWER
from gatechart.api.route import END, ITEM, MISSED, TURN
from gatechart.clients.errors import ChangesMissedError, ItemsMissedError, ServerAnswerError, ServerUnreachableError
from gatechart.clients.server import is_not_ready, refusal
from gatechart.values import HistoryEntry, Retry
from gatechart.values.frozen import value

_SILENCE_S: Final = 45.0  # three beats of the server: then the connection is taken for dead
_AGAIN: Final = Retry(attempts=2**31, first_s=0.05, factor=2.0, most_s=2.0)


@value
class Told:
    """One event: its name, its data, and the place in the stream after it."""

    kind: str = ""
    data: bytes = b""
    id: str = ""


class Events:
    """The events of one stream, from when it is entered. A lost connection is made again where it was.

    path: of the stream. verb: the call that errors name. patience_s: how long it tries to connect.
    """

    def __init__(self, http: httpx.AsyncClient, url: str, path: str, verb: str, patience_s: float) -> None:
        self.url = url
        self._http = http
        self._path = path
        self._verb = verb
        self._patience_s = patience_s
        self._place = ""  # the id of the last event
        self._connection = AsyncExitStack()
        self._events: AsyncIterator[Told] | None = None
        self._barren = 0  # connections in a row that ended without an event

    async def __aenter__(self) -> Self:
        await self._connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._connection.aclose()

    async def next(self) -> Told:
        """Return the next event, from this connection or another.

        Raises ServerUnreachableError, and the server's refusal.
        """
        while True:
            if self._events is None:
                await self._connect()
            assert self._events is not None
            try:
                told = await anext(self._events)
            except (StopAsyncIteration, httpx.TransportError):
                self._events = None
                await self._connection.aclose()
                if self._barren:
                    await asyncio.sleep(_AGAIN.wait_s(self._barren) or 0.0)
                self._barren += 1
            else:
                self._barren = 0
                self._place = told.id or self._place
                return told

    async def _connect(self) -> None:
        """Connect, and read the place at which the stream begins."""
        until, failed = monotonic() + self._patience_s, 0
        while True:
            try:
                self._events = await self._begun()
            except (httpx.TransportError, _NotReadyError) as error:
                await self._connection.aclose()
                failed += 1
                wait_s = _AGAIN.wait_s(failed) or 0.0
                if monotonic() + wait_s > until:
                    raise ServerUnreachableError(self.url, str(error) or type(error).__name__) from error
                await asyncio.sleep(wait_s)
            else:
                return

    async def _begun(self) -> AsyncIterator[Told]:
        headers = {"accept": "text/event-stream", **({"last-event-id": self._place} if self._place else {})}
        timeout = httpx.Timeout(_SILENCE_S, connect=10.0)
        asked = self._http.stream("GET", self._path, headers=headers, timeout=timeout)
        got = await self._connection.enter_async_context(asked)
        if got.status_code != httpx.codes.OK:
            text = await got.aread()
            if is_not_ready(got.status_code, text):
                raise _NotReadyError("it is not ready")
            raise refusal(self.url, got.status_code, text, self._verb)
        events = told_events(got.aiter_raw())
        first = await anext(events, None)  # the place where the stream begins, so that nothing is missed from here on
        if first is None:
            raise _NotReadyError("it ended the stream at once")
        self._place = self._place or first.id
        return events


class _NotReadyError(Exception):
    """The server is starting or stopping."""


class Changes:
    """An async iterator over committed turns, which does not end. Returned by `HttpClient.changes`.

    Raises ChangesMissedError, after which it may go on, ServerUnreachableError, and the server's refusal.
    """

    def __init__(self, events: Events) -> None:
        self._events = events

    def __aiter__(self) -> AsyncIterator[HistoryEntry]:
        return self

    async def __anext__(self) -> HistoryEntry:
        while True:
            told = await self._events.next()
            if told.kind == TURN:
                return self._entry(told)
            if told.kind == MISSED:
                raise ChangesMissedError(from_json(told.data)["lost"])

    def _entry(self, told: Told) -> HistoryEntry:
        try:
            return TURN_ANSWER.read(told.data)
        except ValidationError as error:
            raise ServerAnswerError(self._events.url, httpx.codes.OK, str(error)) from error


class Published:
    """An async iterator over what an invoke publishes, until it ends. Returned by `HttpClient.stream`.

    Items are JSON values. Raises ItemsMissedError, after which it may go on, ServerUnreachableError, and the server's
    refusal.
    """

    def __init__(self, events: Events) -> None:
        self._events = events
        self._has_ended = False

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        while not self._has_ended:
            told = await self._events.next()
            if told.kind == ITEM:
                return self._item(told)
            if told.kind == MISSED:
                raise ItemsMissedError(from_json(told.data)["lost"])
            self._has_ended = told.kind == END
        raise StopAsyncIteration

    def _item(self, told: Told) -> Any:
        try:
            return from_json(told.data)
        except ValueError as error:
            raise ServerAnswerError(self._events.url, httpx.codes.OK, str(error)) from error


async def told_events(parts: AsyncIterator[bytes]) -> AsyncIterator[Told]:
    """Yield the events in a stream of parts of any size. Heartbeats are skipped."""
    rest = b""
    async for part in parts:
        *blocks, rest = (rest + part).split(b"\n\n")
        for block in blocks:
            told = _parsed(block)
            if told != Told():
                yield told


def _parsed(block: bytes) -> Told:
    fields = dict(line.split(b": ", 1) for line in block.split(b"\n") if b": " in line)
    return Told(fields.get(b"event", b"").decode(), fields.get(b"data", b""), fields.get(b"id", b"").decode())
