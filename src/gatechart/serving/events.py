"""The turns of all agents as server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Final

from pydantic_core import to_json
from starlette.types import Receive, Scope, Send

from gatechart.api.routes import MISSED, TURN
from gatechart.serving.connections import cut_off, disconnected
from gatechart.serving.tape import Missed, Place, Tape

_BATCH: Final = 100  # turns that are written at once, at the most
_BATCH_BYTES: Final = 2**16  # of them, unless one alone is larger: what a reader that does not read makes us keep
_RETRY_MS: Final = 1000  # after which a browser connects again
_HEADERS: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # proxies of that kind would keep the events for a while
]


class EventStream:
    """A response that goes on until the reader leaves, does not read for too long, or the tape ends.

    place: behind which it begins. beat_s: how often a silent stream shows that it is alive.
    stall_s: how long a reader may leave the connection full, before it is cut off.
    """

    def __init__(self, tape: Tape, place: Place, *, beat_s: float = 15.0, stall_s: float = 60.0) -> None:
        self._tape = tape
        self._place = place
        self._beat_s = beat_s
        self._stall_s = stall_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body"})
            return
        telling, gone = asyncio.create_task(self._tell(send)), asyncio.create_task(disconnected(receive))
        try:
            await asyncio.wait((telling, gone), return_when=asyncio.FIRST_COMPLETED)
            if telling.done() and isinstance(telling.exception(), TimeoutError):
                await cut_off(scope, receive)
        finally:
            for task in (telling, gone):
                task.cancel()
            await asyncio.gather(telling, gone, return_exceptions=True)

    async def _tell(self, send: Send) -> None:
        await self._write(send, f"retry: {_RETRY_MS}\nid: {self._place}\n\n".encode())
        while True:
            self._place, missed, found = self._tape.read(self._place, _BATCH, _BATCH_BYTES)
            if missed or found:
                await self._write(send, b"".join(self._events(missed, found)))
            elif self._tape.is_closed:
                break
            elif not await self._tape.news(self._place, self._beat_s):
                await self._write(send, b":\n\n")
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _events(self, missed: Missed | None, found: tuple[bytes, ...]) -> Iterator[bytes]:
        before = self._place.number - len(found)
        if missed is not None:
            told = to_json({"lost": missed.lost}).decode()
            yield f"event: {MISSED}\nid: {Place(self._place.tape, before)}\ndata: {told}\n\n".encode()
        for number, item in enumerate(found, before + 1):
            yield b"event: %b\nid: %b-%d\ndata: %b\n\n" % (TURN.encode(), self._place.tape.encode(), number, item)

    async def _write(self, send: Send, text: bytes) -> None:
        async with asyncio.timeout(self._stall_s):
            await send({"type": "http.response.body", "body": text, "more_body": True})
