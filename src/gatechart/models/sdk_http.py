"""The HTTP client that is handed to a provider's SDK.

It follows no redirect, ignores the environment, sends the headers that it was given and no others, and counts the bytes
of an answer before anything parses them. Import it when a model is asked: it needs httpx2, which the SDKs bring.
"""

from __future__ import annotations

import zlib
from codecs import getincrementaldecoder
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from ssl import SSLContext
from typing import Any, Final

import httpx2

from gatechart.models.failures import invalid_answer, too_large

_KEPT: Final = ("accept", "content-length", "content-type", "user-agent")  # of the headers that an SDK sets
_ENCODINGS: Final = {"gzip": zlib.MAX_WBITS | 16, "x-gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS | 32}
_HOP_BY_HOP: Final = frozenset({"connection", "content-encoding", "content-length", "transfer-encoding"})


@dataclass(frozen=True, slots=True)
class Most:
    """How many bytes an answer may have, and a line of it: the SDKs copy a line with each piece of it."""

    bytes: int
    line: int


@cache
def _ssl_context() -> SSLContext:
    """Return the context of all connections: to load the certificates takes tens of milliseconds."""
    return httpx2.create_ssl_context(trust_env=False)


def timeout_of(timeout_s: float) -> httpx2.Timeout:
    """Return the time limits of a request. timeout_s: the longest silence."""
    return httpx2.Timeout(timeout_s, connect=min(timeout_s, 10.0))


@asynccontextmanager
async def open_http(
    headers: Mapping[str, str], most: Most, limits: httpx2.Timeout, lent: Any
) -> AsyncIterator[httpx2.AsyncClient]:
    """Open a client for one request. lent: a client of httpx or httpx2 that makes the connection and stays open."""
    inner = httpx2.AsyncHTTPTransport(verify=_ssl_context(), trust_env=False) if lent is None else _Lent(lent)
    transport = _Bounded(inner, headers, most)
    async with httpx2.AsyncClient(
        transport=transport, timeout=limits, follow_redirects=False, trust_env=False
    ) as client:
        yield client


class _Bounded(httpx2.AsyncBaseTransport):
    """A transport that sets the headers and bounds the bytes of the answer."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, headers: Mapping[str, str], most: Most) -> None:
        self._inner = inner
        self._headers = headers
        self._most = most

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        kept = {name: request.headers[name] for name in _KEPT if name in request.headers}
        host = request.url.netloc.decode("ascii")
        request.headers = httpx2.Headers({"host": host, **kept, "accept-encoding": "identity", **self._headers})
        response = await self._inner.handle_async_request(request)
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        headers = [(name, value) for name, value in response.headers.multi_items() if name not in _HOP_BY_HOP]
        is_json = "json" in response.headers.get("content-type", "")
        stream = _BoundedStream(response.stream, encoding, self._most, b"" if is_json else b"\n\n")
        return httpx2.Response(
            response.status_code, headers=headers, stream=stream, extensions=response.extensions, request=request
        )

    async def aclose(self) -> None:
        await self._inner.aclose()


class _BoundedStream(httpx2.AsyncByteStream):
    """The bytes of an answer, decompressed, up to a bound, and valid UTF-8 without a byte order mark.

    The SDKs raise for bytes that are not UTF-8, where the standard of server-sent events replaces them. end: what
    follows the last byte, so that a last event counts that no blank line ends.
    """

    def __init__(self, inner: Any, encoding: str, most: Most, end: bytes) -> None:
        self._inner = inner
        self._encoding = encoding
        self._most = most
        self._end = end

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left, line = self._most.bytes, 0
        decoder = self._decoder()
        text = getincrementaldecoder("utf-8-sig")("replace")
        async for chunk in self._inner:
            data = chunk if decoder is None else _decompressed(decoder, chunk, left + 1)
            left -= len(data)
            end = max(data.rfind(b"\n"), data.rfind(b"\r"))
            line = line + len(data) if end < 0 else len(data) - end
            if left < 0 or line > self._most.line:
                raise too_large(f"it has more than {self._most.bytes if left < 0 else self._most.line:,} bytes")
            yield text.decode(data).encode()
        yield text.decode(b"", final=True).encode() + self._end

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _decoder(self) -> Any:
        if self._encoding in {"", "identity"}:
            return None
        if self._encoding not in _ENCODINGS:
            raise invalid_answer(f"it is compressed as {self._encoding!r}, although no compression was accepted")
        return zlib.decompressobj(_ENCODINGS[self._encoding])


def _decompressed(decoder: Any, chunk: bytes, most: int) -> bytes:
    try:
        data: bytes = decoder.decompress(chunk, most)
    except zlib.error as error:
        raise invalid_answer(f"it cannot be decompressed: {error}") from error
    return data


class _Lent(httpx2.AsyncBaseTransport):
    """A client of the application, of httpx or httpx2, as transport. It stays open."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        content = await request.aread()
        headers = list(request.headers.multi_items())
        timeout = self._client.timeout
        asked = self._client.build_request(
            request.method, str(request.url), content=content, headers=headers, timeout=timeout
        )
        answer = await self._client.send(asked, stream=True, follow_redirects=False)
        headers = list(answer.headers.multi_items())
        if answer.is_stream_consumed:  # made with its content, already decompressed, as in tests
            headers = [each for each in headers if each[0].lower() not in _HOP_BY_HOP]
        return httpx2.Response(answer.status_code, headers=headers, stream=_LentStream(answer))


class _LentStream(httpx2.AsyncByteStream):
    """The raw bytes of an answer that a lent client gave."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._answer.is_stream_consumed:
            yield self._answer.content
            return
        async for chunk in self._answer.aiter_raw():
            yield chunk

    async def aclose(self) -> None:
        await self._answer.aclose()
