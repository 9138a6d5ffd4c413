"""Results, pages and errors as HTTP answers: their status, and the details that a caller may see."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from secrets import token_hex
from typing import Any, Final, Literal, TypeAlias

from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response

from gatechart.api.agents import ReadCommand
from gatechart.api.codec import DONE, ListAnswer, ListPart
from gatechart.api.command import Command
from gatechart.api.errors import ErrorDocument, hidden_under
from gatechart.api.events import AcceptsCommand
from gatechart.api.home import AgentHome
from gatechart.errors.definition import AmbiguousTriggerError
from gatechart.errors.directory import TooManyEntriesError
from gatechart.errors.event import (
    EntryRefusedError,
    FrameworkAgentError,
    NoHandoffError,
    PacketError,
    PayloadError,
    ReservedEventError,
    UndeclaredEventError,
    UnknownAgentError,
    UnknownEntryError,
    UnknownFieldError,
    UnknownGraphError,
    UnknownHandoffError,
    UnknownPlaceError,
    UnknownScheduleError,
    UnknownSelectorError,
    UnknownStateError,
    UnknownTriggerError,
    UnknownVersionError,
)
from gatechart.errors.operation import (
    BacklogFullError,
    InboxFullError,
    NoInvokeError,
    NoTimerError,
    RuntimeClosedError,
    UndeclaredInvokeError,
    UnknownMailError,
    UnwritableError,
)
from gatechart.errors.root import EventError, GatechartError, OutsideError
from gatechart.values.agents import Outcome
from gatechart.values.possibilities import AcceptedEvent

logger = logging.getLogger(__name__)

JSON: Final = "application/json"
_CREATED: Final = 201
_FIRST: Final = 8  # entries to read before the size of entries is known

RETRY_AFTER: Final = {"retry-after": "1"}
DATABASE: Final = "the server's database"

_STATUSES: Final[tuple[tuple[type[GatechartError] | tuple[type[GatechartError], ...], int], ...]] = (
    (
        (
            NoInvokeError,
            NoTimerError,
            UndeclaredInvokeError,
            UnknownAgentError,
            UnknownFieldError,
            UnknownPlaceError,
            UnknownGraphError,
            UnknownHandoffError,
            UnknownMailError,
            UnknownEntryError,
            UnknownScheduleError,
            UnknownSelectorError,
            UnknownStateError,
            UnknownTriggerError,
            UnknownVersionError,
        ),
        404,
    ),
    (
        (
            EntryRefusedError,
            FrameworkAgentError,
            PacketError,
            PayloadError,
            ReservedEventError,
            UndeclaredEventError,
            UnwritableError,
        ),
        422,
    ),
    ((BacklogFullError, InboxFullError, TooManyEntriesError), 429),
    (RuntimeClosedError, 503),
    ((EventError, AmbiguousTriggerError), 409),  # valid, but in conflict with the current state
    (OutsideError, 503),
)


class NotServed(Exception):  # noqa: N818  an answer rather than an error
    """The server refused a request before it reached an agent."""

    def __init__(self, status: int, error: str, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.error = error
        self.message = message
        self.headers = {name.replace("_", "-"): text for name, text in headers.items()}
        self.blame: Literal["event", "outside"] = "event" if status < 500 else "outside"


def status_of(error: GatechartError, method: str) -> int:
    """Return the HTTP status for an error that a call raised; 500 if a request cannot cause it.

    >>> status_of(UnknownAgentError("a"), "GET"), status_of(InboxFullError("a", 9), "POST")
    (404, 429)
    """
    if isinstance(error, UnknownVersionError) and method == "POST":
        return 409  # the agent exists, but not the version to roll back to
    if isinstance(error, NoHandoffError) and error.status is None:
        return 404
    return next((status for kinds, status in _STATUSES if isinstance(error, kinds)), 500)


def without_paths(error: GatechartError) -> GatechartError:
    """Return the error without the paths of the server's files, which callers do not need.

    >>> from gatechart.errors import StoreFailedError
    >>> without_paths(StoreFailedError("/srv/agents.db", "cannot open /srv/agents.db-wal")).problem
    "cannot open the server's database-wal"
    """
    path = getattr(error, "path", None)
    if not isinstance(error, OutsideError) or not path:
        return error
    kind: type[GatechartError] = type(error)
    return kind(*(_without_path(getattr(error, field.name), path) for field in fields(kind)))


def _without_path(fact: Any, path: str) -> Any:
    return fact.replace(path, DATABASE) if isinstance(fact, str) else fact


def headers_of(status: int) -> Mapping[str, str]:
    """Return the required headers of an answer with this status."""
    return RETRY_AFTER if status in {429, 503} else {}


def answer_result(call: Command, result: Any, root: str, *, is_whole: bool) -> Response:
    """Answer with the result of a command.

    root: the path where the application is mounted. is_whole: whether the caller sees exceptions in full.
    """
    status = call.route.status
    if call.answer is DONE:
        return Response(status_code=status)
    shown = result if is_whole else _without_exceptions(call, result)
    headers = {}
    if status == _CREATED:
        headers["location"] = root + ReadCommand.route.path_of(ReadCommand(agent_id=result.agent_id))
    return Response(call.answer.write(shown), status, headers, JSON)


def _without_exceptions(call: Command, result: Any) -> Any:
    """Replace the texts of exceptions raised by guards with a reference to the log."""
    if isinstance(result, Outcome):
        return _outcome_for_a_stranger(call, result) if result.guard_errors else result
    if isinstance(result, AcceptedEvent):
        return _accepted_for_a_stranger(call, (result,))[0]
    return _accepted_for_a_stranger(call, result) if isinstance(call, AcceptsCommand) else result


def _accepted_for_a_stranger(call: Command, events: Sequence[AcceptedEvent]) -> Sequence[AcceptedEvent]:
    raised = [edge for event in events for edge in event.transitions if edge.raised]
    if not raised:
        return events
    reference = token_hex(6)
    facts = {"reference": reference, "agent_id": getattr(call, "agent_id", None)}
    logger.warning("guards raised during a request", extra={**facts, "transitions": raised})
    hidden = hidden_under(reference)
    return tuple(
        replace(
            event,
            transitions=tuple(replace(edge, raised=hidden) if edge.raised else edge for edge in event.transitions),
        )
        for event in events
    )


def _outcome_for_a_stranger(call: Command, outcome: Outcome) -> Outcome:
    reference = token_hex(6)
    facts = {"reference": reference, "agent_id": getattr(call, "to", None), "event": outcome.event}
    logger.warning("guards raised during a request", extra={**facts, "guard_errors": outcome.guard_errors})
    hidden = tuple(replace(error, raised=hidden_under(reference)) for error in outcome.guard_errors)
    return replace(outcome, guard_errors=hidden)


Writer: TypeAlias = Callable[[Request, ErrorDocument, int, Mapping[str, str]], Response]
"""Builds the answer to a failed request from the error, its status, and the required headers."""


def error_as_json(_: Request, document: ErrorDocument, status: int, headers: Mapping[str, str]) -> Response:
    """Answer a program with an error."""
    return Response(document.model_dump_json(), status, headers, JSON)


def answer_refusal(refused: NotServed, request: Request, write: Writer) -> Response:
    """Answer a request that did not reach an agent."""
    return write(request, document_of(refused), refused.status, refused.headers)


def answer_error(error: GatechartError, request: Request, write: Writer, *, is_whole: bool) -> Response:
    """Answer with an error, and log its private parts. is_whole: whether the caller sees them, too."""
    status = status_of(error, request.method)
    if isinstance(error, OutsideError):
        logger.warning("a request failed", extra={"path": request.url.path, "problem": str(error)})
    shown = without_paths(error)
    document = ErrorDocument.of(shown) if is_whole else ErrorDocument.for_stranger(shown, token_hex(6))
    if document.reference:
        facts = {"reference": document.reference, "path": request.url.path, "problem": str(error)}
        logger.warning("a request failed", extra=facts, exc_info=error)
    return write(request, document, status, headers_of(status))


def answer_fault(request: Request, write: Writer) -> Response:
    """Answer a request that failed unexpectedly, and log the exception that is being handled."""
    logger.exception("a request failed", extra={"method": request.method, "path": request.url.path})
    message = "internal server error; the server's log has the details"
    return write(request, ErrorDocument(error="InternalError", message=message, facts={}), 500, {})


def document_of(refused: NotServed) -> ErrorDocument:
    """Describe a refusal as a document."""
    return ErrorDocument(error=refused.error, message=refused.message, facts={}, blame=refused.blame)


async def answer_page(host: AgentHome, call: Command, answer: ListAnswer, most_bytes: int) -> bytes:
    """Return the JSON of a page with as many entries as fit, at least one if there is any.

    Its `next` is the `after` of the next page, null on the last one. Reads a few entries at a time, so that a page of
    large entries does not read hundreds of them for nothing.
    """
    limit: int = call.limit  # type: ignore[attr-defined]  # over HTTP it always has one
    texts: list[bytes] = []
    size, count, last, part = 0, _FIRST, None, ListPart(())
    while len(texts) < limit:
        wanted = min(count, limit - len(texts))
        # one more than needed, to detect the last page
        part = answer.part_of(await host.execute(_behind(call, last, wanted + 1)))
        for entry, cursor in list(zip(part.entries, part.places, strict=True))[:wanted]:
            text = answer.entry.write(entry)
            size += len(text)
            if texts and size > most_bytes:
                return _page(answer.name, texts, last, part.incomplete)
            texts.append(text)
            last = cursor
        if len(part.entries) <= wanted:
            return _page(answer.name, texts, None, part.incomplete)
        count = _how_many_more(size, len(texts), most_bytes)
    return _page(answer.name, texts, last, part.incomplete)


def _behind(call: Command, last: Any, limit: int) -> Command:
    return call.model_copy(update={"limit": limit} | ({} if last is None else {"after": last}))


def _how_many_more(size: int, count: int, most_bytes: int) -> int:
    """Return how many entries to read next: as many as fit at the average size so far, at most doubling the page."""
    fits = (most_bytes - size) * count // max(size, 1)
    return max(1, min(fits, count))


def _page(field: str, texts: list[bytes], following: int | str | None, incomplete: Sequence[str] | None) -> bytes:
    more = b',"incomplete":%b' % to_json(incomplete) if incomplete is not None else b""
    return b'{"%b":[%b],"next":%b%b}' % (field.encode(), b",".join(texts), to_json(following), more)
