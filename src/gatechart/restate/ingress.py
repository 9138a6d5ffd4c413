"""Calls to the engine from outside. Each takes effect once, even if connections fail."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote
from uuid import uuid4

import aiohttp
from pydantic_core import to_json

from gatechart.api.errors import ErrorDocument
from gatechart.errors.event import UnknownAgentError
from gatechart.errors.operation import RuntimeClosedError
from gatechart.errors.outside import EngineRefusedError, EngineUnreachableError
from gatechart.values.names import AgentId

logger = logging.getLogger(__name__)

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
PAUSE_S: Final = 0.1
CONNECTS_S: Final = 5.0  # time for a node to accept a connection before the next node is tried
BUSY: Final = (429, 502, 503, 504)  # statuses of an engine that is starting, or cut off from a node


class Ingress:
    """The engine's addresses for callers. Open it with `async with Ingress.open(urls)`."""

    def __init__(self, urls: tuple[str, ...], http: aiohttp.ClientSession, patience_s: float) -> None:
        self._urls = urls
        self._url_index = 0  # of the URL in use
        self._http = http
        self._patience_s = patience_s
        self._calls = 0
        self._quiet = asyncio.Event()
        self._quiet.set()

    @classmethod
    @asynccontextmanager
    async def open(cls, urls: str | Sequence[str], *, patience_s: float) -> AsyncIterator[Ingress]:
        """Open connections to the engine.

        urls: the URLs of one or more nodes; if one does not answer, the next is tried.
        patience_s: how long to retry an engine that does not answer.
        """
        nodes = (urls,) if isinstance(urls, str) else tuple(urls)
        if not nodes:
            raise ValueError("no address of the engine was given; give the URL of a node, or of several")
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECTS_S)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1000), timeout=timeout) as http:
            yield cls(tuple(url.rstrip("/") for url in nodes), http, patience_s)

    @property
    def url(self) -> str:
        """Address in use."""
        return self._urls[self._url_index]

    async def ask(
        self, call: str, service: str, handler: str, key: str, argument: Mapping[str, Any] = NOTHING, *, reads: bool
    ) -> Any:
        """Call a handler and return its answer.

        call: the verb, for errors.
        reads: the call may run twice, and is not deduplicated.
        Raises the error in the handler's answer, EngineRefusedError, and EngineUnreachableError if no node
        answers.
        """
        answer = await self._posted(call, f"{service}/{_quoted(key)}/{handler}", argument, reads=reads)
        document = json.loads(answer) if answer else None
        if isinstance(document, dict) and "error" in document:
            raise ErrorDocument.model_validate(document["error"]).value()
        return document

    async def leave(self, within_s: float) -> None:
        """Wait until no call is running, for a limited time. Calls that are cut off then raise RuntimeClosedError."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._quiet.wait()

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Count a call as running inside the block, even while it waits in line."""
        self._calls += 1
        self._quiet.clear()
        try:
            yield
        finally:
            self._calls -= 1
            if not self._calls:
                self._quiet.set()

    async def post(self, call: str, service: str, handler: str, key: str, argument: Mapping[str, Any]) -> None:
        """Send a call, and return once the engine has accepted it. Raises as `ask` does."""
        with self.calling():
            await self._posted(call, f"{service}/{_quoted(key)}/{handler}/send", argument, reads=False)

    async def _posted(self, call: str, path: str, argument: Mapping[str, Any], *, reads: bool) -> bytes:
        body = to_json(dict(argument), inf_nan_mode="constants")
        headers = {"content-type": "application/json"}
        if not reads:  # so that the call can be repeated safely if its answer was lost
            headers["idempotency-key"] = uuid4().hex
        deadline = asyncio.get_running_loop().time() + self._patience_s
        while not self._http.closed:
            url = self.url
            try:
                async with self._http.post(f"{url}/{path}", data=body, headers=headers) as response:
                    answer = await response.read()
                    if response.status < 400:
                        return answer
                    problem = f"{response.status} {answer.decode(errors='replace')}"
                    if response.status not in BUSY:
                        raise EngineRefusedError(url, call, problem)
            except (aiohttp.ClientError, OSError) as error:
                problem = f"{type(error).__name__}: {error}"
            if asyncio.get_running_loop().time() > deadline and not self._http.closed:
                raise EngineUnreachableError(url, problem)
            logger.debug("the engine does not answer; retrying", extra={"url": url, "problem": problem})
            if url == self.url:  # otherwise another call has switched already
                self._url_index = (self._url_index + 1) % len(self._urls)
            await asyncio.sleep(PAUSE_S)
        raise RuntimeClosedError(call)


def _quoted(agent_id: AgentId) -> str:
    """Quote the key for use in a URL. Raises UnknownAgentError if the engine cannot store such a key."""
    try:
        key = quote(agent_id, safe="")
    except UnicodeEncodeError:
        key = ""
    if not key:
        raise UnknownAgentError(agent_id)
    return key
