"""What a caller is told where a request comes to nothing: a status for each kind of error, and never a bare one."""

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
    ((EventError, AmbiguousTriggerError), 409),  # valid, but not now: what is there speaks against it
    (OutsideError, 503),
)


class Refused(Exception):  # noqa: N818  an answer, rather than an error
    """A request that comes to nothing before any agent hears of it."""

    def __init__(self, status: int, error: str, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.error = error
        self.message = message
        self.headers = {name.replace("_", "-"): text for name, text in headers.items()}
        self.blame: Literal["event", "outside"] = "event" if status < 500 else "outside"


def status_of(error: GatechartError, method: str) -> int:
    """The HTTP status for what a call raised; 500 for what cannot come of a request.

    >>> status_of(UnknownAgentError("a"), "GET"), status_of(InboxFullError("a", 9), "POST")
    (404, 429)
    """
    if isinstance(error, UnknownVersionError) and method == "POST":
        return 409  # of an agent that is there
    if isinstance(error, NoHandoffError) and error.status is None:
        return 404
    return next((status for kinds, status in _STATUSES if isinstance(error, kinds)), 500)


def without_places(error: GatechartError) -> GatechartError:
    """The error as those are told who need not know where the server keeps its files.

    >>> from gatechart.errors import StoreFailedError
    >>> without_places(StoreFailedError("/srv/agents.db", "cannot open /srv/agents.db-wal")).problem
    "cannot open the server's database-wal"
    """
    path = getattr(error, "path", None)
    if not isinstance(error, OutsideError) or not path:
        return error
    kind: type[GatechartError] = type(error)
    return kind(*(_unplaced(getattr(error, field.name), path) for field in fields(kind)))


def _unplaced(fact: Any, path: str) -> Any:
    return fact.replace(path, DATABASE) if isinstance(fact, str) else fact


def headers_of(status: int) -> Mapping[str, str]:
    """The headers that an answer of this status has to have."""
    return RETRY_AFTER if status in {429, 503} else {}
