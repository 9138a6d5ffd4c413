"""Where the server is and what opens it, judged before anything travels."""

from __future__ import annotations

import re
from typing import Final

import httpx

from gatechart.clients.errors import ClientTokenError, ServerUnreachableError

_SCHEMES: Final = frozenset({"http", "https"})
_PORTS: Final = range(1, 2**16)
_SECRET: Final = re.compile(r"//[^/]*@")


def checked_url(url: str) -> str:
    """The URL without a slash at its end. Raises ServerUnreachableError where no server can be there.

    >>> checked_url("http://localhost:8000/")
    'http://localhost:8000'
    """
    problem = _problem(url)
    if problem:
        raise ServerUnreachableError(tellable(url), problem)
    return url.rstrip("/")


def tellable(url: str) -> str:
    """The URL as errors may tell it: without a name and password, and as a text that can be written.

    >>> tellable("http://ada:secret@localhost")
    'http://localhost'
    """
    return _SECRET.sub("//", url).encode(errors="backslashreplace").decode()


def checked_token(token: str | None) -> str | None:
    r"""The token without white space around it; None where there is none. Raises ClientTokenError.

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
