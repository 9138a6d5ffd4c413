"""The HTTP interface as an ASGI application: routes to endpoints, requests to commands, results and errors to answers.

The server and the client share the route of each command of `gatechart.api`.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, Final, TypeAlias
from urllib.parse import quote, unquote

from pydantic_core import to_json
from starlette import routing
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from gatechart.api.codec import ListAnswer
from gatechart.api.command import Command
from gatechart.api.route import CHANGES, LIVE, OPENAPI, READY, STREAM, TURN
from gatechart.console import STYLE
from gatechart.console.pages import HOME, PAGES
from gatechart.errors.outside import OwnershipLostError
from gatechart.errors.root import GatechartError
from gatechart.graph.graph import AnyGraph
from gatechart.serving.access import Access, Caller, CallerRole, Pace
from gatechart.serving.answers import (
    JSON,
    NotServed,
    Writer,
    answer_error,
    answer_fault,
    answer_page,
    answer_refusal,
    answer_result,
    error_as_json,
    headers_of,
)
from gatechart.serving.connections import DEFAULTS, ServerLimits, cut_off
from gatechart.serving.event_stream import Cursor, EventStream, parse_cursor
from gatechart.serving.exposure import PublicHome, shown_turns
from gatechart.serving.lifecycle import Lifecycle, Phase
from gatechart.serving.limited import ALLOWED, answer_for, error_for, made_by
from gatechart.serving.openapi import limited_document, openapi_document
from gatechart.serving.pages import answer_with_page, answer_with_style, error_as_page, to_first_page
from gatechart.serving.requests import OPERATIONS, HttpCall, check_payload, decoded, read_call, wants_framework
from gatechart.values.tool_policies import Rate

_NOBODY: Final[Mapping[str, str]] = MappingProxyType({})


Endpoint: TypeAlias = Callable[[Request], Awaitable[ASGIApp]]


class Application:
    """Answers requests with the runtime of a lifecycle. Mount it under any path, or serve it alone.

    graphs: described in the OpenAPI document. registrants: tokens by name that may only register in the directory, each
    at most `limits.registrations`, and change only their own entries. alarmists: tokens by name that may only raise
    alarms, each at most `limits.alarms`. operators: tokens by name that see the messages and tracebacks of exceptions
    as stored; all other tokens see a short form.
    """

    def __init__(
        self,
        lifecycle: Lifecycle,
        graphs: Sequence[AnyGraph],
        *,
        token: str | None = None,
        registrants: Mapping[str, str] = _NOBODY,
        alarmists: Mapping[str, str] = _NOBODY,
        operators: Mapping[str, str] = _NOBODY,
        limits: ServerLimits = DEFAULTS,
    ) -> None:
        self._lifecycle = lifecycle
        self._access = Access(token, registrants, alarmists, operators)
        self._paces = {
            CallerRole.REGISTRANT: Pace(Rate.of(limits.registrations)),
            CallerRole.ALARMIST: Pace(Rate.of(limits.alarms), may="raise alarms", error="TooManyAlarms"),
        }
        self._limits = limits
        self._limited_documents: dict[CallerRole, dict[str, Any]] = {}
        self._graphs = tuple(graphs)
        self._router = routing.Router(
            [
                self._route(LIVE, {"GET": self._live}),
                self._route(READY, {"GET": self._ready}),
                *(self._route(path, methods, guarded=True) for path, methods in self._operations().items()),
                self._route(CHANGES, {"GET": self._changes}, guarded=True),
                self._route(STREAM.path, {"GET": self._stream}, guarded=True),
                self._route(OPENAPI, {"GET": self._describe}, guarded=True),
                *(self._page_route(path, endpoint) for path, endpoint in self._pages().items()),
            ],
            redirect_slashes=False,
            default=self._answering(self._unknown_path),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve an ASGI scope: HTTP, or the lifespan, which needs no work."""
        if scope["type"] == "websocket":
            raise RuntimeError("the application serves HTTP, not websockets")
        await self._router(_with_quoted_path(scope) if scope["type"] == "http" else scope, receive, send)

    def _operations(self) -> dict[str, dict[str, Endpoint]]:
        """Return the endpoints of the calls, by path and method."""
        grouped: defaultdict[str, defaultdict[str, list[HttpCall]]] = defaultdict(lambda: defaultdict(list))
        for operation in OPERATIONS:
            grouped[operation.route.path][operation.route.method].append(operation)
        return {
            path: {method: self._performing(operations) for method, operations in methods.items()}
            for path, methods in grouped.items()
        }

    def _route(self, path: str, methods: Mapping[str, Endpoint], *, guarded: bool = False) -> routing.Route:
        async def endpoint(request: Request) -> ASGIApp:
            if guarded:
                request.state.caller = self._access.check(dict(request.scope["headers"]))
            return await _for_method(methods, request.method)(request)

        return routing.Route(path, self._answering(endpoint))

    def _pages(self) -> dict[str, Endpoint]:
        """Return the endpoints of the console, by path."""
        return {
            HOME: to_first_page,
            f"{HOME}/": to_first_page,
            STYLE: answer_with_style,
            **{path: partial(self._page, path) for path in PAGES},
            f"{HOME}/{{rest:path}}": self._unknown_page,
        }

    def _page_route(self, path: str, page: Endpoint) -> routing.Route:
        async def endpoint(request: Request) -> ASGIApp:
            request.state.caller = self._access.check_browser(dict(request.scope["headers"]))
            _check_unlimited(request)
            return await _for_method({"GET": page}, request.method)(request)

        return routing.Route(path, _Answering(self._lifecycle, endpoint, error_as_page))

    def _answering(self, endpoint: Endpoint) -> ASGIApp:
        return _Answering(self._lifecycle, endpoint, error_as_json)

    async def _unknown_path(self, request: Request) -> ASGIApp:
        self._access.check(dict(request.scope["headers"]))
        raise NotServed(404, "NotFound", "unknown path; GET /openapi.json lists the paths")

    def _performing(self, operations: Sequence[HttpCall]) -> Endpoint:
        async def endpoint(request: Request) -> ASGIApp:
            runtime = self._lifecycle.runtime
            caller = _limited(request)
            if caller is not None:
                self._check_caller(caller, operations)
            call = await read_call(operations, request, self._limits)
            if caller is not None:
                return await self._perform_limited(made_by(caller, call), request)
            check_payload(runtime.graphs, call)
            is_whole = _sees_exceptions(request)
            home = runtime if is_whole else PublicHome(runtime)
            if isinstance(call.answer, ListAnswer):
                text = await answer_page(home, call, call.answer, self._limits.answer_bytes)
                return Response(text, call.route.status, media_type=JSON)
            result = await home.execute(call)
            return answer_result(call, result, request.scope["root_path"], is_whole=is_whole)

        return endpoint

    async def _perform_limited(self, call: Command, request: Request) -> Response:
        """Execute a call of a limited token. Hides all facts that its role does not need."""
        try:
            answer = await self._lifecycle.runtime.execute(call)
        except GatechartError as error:
            raise error_for(call, error) from error
        return answer_result(call, answer_for(call, answer), request.scope["root_path"], is_whole=False)

    def _check_caller(self, caller: Caller, operations: Sequence[HttpCall]) -> None:
        """Raise NotServed if a limited caller makes another call than its role allows, or exceeds its rate."""
        if not all(operation.call in ALLOWED[caller.role] for operation in operations):
            raise NotServed(403, "Forbidden", _limits_of(caller))
        if any(operation.call.writes for operation in operations):
            self._paces[caller.role].check(caller.name)

    async def _changes(self, request: Request) -> ASGIApp:
        _check_unlimited(request)
        self._lifecycle.check_open()  # a server that is stopping will have no more turns
        buffer = self._lifecycle.buffer
        framework = wants_framework(request.url.query)
        shown = shown_turns(exceptions=_sees_exceptions(request), framework=framework)
        return EventStream(buffer, TURN, _cursor(request) or buffer.end, shown=shown)

    async def _stream(self, request: Request) -> ASGIApp:
        _check_unlimited(request)
        self._lifecycle.check_open()
        cursor, located = _cursor(request), decoded(request.path_params)
        runtime, streams = self._lifecycle.runtime, self._lifecycle.streams
        reader = await streams.reader(runtime, located["agent_id"], located["invoke"], cursor)
        self._lifecycle.check_open()  # it may have stopped meanwhile
        # A browser reconnects after the end of a stream; the status 204 makes it stop.
        return reader or Response(status_code=204)

    async def _describe(self, request: Request) -> ASGIApp:
        root = request.scope["root_path"]
        servers = {"servers": [{"url": root}]} if root else {}
        caller = _limited(request)
        document = self._document if caller is None else self._limited_document(caller.role)
        return Response(to_json({**document, **servers}), media_type=JSON)

    @cached_property
    def _document(self) -> dict[str, Any]:
        return openapi_document(self._graphs, needs_token=self._access.needs_token)

    def _limited_document(self, role: CallerRole) -> dict[str, Any]:
        """Return the OpenAPI document of a role's calls, without graphs."""
        if role not in self._limited_documents:
            self._limited_documents[role] = limited_document(ALLOWED[role])
        return self._limited_documents[role]

    async def _page(self, path: str, request: Request) -> ASGIApp:
        runtime = self._lifecycle.runtime
        return await answer_with_page(runtime if _sees_exceptions(request) else PublicHome(runtime), path, request)

    async def _unknown_page(self, _: Request) -> ASGIApp:
        raise NotServed(404, "NotFound", "there is no such page; use the links above")

    async def _live(self, _: Request) -> ASGIApp:
        return Response(b'{"status":"alive"}', media_type=JSON)

    async def _ready(self, _: Request) -> ASGIApp:
        phase = self._lifecycle.phase
        status = 200 if phase is Phase.OPEN else 503
        return Response(to_json({"status": phase}), status, headers_of(status), JSON)


