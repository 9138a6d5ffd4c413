"""Connections with an end: whoever sends slowly, too much, or nothing at all is told so, or cut off."""

from __future__ import annotations

from asyncio import TimerHandle, Transport
from collections.abc import Callable
from typing import Any, Final

from starlette.types import ASGIApp, Receive, Scope
from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from gatechart.api import ErrorDocument
from gatechart.serving.limits import ServerLimits
from gatechart.serving.problems import Refused

_ABORT: Final = "gatechart.abort"
_BEHIND_S: Final = 5.0  # behind the time of a body, in which the application refuses it with a better message
_LINGER_S: Final = 1.0  # that a refused peer has to read the answer while it is still writing
_STATUS_LINES: Final = {
    408: b"HTTP/1.1 408 Request Timeout",
    431: b"HTTP/1.1 431 Request Header Fields Too Large",
}


class ConnectionConfig(Config):
    """uvicorn's, with the limits of connections."""

    def __init__(self, application: ASGIApp, limits: ServerLimits, **options: Any) -> None:
        super().__init__(application, http=Connection, timeout_keep_alive=limits.idle_s, **options)  # type: ignore[arg-type]  # a float does
        self.limits = limits


class Connection(HttpToolsProtocol):
    """uvicorn's, which bounds what is sent and how long it takes, and shows the application how to cut it off.

    One timer watches the peer: first until a request begins, then until its head is complete, then until its body is.
    Between an answer and the next request uvicorn's own does.
    """

    config: ConnectionConfig

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """See asyncio.Protocol."""
        super().connection_made(transport)
        self._timer: TimerHandle | None = None
        self._is_refused = False
        self._is_read = True  # whether no request has begun whose end has not come
        self._pending = 0  # bytes that came, of which nothing came out yet
        self._unread = 0  # bytes of an answer that the peer had not taken at the last look
        self._watch(self.config.limits.idle_s, self.timeout_keep_alive_handler)

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self._unwatch()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        if self._is_refused:
            return
        self._pending += len(data)
        super().data_received(data)
        if self._is_refused or self.transport.is_closing():
            return
        if self._pending > self.config.limits.header_bytes:
            self._refuse_size()
        elif self._timer is None and self._is_idle():  # line ends before a request are passed over, and no sign of life
            self._watch(self.config.limits.idle_s, self.timeout_keep_alive_handler)

    def on_message_begin(self) -> None:
        """See the parser's callbacks."""
        super().on_message_begin()
        self.scope["state"][_ABORT] = self.transport.abort
        self._is_read = False
        self._watch(self.config.limits.header_s, self._refuse_slow_head)

    def on_headers_complete(self) -> None:
        """See the parser's callbacks. Raises ValueError, which the parser takes for a request that is wrong."""
        size = len(self.url) + sum(len(name) + len(text) for name, text in self.headers)
        if size > self.config.limits.header_bytes:
            self._refuse_size()
            raise ValueError("the head is too large")
        self._pending = 0
        super().on_headers_complete()
        self._watch(self.config.limits.body_s + _BEHIND_S, self._cut_slow_body)

    def on_body(self, body: bytes) -> None:
        """See the parser's callbacks."""
        self._pending = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """See the parser's callbacks."""
        self._is_read = True
        self._pending = 0
        self._unwatch()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """See uvicorn. What was refused already has its answer."""
        if not self._is_refused:
            super().send_400_response(msg)

    def timeout_keep_alive_handler(self) -> None:
        """Ends an idle connection; where an answer is still being taken, only once the peer stops taking it."""
        unread = self.transport.get_write_buffer_size()
        if not unread:
            super().timeout_keep_alive_handler()
        elif unread == self._unread:
            self.transport.abort()
        else:
            self._unread = unread
            self._watch(self.config.limits.idle_s, self.timeout_keep_alive_handler)

    def _is_idle(self) -> bool:
        is_answered = self.cycle is None or self.cycle.response_complete
        return self._is_read and is_answered and not self.pipeline

    def _watch(self, seconds: float, late: Callable[[], None]) -> None:
        self._unwatch()
        self._timer = self.loop.call_later(seconds, late)

    def _unwatch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse_size(self) -> None:
        most = self.config.limits.header_bytes
        self._refuse(Refused(431, "TooLarge", f"the request line and headers have more than {most:,} bytes; send less"))

    def _refuse_slow_head(self) -> None:
        seconds = self.config.limits.header_s
        self._refuse(Refused(408, "TooSlow", f"the headers did not come within {seconds:g} s; send them at once"))

    def _cut_slow_body(self) -> None:
        """Ends a request that the application has not read; one that waits for the answers before it goes on."""
        if self.pipeline:
            self._watch(self.config.limits.body_s, self._cut_slow_body)
        else:
            self.transport.abort()

    def _refuse(self, refused: Refused) -> None:
        """Answers in place of the application, and closes. Behind an answer under way nothing can be said."""
        self._is_refused = True
        self._unwatch()
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.abort()
            return
        document = ErrorDocument(error=refused.error, message=refused.message, facts={}, blame=refused.blame)
        text = document.model_dump_json().encode()
        head = b"%b\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
        self.transport.write(head % (_STATUS_LINES[refused.status], len(text)) + text)
        self.transport.write_eof()
        # a close while more comes would reset the connection, and the peer would lose the answer
        self._watch(_LINGER_S, self.transport.close)


async def cut_off(scope: Scope, receive: Receive) -> bool:
    """Ends the connection of a request, with what was written and not read; False where it cannot be done.

    It returns when the server knows, which else would miss the end of an answer.
    """
    abort = scope.get("state", {}).get(_ABORT)
    if abort is None:
        return False
    abort()
    await disconnected(receive)
    return True


async def disconnected(receive: Receive) -> None:
    """Returns when there is no connection any more."""
    while (await receive())["type"] != "http.disconnect":
        pass
