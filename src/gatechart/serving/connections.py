"""Connections with limits: the server refuses or aborts peers that are too many, too slow, or send too much."""

from __future__ import annotations

from asyncio import TimerHandle, Transport
from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import IntEnum
from http import HTTPStatus
from typing import Any, Final, cast

from starlette.types import ASGIApp, Receive, Scope
from uvicorn import Config
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from gatechart.api.route import LIVE, READY
from gatechart.serving.answers import RETRY_AFTER, NotServed, document_of
from gatechart.values.tool_policies import Rate

_HEALTH: Final = (LIVE.encode(), READY.encode())
_ABORT: Final = "gatechart.abort"
_BEHIND_S: Final = 5.0  # added to the time of a body: by then the application has refused it with a better message
_LINGER_S: Final = 1.0  # time for a refused peer to read the answer while it is still writing


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """The limits of a server. The defaults suit most servers.

    The number of values in a body is limited in addition to its bytes, because checking values takes the time, and the
    server answers no other request meanwhile.
    """

    connections: int = 500  # open at once, streams included
    header_bytes: int = 2**16  # of the request line and headers
    header_s: float = 10.0  # for the request line and headers to arrive
    body_bytes: int = 2**20
    body_values: int = 25_000  # checking and storing them takes about 0.1 s
    body_s: float = 30.0  # for the body to arrive
    idle_s: float = 75.0  # before a silent connection is closed; longer than clients wait, so that they close first
    answer_bytes: int = 8 * 2**20  # of the entries in one answer, which has at least one entry
    registrations: str = "60/min"  # in the directory, for each registrant
    alarms: str = "60/min"  # for each alarmist

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, str) and not value > 0:
                raise ValueError(f"ServerLimits({field.name}={value!r}) is too low; give a number above 0")
        Rate.of(self.registrations)  # raises ValueError
        Rate.of(self.alarms)


DEFAULTS: Final = ServerLimits()


class ConnectionConfig(Config):
    """uvicorn's configuration, with the limits of connections."""

    def __init__(self, application: ASGIApp, limits: ServerLimits, **options: Any) -> None:
        super().__init__(application, http=Connection, timeout_keep_alive=limits.idle_s, **options)  # type: ignore[arg-type]  # a float does
        self.limits = limits


class _Quiet(IntEnum):
    """Kinds of connections that can be dropped if there are too many. The lowest kind is dropped first."""

    REFUSED = 0  # the peer may still read the answer
    SILENT = 1  # no request has started since it was opened
    IDLE = 2  # between two requests
    HEAD = 3  # headers of a request are arriving


