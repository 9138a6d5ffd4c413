"""The messages of a connection to an MCP server. Answers are bounded, and requests are marked as sent."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final

import httpx2
from mcp.shared.message import SessionMessage
from mcp.types import PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCRequest, JSONRPCResponse
from pydantic import ValidationError

from gatechart.mcp.bounds import Meter, problem_of
from gatechart.mcp.lines import CUT_OFF
from gatechart.mcp.listed import readable_tools

_UNSENT: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_ID: Final = re.compile(r'"id"\s*:\s*("[^"\\]{1,100}"|\d{1,18})')
_NOT_VALID: Final = "its answer cannot be read: it is not a valid JSON-RPC message"
_HEAD: Final = 2_000  # characters at either end of an unreadable answer that are searched for its id


@dataclass
class Sending:
    """Whether a request was sent. From then on, the server may have acted."""

    is_out: bool = False


SENDING: Final[ContextVar[Sending | None]] = ContextVar("SENDING", default=None)
"""The state of the current task's request."""


@asynccontextmanager
async def bounded(transport: AbstractAsyncContextManager[Any]) -> AsyncIterator[tuple[Any, Any]]:
    """Open a transport with bounded messages, which marks requests in SENDING when it sends them."""
    async with transport as (incoming, outgoing):
        waiting: dict[str, int | str] = {}
        yield _Incoming(incoming, waiting), _Outgoing(outgoing, waiting)


class _Stream:
    """A stream that delegates to an inner one."""

    def __init__(self, inner: Any, waiting: dict[str, int | str]) -> None:
        self._inner = inner
        self._waiting = waiting  # ids of requests without an answer, by their JSON text

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def __aenter__(self) -> Any:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        is_handled: bool | None = await self._inner.__aexit__(kind, error, trace)
        return is_handled


class _Outgoing(_Stream):
    """The messages to the server."""

    async def send(self, item: SessionMessage) -> None:
        message, sending = item.message, SENDING.get()
        if isinstance(message, JSONRPCRequest):
            self._waiting[_key(message.id)] = message.id
            if sending is not None:
                sending.is_out = True
        await self._inner.send(item)


class _Incoming(_Stream):
    """The messages of the server."""

    _version = ""  # protocol version that the server named; "" before

    def __aiter__(self) -> _Incoming:
        return self

    async def __anext__(self) -> Any:
        return self._checked(await self._inner.__anext__())

    async def receive(self) -> Any:
        return self._checked(await self._inner.receive())

    def _checked(self, item: Any) -> Any:
        """Return a message. An error replaces an answer that exceeds the bounds or cannot be read."""
        if isinstance(item, Exception):
            return self._answer_for(item)
        message = item.message
        if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
            self._waiting.pop(_key(message.id), None)
        if isinstance(message, JSONRPCResponse):
            if problem := problem_of(message.result):
                return _failed(message.id, problem)
            self._read_listing(message.result)
        return item

    def _read_listing(self, result: dict[str, Any]) -> None:
        """Store the protocol version, and replace tools with an invalid definition."""
        version, tools = result.get("protocolVersion"), result.get("tools")
        if isinstance(version, str):
            self._version = version
        if isinstance(tools, list):
            result["tools"] = readable_tools(tools, self._version)

    def _answer_for(self, error: Exception) -> Any:
        """Return an error for the request whose answer cannot be read; otherwise the exception unchanged.

        The exception may come from a stray line of output that is not an answer.
        """
        text = _unreadable(error)
        waiting = [request_id for request_id in _ids_in(text) if request_id in self._waiting]
        if not waiting and text.lstrip().startswith("{") and len(self._waiting) == 1:
            waiting = list(self._waiting)
        if not waiting:
            return error
        problem = text.rpartition(CUT_OFF)[2] if CUT_OFF in text[-_HEAD:] else _NOT_VALID
        return _failed(self._waiting.pop(waiting[0]), problem)


def _key(request_id: int | str) -> str:
    return f'"{request_id}"' if isinstance(request_id, str) else str(request_id)


def _unreadable(error: Exception) -> str:
    """Return the JSON text of an unreadable message; "" if it is unknown."""
    if not isinstance(error, ValidationError):
        return ""
    given = error.errors(include_url=False, include_context=False)[0]["input"]
    if isinstance(given, dict):
        return json.dumps({"id": given.get("id")}, default=str)
    return given if isinstance(given, str) else ""


def _ids_in(text: str) -> list[str]:
    """Return the possible ids of an unreadable message, as JSON texts."""
    return _ID.findall(f"{text[:_HEAD]} {text[-_HEAD:]}") if text.lstrip().startswith("{") else []


def _failed(request_id: int | str, problem: str) -> SessionMessage:
    return SessionMessage(
        JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=PARSE_ERROR, message=problem))
    )


class BoundedHttpClient(httpx2.AsyncClient):
    """A client that bounds the answers of a server, and marks a request that was never sent."""

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request. Raises errors of httpx2, also for an answer that is compressed or exceeds the bounds."""
        request.headers["accept-encoding"] = "identity"
        try:
            response = await super().send(request, **options)
        except _UNSENT:
            if (sending := SENDING.get()) is not None:
                sending.is_out = False
            raise
        encoding = response.headers.get("content-encoding", "identity")
        if encoding.strip().lower() != "identity":
            await response.aclose()
            raise httpx2.DecodingError(f"it is compressed as {encoding!r}, although no compression was accepted")
        is_stream = "event-stream" in response.headers.get("content-type", "")
        response.stream = _BoundedBody(response.stream, is_stream=is_stream)
        return response


class _BoundedBody(httpx2.AsyncByteStream):
    def __init__(self, inner: Any, *, is_stream: bool) -> None:
        self._inner = inner
        self._is_stream = is_stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        meter = Meter(by_line=self._is_stream)
        async for chunk in self._inner:
            if problem := meter.problem(chunk):
                raise httpx2.SSEError(problem) if self._is_stream else httpx2.StreamError(problem)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
