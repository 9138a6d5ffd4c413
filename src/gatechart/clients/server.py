"""The server of a client: its URL and token, checked before the first request, and the errors in its answers."""

from __future__ import annotations

import re
from typing import Final

import httpx
from pydantic import ValidationError

from gatechart.api.errors import ErrorDocument
from gatechart.clients.errors import ClientTokenError, ServerAnswerError, ServerUnreachableError, UnauthorizedError
from gatechart.errors.event import PayloadError
from gatechart.errors.operation import RemoteEventError
from gatechart.errors.root import GatechartError

UNAVAILABLE: Final = 503

_REFUSED: Final = frozenset({401, 403})
_UNFIT: Final = frozenset({400, 413, 422})
_SCHEMES: Final = frozenset({"http", "https"})
_PORTS: Final = range(1, 2**16)
_SECRET: Final = re.compile(r"//[^/]*@")


def checked_url(url: str) -> str:
    """Return the URL without a trailing slash. Raises ServerUnreachableError if it cannot be a server's URL.

    >>> checked_url("http://localhost:8000/")
    'http://localhost:8000'
    """
    problem = _problem(url)
    if problem:
        raise ServerUnreachableError(tellable(url), problem)
    return url.rstrip("/")


def tellable(url: str) -> str:
    """Return the URL for error messages: without name and password, and always encodable.

    >>> tellable("http://ada:secret@localhost")
    'http://localhost'
    """
    return _SECRET.sub("//", url).encode(errors="backslashreplace").decode()


def checked_token(token: str | None) -> str | None:
    r"""Return the token without surrounding white space; None if there is none. Raises ClientTokenError.

    >>> checked_token("a-token-of-the-tests\n")
    'a-token-of-the-tests'
    """
    stripped = (token or "").strip()
    if not all("!" <= character <= "~" for character in stripped):
        raise ClientTokenError("it has characters that a header cannot hold")
    return stripped or None


def _problem(url: str) -> str | None:
    try:
        parsed = httpx.URL(url)
        host, port = parsed.host, parsed.port
    except (httpx.InvalidURL, UnicodeError) as error:
        return tellable(str(error))
    if parsed.scheme not in _SCHEMES:
        return "it does not begin with http:// or https://"
    if not host:
        return "it names no host"
    return None if port is None or port in _PORTS else f"there is no port {port}"


def refusal(url: str, status: int, text: bytes, verb: str = "changes") -> GatechartError:
    """Return the error in an answer: the runtime's error, an UnauthorizedError, or a ServerAnswerError.

    A request that the server rejects as malformed gives a PayloadError, as in a runtime.
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
