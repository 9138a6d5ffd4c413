"""Connections with limits: a peer that is one too many, or sends too slowly or too much, is refused or cut off."""

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
_BEHIND_S: Final = 5.0  # after the time of a body; by then the application has refused it with a better message
_LINGER_S: Final = 1.0  # how long a refused peer has to read the answer while it is still writing


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """The limits of a server, each with a default that suits most.

    A body is limited in values as well as in bytes, because checking values is what takes time, and nothing else is
    answered meanwhile.
    """

    connections: int = 500  # open at once, streams included
    header_bytes: int = 2**16  # of the request line and the headers
    header_s: float = 10.0  # for them to arrive
    body_bytes: int = 2**20
    body_values: int = 25_000  # checking and storing them takes about 0.1 s
    body_s: float = 30.0  # for the body to arrive
    idle_s: float = 75.0  # that a silent connection is kept; longer than clients keep theirs, so that they close first
    answer_bytes: int = 8 * 2**20  # of the entries in one answer, which has at least one
    registrations: str = "60/min"  # in the directory, by each of those who may do nothing else
    alarms: str = "60/min"  # by each of those who may do nothing else

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, str) and not value > 0:
                raise ValueError(f"ServerLimits({field.name}={value!r}) leaves no room; give a number above 0")
        Rate.of(self.registrations)  # raises ValueError
        Rate.of(self.alarms)


DEFAULTS: Final = ServerLimits()


class ConnectionConfig(Config):
    """uvicorn's configuration, with the limits of connections."""

    def __init__(self, application: ASGIApp, limits: ServerLimits, **options: Any) -> None:
        super().__init__(application, http=Connection, timeout_keep_alive=limits.idle_s, **options)  # type: ignore[arg-type]  # a float does
        self.limits = limits


class _Quiet(IntEnum):
    """Connections that may be dropped if there are too many. The lowest kind is dropped first."""

    REFUSED = 0  # the peer may still read the answer
    SILENT = 1  # no request has begun since it was opened
    IDLE = 2  # between two requests
    HEAD = 3  # the headers of a request have begun to arrive


