"""Errors in a server's answers."""

from __future__ import annotations

from typing import Final

from pydantic import ValidationError

from gatechart.api import ErrorDocument
from gatechart.clients.errors import ServerAnswerError, UnauthorizedError
from gatechart.errors import GatechartError, PayloadError, RemoteEventError

UNAVAILABLE: Final = 503

_REFUSED: Final = frozenset({401, 403})
_UNFIT: Final = frozenset({400, 413, 422})


def refusal(url: str, status: int, text: bytes, verb: str = "changes") -> GatechartError:
    """Return the error in an answer: what the runtime raised, an UnauthorizedError, or a ServerAnswerError.

    A request that the server rejects as malformed is a PayloadError, as in a runtime.
    """
    document = _read(text)
    if document is None:
        return ServerAnswerError(url, status, text[:200].decode(errors="replace") or "no text")
    if status in _REFUSED:
        return UnauthorizedError(url, document.message)
    error = document.value()
    if status in _UNFIT and isinstance(error, RemoteEventError):
        return PayloadError(verb, (document.message,), "what the server takes")
    return error


def is_not_ready(status: int, text: bytes) -> bool:
    """Return whether the server is starting or stopping, and has done nothing."""
    document = _read(text) if status == UNAVAILABLE else None
    return document is not None and document.error == "NotReady"


def _read(text: bytes) -> ErrorDocument | None:
    try:
        return ErrorDocument.model_validate_json(text)
    except ValidationError:
        return None
