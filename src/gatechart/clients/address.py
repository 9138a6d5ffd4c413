"""Checks on the server's URL and token, made before anything is sent."""

from __future__ import annotations

import re
from typing import Final

import httpx

from gatechart.clients.errors import ClientTokenError, ServerUnreachableError

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
    """Return the URL as errors may show it: without name and password, and always encodable.

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