class Connection(HttpToolsProtocol):
    """uvicorn's protocol, with limits on what a peer sends and how long it takes; the application can cut it off.

    If there are too many connections, a quiet one makes room for each new one. If none is quiet, a new one has an
    allowance: it may ask for the health of the server, and for nothing else.

    One timer watches the peer: first until a request begins, then until its head is complete, then until its body is.
    Between an answer and the next request uvicorn's own timer does.
    """

    config: ConnectionConfig

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Accept a connection, or refuse it if there are too many."""
        self._timer: TimerHandle | None = None
        self._is_refused = False
        self._is_dropped = False
        self._has_begun = False  # whether a request has begun since it was opened
        self._is_in_head = False  # whether a request has begun whose headers have not all arrived
        self._is_extra = False  # one too many: it may only ask for the health
        self._quiet_since = self.loop.time()
        self._is_read = True  # whether every request that began has arrived in full
        self._pending = 0  # bytes that arrived and that the parser has made nothing of yet
        self._unread = 0  # bytes of an answer that the peer had not read at the last look
        super().connection_made(transport)
        self._make_room()
        if not self._is_dropped:
            patience_s = self.config.limits.header_s if self._is_extra else self.config.limits.idle_s
            self._watch(patience_s, self.timeout_keep_alive_handler)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer of a connection that is gone."""
        self._unwatch()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what arrived, unless the peer was refused."""
        if self._is_refused:
            return
        self._pending += len(data)
        super().data_received(data)
        if self._is_refused or self.transport.is_closing():
            return
        if self._pending > self.config.limits.header_bytes:
            self._refuse_size()
        elif self._timer is None and self._is_idle():  # line ends before a request are skipped, and count as silence
            self._watch(self.config.limits.idle_s, self.timeout_keep_alive_handler)

    def on_message_begin(self) -> None:
        """Give the head of a request its time."""
        super().on_message_begin()
        self._has_begun = True
        self._is_in_head = True
        self._quiet_since = self.loop.time()
        self.scope["state"][_ABORT] = self.transport.abort
        self._is_read = False
        self._watch(self.config.limits.header_s, self._refuse_slow_head)

    def on_headers_complete(self) -> None:
        """Check the size of a head, and give the body its time. ValueError tells the parser that it is invalid."""
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
        """Start to answer a request. If tasks are eager, the whole answer may be written within this call."""
        if self._is_extra:
            cycle.keep_alive = False
        super()._start_asgi_task(cycle, app)

    def on_body(self, body: bytes) -> None:
        """Note that the parser has taken part of a body."""
        self._pending = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Stop the timer: the request has arrived in full."""
        self._is_read = True
        self._pending = 0
        self._unwatch()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Note when the connection became idle."""
        self._quiet_since = self.loop.time()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer an invalid request, unless the peer was refused and so has its answer."""
        if not self._is_refused:
            super().send_400_response(msg)

    def timeout_keep_alive_handler(self) -> None:
        """End an idle connection; if an answer is still being read, only once the peer stops reading."""
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
        """How quiet the connection is; None while a request is under way."""
        if self._is_refused:
            return _Quiet.REFUSED
        if not self._has_begun:
            return _Quiet.SILENT
        if self._is_idle():
            return _Quiet.IDLE
        is_answered = self.cycle is None or self.cycle.response_complete
        return _Quiet.HEAD if self._is_in_head and is_answered else None

    def _make_room(self) -> None:
        """Drop the quietest other connection if there are too many. If none is quiet, this one is an extra one."""
        others = {
            each for each in cast("set[Connection]", self.connections) if each is not self and not each._is_dropped
        }
        most = self.config.limits.connections
        if len(others) < most:
            return
        quiet = [(kind, each._quiet_since, each) for each in others if (kind := each._quiet) is not None]
        if quiet:
            dropped = min(quiet, key=lambda each: each[:2])[2]
            dropped._drop()
            others.remove(dropped)
        self._is_extra = len(others) >= most
        if len(others) >= 2 * most:  # an extra one takes room, too
            self._drop()

    def _drop(self) -> None:
        self._is_dropped = True
        self._unwatch()
        self.transport.abort()

    def _asks_for_health(self) -> bool:
        return self.url.partition(b"?")[0].endswith(_HEALTH)

    def _refuse_number(self) -> None:
        most = self.config.limits.connections
        message = f"the server has {most:,} connections already; close those you do not need, or try again in a moment"
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
        """End a request that the application has not read, unless it waits for earlier answers on its connection."""
        if self.pipeline:
            self._watch(self.config.limits.body_s, self._cut_slow_body)
        else:
            self.transport.abort()

    def _refuse(self, refused: NotServed) -> None:
        """Answer in place of the application, and close. After an answer under route nothing can be said."""
        self._is_refused = True
        self._unwatch()
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.abort()
            return
        self.transport.write(_plain_answer(refused))
        self.transport.write_eof()
        # closing while more arrives would reset the connection, and the peer would lose the answer
        self._watch(_LINGER_S, self.transport.close)


def _plain_answer(refused: NotServed) -> bytes:
    """Write a whole HTTP response, for when there is no application to do it."""
    text = document_of(refused).model_dump_json().encode()
    lines = [
        f"HTTP/1.1 {refused.status} {HTTPStatus(refused.status).phrase}",
        *(f"{name}: {value}" for name, value in refused.headers.items()),
        f"content-type: application/json\r\ncontent-length: {len(text)}\r\nconnection: close\r\n\r\n",
    ]
    return "\r\n".join(lines).encode() + text


async def cut_off(scope: Scope, receive: Receive) -> bool:
    """Abort the connection of a request, with all that the peer has not read; False if the server cannot.

    Returns once the server has noticed, which would otherwise complain that an answer has no end.
    """
    abort = scope.get("state", {}).get(_ABORT)
    if abort is None:
        return False
    abort()
    await disconnected(receive)
    return True


async def disconnected(receive: Receive) -> None:
    """Return when the connection is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