class Connection(HttpToolsProtocol):
    """uvicorn's protocol, with limits on the size and the duration of requests; the application can abort it.

    If there are too many connections, a quiet one is dropped for each new one. If none is quiet, the new one is
    limited: it may only request the health of the server.

    One timer watches the peer: first until a request starts, then until its head is complete, then until its body is.
    Between an answer and the next request, uvicorn's own timer watches.
    """

    config: ConnectionConfig

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Accept a connection, or refuse it if there are too many."""
        self._timer: TimerHandle | None = None
        self._is_refused = False
        self._is_dropped = False
        self._has_begun = False  # whether a request has started since it was opened
        self._is_in_head = False  # whether headers of a request are still arriving
        self._is_extra = False  # beyond the limit: it may only request the health
        self._quiet_since = self.loop.time()
        self._is_read = True  # whether every started request has arrived in full
        self._pending = 0  # bytes that arrived, but the parser has not used yet
        self._unread = 0  # bytes of an answer that the peer had not read at the last check
        super().connection_made(transport)
        self._make_room()
        if not self._is_dropped:
            patience_s = self.config.limits.header_s if self._is_extra else self.config.limits.idle_s
            self._watch(patience_s, self.timeout_keep_alive_handler)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer of a closed connection."""
        self._unwatch()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse the data, unless the peer was refused."""
        if self._is_refused:
            return
        self._pending += len(data)
        super().data_received(data)
        if self._is_refused or self.transport.is_closing():
            return
        if self._pending > self.config.limits.header_bytes:
            self._refuse_size()
        elif self._timer is None and self._is_idle():  # line ends before a request are skipped, and count as idle
            self._watch(self.config.limits.idle_s, self.timeout_keep_alive_handler)

    def on_message_begin(self) -> None:
        """Start the timer for the head of a request."""
        super().on_message_begin()
        self._has_begun = True
        self._is_in_head = True
        self._quiet_since = self.loop.time()
        self.scope["state"][_ABORT] = self.transport.abort
        self._is_read = False
        self._watch(self.config.limits.header_s, self._refuse_slow_head)

    def on_headers_complete(self) -> None:
        """Check the size of the head, and start the timer for the body. ValueError makes the parser refuse it."""
        size = len(self.url) + sum(len(name) + len(text) for name, text in self.headers)
        if size > self.config.limits.header_bytes:
            self._refuse_size()
            raise ValueError("the head is too large")
        if self._is_extra and not self._asks_for_health():
            self._refuse_number()
            raise ValueError("there are too many connections")
        self._pending = 0
        self._is_in_head = False
        super().on_headers_complete()
        self._watch(self.config.limits.body_s + _BEHIND_S, self._cut_slow_body)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        """Start to answer a request. With eager tasks, the whole answer may be written within this call."""
        if self._is_extra:
            cycle.keep_alive = False
        super()._start_asgi_task(cycle, app)

    def on_body(self, body: bytes) -> None:
        """Reset the pending bytes: the parser has used them."""
        self._pending = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Stop the timer: the request has arrived in full."""
        self._is_read = True
        self._pending = 0
        self._unwatch()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Record when the connection became idle."""
        self._quiet_since = self.loop.time()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer an invalid request, unless the peer was refused, and so has an answer."""
        if not self._is_refused:
            super().send_400_response(msg)

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection. While the peer reads an answer, wait until it stops reading."""
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

    @property
    def _quiet(self) -> _Quiet | None:
        """How quiet the connection is; None while a request runs."""
        if self._is_refused:
            return _Quiet.REFUSED
        if not self._has_begun:
            return _Quiet.SILENT
        if self._is_idle():
            return _Quiet.IDLE
        is_answered = self.cycle is None or self.cycle.response_complete
        return _Quiet.HEAD if self._is_in_head and is_answered else None

    def _make_room(self) -> None:
        """Drop the quietest other connection if there are too many. If none is quiet, mark this one as extra."""
        others = {
            other for other in cast("set[Connection]", self.connections) if other is not self and not other._is_dropped
        }
        most = self.config.limits.connections
        if len(others) < most:
            return
        quiet = [(kind, other._quiet_since, other) for other in others if (kind := other._quiet) is not None]
        if quiet:
            dropped = min(quiet, key=lambda candidate: candidate[:2])[2]
            dropped._drop()
            others.remove(dropped)
        self._is_extra = len(others) >= most
        if len(others) >= 2 * most:  # extra connections take resources, too
            self._drop()

    def _drop(self) -> None:
        self._is_dropped = True
        self._unwatch()
        self.transport.abort()

    def _asks_for_health(self) -> bool:
        return self.url.partition(b"?")[0].endswith(_HEALTH)

    def _refuse_number(self) -> None:
        most = self.config.limits.connections
        message = f"the server already has {most:,} connections; close unused connections, or try again in a moment"
        self._refuse(NotServed(503, "TooManyConnections", message, retry_after=RETRY_AFTER["retry-after"]))

    def _refuse_size(self) -> None:
        most = self.config.limits.header_bytes
        self._refuse(
            NotServed(431, "TooLarge", f"the request line and headers have more than {most:,} bytes; send less")
        )

    def _refuse_slow_head(self) -> None:
        seconds = self.config.limits.header_s
        message = f"the headers did not arrive within {seconds:g} s; send them without pausing"
        self._refuse(NotServed(408, "TooSlow", message))

    def _cut_slow_body(self) -> None:
        """Abort a request whose body the application has not read, unless it waits for earlier answers."""
        if self.pipeline:
            self._watch(self.config.limits.body_s, self._cut_slow_body)
        else:
            self.transport.abort()

    def _refuse(self, refused: NotServed) -> None:
        """Answer in place of the application, and close. While an answer is being sent, abort without one."""
        self._is_refused = True
        self._unwatch()
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.abort()
            return
        self.transport.write(_plain_answer(refused))
        self.transport.write_eof()
        # closing while data arrives would reset the connection, and the peer would lose the answer
        self._watch(_LINGER_S, self.transport.close)


def _plain_answer(refused: NotServed) -> bytes:
    """Build a whole HTTP response, without the application."""
    text = document_of(refused).model_dump_json().encode()
    lines = [
        f"HTTP/1.1 {refused.status} {HTTPStatus(refused.status).phrase}",
        *(f"{name}: {value}" for name, value in refused.headers.items()),
        f"content-type: application/json\r\ncontent-length: {len(text)}\r\nconnection: close\r\n\r\n",
    ]
    return "\r\n".join(lines).encode() + text


async def cut_off(scope: Scope, receive: Receive) -> bool:
    """Abort the connection of a request, and drop unread data. Return False if the server cannot.

    Waits until the server has noticed: otherwise it would complain about an incomplete answer.
    """
    abort = scope.get("state", {}).get(_ABORT)
    if abort is None:
        return False
    abort()
    await disconnected(receive)
    return True


async def disconnected(receive: Receive) -> None:
    """Wait until the connection is closed."""
    while (await receive())["type"] != "http.disconnect":
        pass