def _check_unlimited(request: Request) -> None:
    """Raise NotServed for a limited caller: none of the roles may read streams or pages."""
    caller = _limited(request)
    if caller is not None:
        raise NotServed(403, "Forbidden", _limits_of(caller))


def _caller(request: Request) -> Caller | None:
    """Return the caller if the token has a role."""
    caller: Caller | None = getattr(request.state, "caller", None)
    return caller


def _limited(request: Request) -> Caller | None:
    """Return the caller if it is limited to one kind of call."""
    caller = _caller(request)
    return caller if caller is not None and caller.is_limited else None


def _sees_exceptions(request: Request) -> bool:
    """Whether the caller sees exceptions with messages and tracebacks as stored."""
    caller = _caller(request)
    return caller is not None and caller.role is CallerRole.OPERATOR


def _limits_of(caller: Caller) -> str:
    return f"this token may only {caller.role.value}; use the server's token for other calls"


class _Answering:
    """An endpoint as an ASGI application that turns every error into an answer.

    It is a class because Starlette treats a function as a request-response endpoint.
    """

    def __init__(self, lifecycle: Lifecycle, endpoint: Endpoint, error: Writer) -> None:
        self._lifecycle = lifecycle
        self._endpoint = endpoint
        self._error = error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            answer = await self._answer(Request(scope, receive))
            await answer(scope, receive, send)
        except ClientDisconnect:
            return
        except asyncio.CancelledError:  # the server stops waiting for running requests; the peer gets no answer
            if self._lifecycle.phase is Phase.OPEN or not await cut_off(scope, receive):
                raise

    async def _answer(self, request: Request) -> ASGIApp:
        try:
            return await self._endpoint(request)
        except NotServed as refused:
            return answer_refusal(refused, request, self._error)
        except GatechartError as error:
            if isinstance(error, OwnershipLostError):  # another runtime hosts the agents now
                self._lifecycle.stop()
            return answer_error(error, request, self._error, is_whole=_sees_exceptions(request))
        except ClientDisconnect:
            raise
        except Exception:
            return answer_fault(request, self._error)


