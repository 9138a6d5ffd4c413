"""HTTP to a provider of models: one request, answered at once or as server-sent events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from gatechart.errors import ModelFailedError
from gatechart.errors.extras import needing

if TYPE_CHECKING:
    import httpx


class Provider:
    """A provider's URL, with the headers of each request. `http` is used if given, and stays its owner's."""

    def __init__(self, url: str, headers: Mapping[str, str], timeout_s: float, http: httpx.AsyncClient | None) -> None:
        """Keep where to ask. timeout_s: the longest silence."""
        self._url = url
        self._headers = dict(headers)
        self._timeout_s = timeout_s
        self._http = http

    async def ask(self, body: Mapping[str, Any]) -> Any:
        """Return the JSON value of the answer. Raises what httpx raises, and ModelFailedError if it is no JSON."""
        async with self._client() as http:
            response = await http.post(self._url, json=body, headers=self._headers)
            await _check(response)
            return _read(response.content)

    @asynccontextmanager
    async def stream(self, body: Mapping[str, Any]) -> AsyncIterator[AsyncIterator[Any]]:
        """Yield the data of the events of the answer, as JSON values. Raises what `ask` raises."""
        asked = {**body, "stream": True}
        async with (
            self._client() as http,
            http.stream("POST", self._url, json=asked, headers=self._headers) as response,
        ):
            await _check(response)
            yield _events(response)

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[httpx.AsyncClient]:
        if self._http is not None:
            yield self._http
            return
        with needing("models", "a model over HTTP"):
            import httpx  # noqa: PLC0415  only those who call models need it
        timeout = httpx.Timeout(self._timeout_s, connect=min(self._timeout_s, 10.0))
        async with httpx.AsyncClient(timeout=timeout) as http:
            yield http


async def _events(response: httpx.Response) -> AsyncIterator[Any]:
    """Yield the data of each event, which all providers send in one line."""
    async for line in response.aiter_lines():
        data = line.removeprefix("data:").strip()
        if line.startswith("data:") and data != "[DONE]":
            yield _read(data.encode())


async def _check(response: httpx.Response) -> None:
    """Raise httpx.HTTPStatusError if the provider refused, with what it said; the error has the response."""
    if response.is_success:
        return
    import httpx  # noqa: PLC0415  as above

    said = (await response.aread()).decode(errors="replace")[:500]
    problem = f"the provider of the model answered {response.status_code}: {said}"
    raise httpx.HTTPStatusError(problem, request=response.request, response=response)


def _read(text: bytes) -> Any:
    try:
        return from_json(text)
    except ValueError as error:
        raise ModelFailedError(f"its answer is not JSON: {error}") from error
