"""A provider of models, asked through its SDK: one request, answered at once or as server-sent events.

The SDK makes the request, reads the events and raises errors. The answer is read from its JSON, not from the SDK's
objects: they fill gaps in, and cost more than the rest of a large answer.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlsplit

from pydantic_core import from_json

from gatechart.errors.extras import ExtraMissingError, needing
from gatechart.models.bounds import EVENTS, AnswerBounds
from gatechart.models.failures import error_in, error_in_answer, invalid_answer, raising_failures, too_large

if TYPE_CHECKING:
    import httpx
    import httpx2

    Http = httpx.AsyncClient | httpx2.AsyncClient
    """A client of the application, of httpx or httpx2."""

_PER_SLICE: Final = 32
"""How many events of a stream are read before others have their turn."""


class Collector(Protocol):
    """Puts the events of a stream together."""

    def add(self, event: Any) -> None:
        """Add the JSON value of an event. Raises ModelFailedError for an error, and for an answer that is too large."""
        ...

    def answer(self) -> Any:
        """Return the answer as it would come at once. Raises ModelFailedError if its end is missing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Sdk:
    """The SDK of a provider: a package, which is the extra's name, too."""

    package: str
    client: str  # its asynchronous client
    path: str  # of the requests, after the URL

    def check(self, what: str) -> None:
        """Raise ExtraMissingError if the package is not installed. It is not imported."""
        if find_spec(self.package) is None:
            raise ExtraMissingError(what, self.package, self.package)


OPENAI_SDK: Final = Sdk(package="openai", client="AsyncOpenAI", path="/chat/completions")
ANTHROPIC_SDK: Final = Sdk(package="anthropic", client="AsyncAnthropic", path="/messages")


class Provider:
    """A provider's URL with the headers of each request. `http` makes the connections, if given, and stays open."""

    def __init__(
        self,
        sdk: Sdk,
        url: str,
        headers: Mapping[str, str],
        timeout_s: float,
        http: Http | None,
        bounds: AnswerBounds,
    ) -> None:
        """Keep the parts that all requests share. timeout_s: the longest silence. Raises ExtraMissingError."""
        sdk.check("a model of this provider")
        self._sdk = sdk
        self._url = url.rstrip("/")
        self._headers = dict(headers)
        self._timeout_s = timeout_s
        self._http = http
        self._bounds = bounds

    @property
    def host(self) -> str:
        """Host of the URL, which tells providers of one dialect apart; "" for a local one.

        Addresses and names without a dot belong to gateways and local servers, which may pass on to any provider.
        """
        host = urlsplit(self._url).hostname or ""
        return host if "." in host and not host.replace(".", "").isdecimal() else ""

    async def ask(self, body: Mapping[str, Any]) -> Any:
        """Return the JSON value of the answer. Raises ModelFailedError."""
        with raising_failures():
            async with self._client(self._bounds.bytes) as client:
                response = await client.post(self._sdk.path, body=body, cast_to=_httpx2().Response)
                return _checked(self._read(response.content))

    async def stream(self, body: Mapping[str, Any], collector: Collector) -> Any:
        """Return the JSON value of the answer, after the collector has got its events.

        A server that does not stream answers at once; then the collector gets none. Raises ModelFailedError.
        """
        with raising_failures():
            async with self._client(self._bounds.bytes * EVENTS) as client:
                kind = import_module(self._sdk.package).AsyncStream
                stream = await client.post(
                    self._sdk.path, body={**body, "stream": True}, cast_to=object, stream=True, stream_cls=kind[object]
                )
                async with stream:
                    return await self._collected(stream, collector)

    async def _collected(self, stream: Any, collector: Collector) -> Any:
        if _is_json(stream.response.headers):
            return _checked(self._read(await stream.response.aread()))
        number = 0
        async for event in _events(stream):
            data = event.data.strip()
            if not data:
                continue  # an event without data, such as a ping, says nothing
            if data == "[DONE]":
                break
            self._add(collector, event.event, self._read(data.encode()))
            number += 1
            if number % _PER_SLICE == 0:
                await asyncio.sleep(0)
        return collector.answer()

    def _read(self, text: bytes) -> Any:
        """Return the JSON value of a text, which is checked first. Raises ModelFailedError."""
        self._bounds.check_bytes(len(text))
        self._bounds.check_json(text)
        return _read(text)

    @staticmethod
    def _add(collector: Collector, name: str | None, data: Any) -> None:
        if name == "error":
            raise error_in_answer(error_in(data))
        if data is not None:
            collector.add(_checked(data))

    @asynccontextmanager
    async def _client(self, most_bytes: int) -> AsyncIterator[Any]:
        sdk, http = await asyncio.to_thread(_imported, self._sdk)  # which takes a second the first time
        timeout = http.timeout_of(self._timeout_s)
        async with http.open_http(
            self._headers, http.Most(most_bytes, self._bounds.bytes), timeout, self._http
        ) as client:
            kind = getattr(sdk, self._sdk.client)
            # The key is among the headers. The SDK insists on one, and would look for it in the environment.
            yield kind(api_key="in-the-headers", base_url=self._url, http_client=client, max_retries=0, timeout=timeout)


def checked_settings(settings: Mapping[str, Any] | None, reserved: tuple[str, ...]) -> dict[str, Any]:
    """Return the settings of a request. Raises ValueError for fields that the adapter sets."""
    for name in reserved:
        if settings and name in settings:
            raise ValueError(f"settings={{{name!r}: ...}} is set by the loop; leave it out")
    return dict(settings or {})


def _imported(sdk: Sdk) -> tuple[Any, Any]:
    with needing(sdk.package, "a model of this provider"):
        return import_module(sdk.package), import_module("gatechart.models.sdk_http")


def _httpx2() -> Any:
    return import_module("httpx2")


def _events(stream: Any) -> AsyncIterator[Any]:
    """Return the events of a stream before the SDK judges them: it drops those without a name, and raises at pings."""
    raw = getattr(stream, "raw_events", None)
    events: AsyncIterator[Any] = stream._iter_events() if raw is None else raw(stream.response)
    return events


def _is_json(headers: Mapping[str, str]) -> bool:
    return headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


def _read(text: bytes) -> Any:
    try:
        return from_json(text)
    except ValueError:
        pass
    try:
        return json.loads(text)  # which reads halves of characters, too; they are put together later
    except RecursionError as error:
        raise too_large("it is nested too deep") from error
    except ValueError as error:
        raise invalid_answer(f"it is not JSON: {error}") from error


def _checked(answer: Any) -> Any:
    """Return an answer, or an event, that holds no error. Raises ModelFailedError for one that does."""
    if isinstance(answer, list):
        answer = {"error": error_in(answer)} if len(answer) == 1 else answer
    if not isinstance(answer, dict):
        raise invalid_answer(f"it is not a JSON object, but {type(answer).__name__}")
    if answer.get("error") or answer.get("type") == "error":
        raise error_in_answer(error_in(answer))
    return answer