def _with_quoted_path(scope: Scope) -> Scope:
    """Keep the path percent-encoded, so that an id such as `a%2Fb` stays one segment.

    `root_path` is the prefix of another application or a proxy; a mount leaves it in the path.
    """
    raw = (scope.get("raw_path") or quote(scope["path"]).encode()).decode("latin-1")
    root = scope.get("root_path", "").rstrip("/")
    parts = raw.split("/")
    prefixes = ("/".join(parts[:count]) for count in range(1, len(parts) + 1))
    quoted_root = next((prefix for prefix in prefixes if unquote(prefix) == root), None)
    if quoted_root is None:  # a proxy has removed it already
        quoted_root = quote(root)
        raw = quoted_root + raw
    return {**scope, "path": raw, "root_path": quoted_root, "path_params": {}}


def _cursor(request: Request) -> Cursor | None:
    """Return the position of a reader that reconnects; None for a new one. Raises NotServed."""
    last_id = request.headers.get("last-event-id")
    cursor = parse_cursor(last_id) if last_id else None
    if last_id and cursor is None:
        raise NotServed(422, "BadRequest", "invalid Last-Event-ID; send the id of an event, or leave it out")
    return cursor


def _for_method(methods: Mapping[str, Endpoint], method: str) -> Endpoint:
    """Return the endpoint of a method; HEAD uses the endpoint of GET. Raises NotServed."""
    wanted = "GET" if method == "HEAD" else method
    if wanted in methods:
        return methods[wanted]
    allowed = ", ".join([*methods, *(["HEAD"] if "GET" in methods else [])])
    raise NotServed(405, "MethodNotAllowed", f"this path does not allow {method}; it allows {allowed}", allow=allowed)
