"""Typed asynchronous client of `gatechart serve`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import count as counting
from random import Random
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import httpx
from pydantic import ValidationError
from pydantic_core import to_json

from gatechart.api.agents import StopCommand
from gatechart.api.arguments import check_writable
from gatechart.api.codec import ListAnswer, ListPart
from gatechart.api.command import Command
from gatechart.api.events import PostCommand, SendCommand
from gatechart.api.handoffs import CancelHandoffCommand
from gatechart.api.home import AgentHome
from gatechart.api.route import CHANGES, MOST, STREAM
from gatechart.clients.errors import AnswerLostError, ClientClosedError, ServerAnswerError, ServerUnreachableError
from gatechart.clients.event_streams import Changes, Events, Published
from gatechart.clients.server import UNAVAILABLE, checked_token, checked_url, is_not_ready, refusal, tellable
from gatechart.errors.event import NoHandoffError, PayloadError, UnknownAgentError
from gatechart.graph.graph import AnyGraph
from gatechart.hosting.registry import Registry
from gatechart.turn.arguments import known_id
from gatechart.values.agents import Snapshot
from gatechart.values.delays import Retry
from gatechart.values.homes import Capabilities
from gatechart.values.names import AgentId

T = TypeVar("T")

DEFAULT_RETRY: Final = Retry(attempts=5, first_s=0.1, factor=3.0, most_s=3.0)

SERVED: Final = Capabilities(home="a server", shows_at_once=False)

_JSON: Final = {"content-type": "application/json"}
_NEVER_SENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_IDLE_S: Final = 30.0  # shorter than the server keeps a silent connection


class HttpClient(AgentHome):
    """The verbs of the runtime that a server hosts. Use it as `async with HttpClient(url, token=...) as client`.

    A call is repeated if that is safe: if no connection could be made or the server was not ready, and, after a lost
    answer, if the call only reads or has an `event_id` (`send`, `post`) or an `idempotency_key` (the other verbs).

    token: the server's token, if it has one. timeout_s: the longest wait for an answer. retry: delays between attempts
    at a call. connections: maximum number; further calls wait for a free one. graphs: needed for the `context` and
    `until` of their agents.

    Raises ServerUnreachableError if the URL cannot belong to a server, and ClientTokenError.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout_s: float = 90.0,
        retry: Retry = DEFAULT_RETRY,
        connections: int = 50,
        graphs: Sequence[AnyGraph] | AnyGraph = (),
    ) -> None:
        base, token = checked_url(url), checked_token(token)
        self._url = tellable(base)
        self._retry = retry
        self._random = Random()
        self._registry = Registry(graphs) if graphs else None
        # The time that httpx spends on its own queue is quadratic in its length.
        self._free = asyncio.Semaphore(connections)
        self._http = httpx.AsyncClient(
            base_url=base,
            headers={b"authorization": f"Bearer {token}".encode()} if token else {},
            timeout=httpx.Timeout(timeout_s, connect=min(timeout_s, 10.0)),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=connections, keepalive_expiry=_IDLE_S),
            trust_env=False,
        )

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.__aexit__(kind, raised, trace)

    @asynccontextmanager
    async def changes(self, *, framework: bool = False, patience_s: float = 60.0) -> AsyncIterator[Changes]:
        """Subscribe to the turns of all agents that are committed from now on, as `Runtime.changes` does.

        After a lost connection the client reconnects, and the stream continues at its position. A ChangesMissedError
        reports turns that are no longer available; the iteration may continue after it.
        framework: also the turns of the agents of gatechart itself, such as schedules.
        patience_s: how long to try to reconnect before ServerUnreachableError is raised.
        """
        self._check_open("changes")
        path = f"{CHANGES}?framework=true" if framework else CHANGES
        async with Events(self._http, self._url, path, "changes", patience_s) as events:
            yield Changes(events)

    @asynccontextmanager
    async def stream(self, agent_id: AgentId, invoke: str, *, patience_s: float = 60.0) -> AsyncIterator[Published]:
        """See AgentHome. Items arrive as JSON values.

        After a lost connection the client reconnects, and the stream continues at its position if the server still has
        the rest. An ItemsMissedError reports items that it no longer has, because the client was too slow or away for
        more than half a minute, or because the server restarted; the iteration may continue after it. An invoke that a
        restarted server runs again publishes from its start.
        patience_s: how long to try to reconnect before ServerUnreachableError is raised.
        """
        self._check_open("stream")
        path = STREAM.path_with({"agent_id": known_id(agent_id), "invoke": invoke})
        async with Events(self._http, self._url, path, "stream", patience_s) as events:
            yield Published(events)

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of a server. A handle shows the state of the agent at its last call."""
        return SERVED

    async def execute(self, command: Command) -> Any:
        """Send a command to the server and return its result. A list is read page by page."""
        check_writable(command)
        answer = command.answer
        if isinstance(answer, ListAnswer):
            return answer.result_of(await self._paged(command, answer))
        return await self._ask(command, answer.read)

    async def _paged(self, command: Any, answer: ListAnswer) -> ListPart:
        """Return the whole list, read in pages."""
        left: int | None = command.limit
        entries: list[Any] = []
        while True:
            most = MOST if left is None else min(left, MOST)
            part = await self._ask(command.model_copy(update={"limit": most}), answer.read_part)
            entries += part.entries
            left = None if left is None else left - len(part.entries)
            if part.next is None or left == 0:
                return ListPart(entries, part.next, incomplete=part.incomplete)
            command = command.model_copy(update={"after": part.next})

    def graph_of(self, snapshot: Snapshot) -> AnyGraph:
        """Return the graph that drives an agent. Raises UnknownGraphError; ElsewhereError without `graphs`."""
        return super().graph_of(snapshot) if self._registry is None else self._registry.graph_for(snapshot)

    async def _ask(self, call: Command, read: Callable[[bytes], T]) -> T:
        """Send a command, retry if that is safe, and read the answer. Raises the server's error."""
        _check_named(call)
        for failed in counting(1):
            wait_s = self._retry.wait_s(failed, self._random.random())
            try:
                response = await self._request(call)
            except _NEVER_SENT as error:
                if wait_s is None:
                    raise ServerUnreachableError(self._url, _text(error)) from error
            except httpx.RequestError as error:
                if wait_s is None or not _is_repeatable(call):
                    raise AnswerLostError(self._url, call.verb, _text(error)) from error
            else:
                if wait_s is None or not _should_retry(call, response):
                    return self._answer(call, response, read)
            await asyncio.sleep(wait_s)
        raise AssertionError("unreachable")

    async def _request(self, call: Command) -> httpx.Response:
        """Send one request and return the response. Raises ClientClosedError, PayloadError, and httpx.RequestError."""
        route = call.route
        path, rest = route.path_of(call), route.rest_of(call)
        async with self._free:
            self._check_open(call.verb)
            try:
                if route.has_body:
                    return await self._http.request(route.method, path, content=to_json(rest), headers=_JSON)
                return await self._http.request(route.method, path, params=rest)
            except httpx.InvalidURL as error:
                raise PayloadError(call.verb, (_text(error),), "names that fit into a URL") from error

    def _check_open(self, verb: str) -> None:
        """Raise ClientClosedError if the client is closed."""
        if self._http.is_closed:
            raise ClientClosedError(verb)

    def _answer(self, call: Command, response: httpx.Response, read: Callable[[bytes], T]) -> T:
        """Read the answer. Raises the server's error, or ServerAnswerError."""
        if response.is_success:
            try:
                return read(response.content or b"null")
            except ValidationError as error:
                raise ServerAnswerError(self._url, response.status_code, str(error)) from error
        raise refusal(self._url, response.status_code, response.content, call.verb)


def _check_named(call: Command) -> None:
    """Raise the runtime's error for an impossible id, because an empty id in a path would lead to another route."""
    for field in call.route.in_path:
        text = str(getattr(call, field))
        if not text or "\0" in text:
            raise NoHandoffError(text, None) if isinstance(call, CancelHandoffCommand) else UnknownAgentError(text)


def _is_repeatable(call: Command) -> bool:
    """Return whether repeating the call has no further effect."""
    if not call.writes or isinstance(call, StopCommand):
        return True
    field = "event_id" if isinstance(call, SendCommand | PostCommand) else "idempotency_key"
    return getattr(call, field, None) is not None


def _should_retry(call: Command, response: httpx.Response) -> bool:
    """Return whether the server was temporarily unable to execute the call, and repeating it is safe."""
    if response.status_code != UNAVAILABLE:
        return False
    return _is_repeatable(call) or is_not_ready(response.status_code, response.content)


def _text(error: Exception) -> str:
    return str(error) or type(error).__name__
