"""The HTTP interface as an ASGI application: from a request to a call, and from what came of it to an answer."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from secrets import token_hex
from typing import Any, Final, cast

from pydantic_core import to_json
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from gatechart.api import (
    Call,
    Document,
    DoneDocument,
    ErrorDocument,
    OutcomeDocument,
    ReadCall,
    SnapshotDocument,
    hidden_under,
    perform,
)
from gatechart.api.routes import ROUTES
from gatechart.errors import GatechartError, OutsideError, OwnershipLostError
from gatechart.graph import StateTransitionGraph
from gatechart.serving.access import Access
from gatechart.serving.connections import cut_off
from gatechart.serving.events import EventStream
from gatechart.serving.limits import DEFAULTS, ServerLimits
from gatechart.serving.openapi import openapi_document
from gatechart.serving.operations import OPERATIONS, Operation
from gatechart.serving.parts import answer_part, is_list
from gatechart.serving.paths import Endpoint, Paths
from gatechart.serving.payloads import check_payload
from gatechart.serving.problems import Refused, headers_of, status_of, without_places
from gatechart.serving.reading import read_call
from gatechart.serving.stage import Phase, Stage
from gatechart.serving.tape import place_of

logger = logging.getLogger(__name__)

_CREATED: Final = 201
_READ: Final = ROUTES[ReadCall]


class Application:
    """Answers requests with what the stage has. See `operations` for what can be asked.

    graphs: what the OpenAPI document tells of.
    """

    def __init__(
        self,
        stage: Stage,
        graphs: Sequence[StateTransitionGraph],
        *,
        token: str | None = None,
        limits: ServerLimits = DEFAULTS,
    ) -> None:
        self._stage = stage
        self._access = Access(token)
        self._limits = limits
        self._graphs = tuple(graphs)
        self._open = Paths({"/health/live": {"GET": self._live}, "/health/ready": {"GET": self._ready}})
        self._guarded = Paths(
            {**self._performed(), "/changes": {"GET": self._changes}, "/openapi.json": {"GET": self._describe}}
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI. Serves HTTP; nothing has to be done at the beginning and at the end."""
        if scope["type"] != "http":
            raise RuntimeError(f"the application serves HTTP, not {scope['type']!r}")
        request = Request(scope, receive)
        try:
            answer = await self._answer(request)
            await answer(scope, receive, send)
        except ClientDisconnect:
            return
        except asyncio.CancelledError:  # the time of what was under way is over, and nobody is told
            if self._stage.phase is Phase.OPEN or not await cut_off(scope, receive):
                raise

    async def _answer(self, request: Request) -> ASGIApp:
        try:
            return await self._endpoint(request)(request)
        except Refused as refused:
            document = ErrorDocument(error=refused.error, message=refused.message, facts={}, blame=refused.blame)
            return _json(document, refused.status, refused.headers)
        except GatechartError as error:
            if isinstance(error, OwnershipLostError):  # another owner has taken over: nothing is hosted here any more
                self._stage.stop()
            status = status_of(error, request.method)
            if isinstance(error, OutsideError):
                logger.warning("a request failed", extra={"path": request.url.path, "problem": str(error)})
            document = ErrorDocument.for_stranger(without_places(error), token_hex(6))
            if document.reference:
                told = {"reference": document.reference, "path": request.url.path, "problem": str(error)}
                logger.warning("a request failed", extra=told, exc_info=error)
            return _json(document, status, headers_of(status))
        except ClientDisconnect:
            raise
        except Exception:
            logger.exception("a request failed", extra={"method": request.method, "path": request.url.path})
            message = "the server failed at this request; its log tells more"
            return _json(ErrorDocument(error="InternalError", message=message, facts={}), 500)

    def _endpoint(self, request: Request) -> Endpoint:
        found = self._open.find(request.scope)
        if found is None:
            self._access.check(dict(request.scope["headers"]))
            found = self._guarded.find(request.scope)
        if found is None:
            raise Refused(404, "NotFound", "there is nothing at this path; GET /openapi.json tells what there is")
        return found

    def _performed(self) -> dict[str, dict[str, Endpoint]]:
        grouped: defaultdict[str, defaultdict[str, list[Operation]]] = defaultdict(lambda: defaultdict(list))
        for operation in OPERATIONS:
            grouped[operation.way.path][operation.way.method].append(operation)
        return {
            path: {method: self._performing(operations) for method, operations in methods.items()}
            for path, methods in grouped.items()
        }

    def _performing(self, operations: Sequence[Operation]) -> Endpoint:
        status = operations[0].way.status

        async def endpoint(request: Request) -> ASGIApp:
            runtime = self._stage.runtime
            call = cast("Call", await read_call(operations, request, self._limits))
            check_payload(runtime.graphs, call)
            if is_list(call):
                text = await answer_part(runtime, call, self._limits.answer_bytes)
                return Response(text, status, media_type="application/json")
            return _told(_without_exceptions(await perform(runtime, call)), status)

        return endpoint

    async def _changes(self, request: Request) -> ASGIApp:
        self._stage.check_open()  # what is about to end has no turns to come
        tape = self._stage.tape
        said = request.headers.get("last-event-id")
        if not said:
            return EventStream(tape, tape.end)
        place = place_of(said)
        if place is None:
            raise Refused(422, "BadRequest", "the Last-Event-ID is none of this server's; leave it out to begin now")
        return EventStream(tape, place)

    async def _describe(self, _: Request) -> ASGIApp:
        return Response(self._description, media_type="application/json")

    @cached_property
    def _description(self) -> bytes:
        return to_json(openapi_document(self._graphs, needs_token=self._access.needs_token))

    async def _live(self, _: Request) -> ASGIApp:
        return Response(b'{"status":"alive"}', media_type="application/json")

    async def _ready(self, _: Request) -> ASGIApp:
        phase = self._stage.phase
        status = 200 if phase is Phase.OPEN else 503
        return Response(to_json({"status": phase}), status, headers_of(status), "application/json")


def _without_exceptions(document: Document) -> Document:
    """The answer without the words of exceptions that guards raised; the log has them under a reference."""
    if not isinstance(document, OutcomeDocument) or not document.guard_errors:
        return document
    reference = token_hex(6)
    told = {"reference": reference, "agent_id": document.agent_id, "event": document.event}
    logger.warning("guards raised at a request", extra={**told, "guard_errors": document.guard_errors})
    hidden = tuple(replace(each, raised=hidden_under(reference)) for each in document.guard_errors)
    return document.model_copy(update={"guard_errors": hidden})


def _told(document: Document, status: int) -> Response:
    if isinstance(document, DoneDocument):
        return Response(status_code=status)
    if status == _CREATED and isinstance(document, SnapshotDocument):
        return _json(document, status, {"location": _READ.path_of(ReadCall(id=document.agent_id))})
    return _json(document, status)


def _json(document: Document, status: int, headers: Mapping[str, str] | None = None) -> Response:
    text: Any = document.__pydantic_serializer__.to_json(document)
    return Response(text, status, headers, "application/json")
