"""What a server answered, where it is not what was asked for."""

from __future__ import annotations

from typing import Final

from pydantic import ValidationError

from gatechart.client.errors import ServerAnswerError, UnauthorizedError
from gatechart.errors import GatechartError
from gatechart.wire import ErrorDocument

UNAVAILABLE: Final = 503

_REFUSED: Final = frozenset({401, 403})


def refusal(url: str, status: int, text: bytes) -> GatechartError:
    """What the answer tells: what the runtime raised, an UnauthorizedError, or a ServerAnswerError."""
    document = _read(text)
    if document is None:
        return ServerAnswerError(url, status, text[:200].decode(errors="replace") or "no text")
    return UnauthorizedError(url, document.message) if status in _REFUSED else document.value()


def is_not_ready(status: int, text: bytes) -> bool:
    """Whether the server starts or stops, and has done nothing."""
    document = _read(text) if status == UNAVAILABLE else None
    return document is not None and document.error == "NotReady"


def _read(text: bytes) -> ErrorDocument | None:
    try:
        return ErrorDocument.model_validate_json(text)
    except ValidationError:
        return None
