"""Problems as HTTP answers: the status of each kind of error, and what a stranger may be told of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final, Literal

from gatechart.errors import (
    AmbiguousTriggerError,
    BacklogFullError,
    EntryRefusedError,
    EventError,
    GatechartError,
    InboxFullError,
    NoHandoffError,
    NoInvokeError,
    NoTimerError,
    OutsideError,
    PacketError,
    PayloadError,
    ReservedEventError,
    RuntimeClosedError,
    UnknownAgentError,
    UnknownGraphError,
    UnknownHandoffError,
    UnknownMailError,
    UnknownStateError,
    UnknownTriggerError,
    UnknownVersionError,
    UnwritableError,
)

RETRY_AFTER: Final = {"retry-after": "1"}
DATABASE: Final = "the server's database"

_STATUSES: Final[tuple[tuple[type[GatechartError] | tuple[type[GatechartError], ...], int], ...]] = (
    (
        (
            NoInvokeError,
            NoTimerError,
            UnknownAgentError,
            UnknownGraphError,
            UnknownHandoffError,
            UnknownMailError,
            UnknownStateError,
            UnknownTriggerError,
            UnknownVersionError,
        ),
        404,
    ),
    ((EntryRefusedError, PacketError, PayloadError, ReservedEventError, UnwritableError), 422),
    ((BacklogFullError, InboxFullError), 429),
    (RuntimeClosedError, 503),
    ((EventError, AmbiguousTriggerError), 409),  # valid, but in conflict with the present state
    (OutsideError, 503),
)


class Refused(Exception):  # noqa: N818  an answer, rather than an error
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
        return 409  # the agent exists; only the version to go back to does not
    if isinstance(error, NoHandoffError) and error.status is None:
        return 404
    return next((status for kinds, status in _STATUSES if isinstance(error, kinds)), 500)


def without_paths(error: GatechartError) -> GatechartError:
    """Return the error without the paths of the server's files, for callers who need not know them.

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
    """Return the headers that an answer of this status must have."""
    return RETRY_AFTER if status in {429, 503} else {}
