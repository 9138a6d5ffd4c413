"""Who may ask: whoever has the token, and without one only programs of this machine."""

from __future__ import annotations

import hmac
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from gatechart.serving.errors import TokenError
from gatechart.serving.problems import Refused

LEAST_TOKEN: Final = 16  # characters; what is shorter can be guessed

_LOCAL_NAMES: Final = frozenset({"localhost"})
_OTHER_SITES: Final = frozenset({b"cross-site", b"same-site"})  # as browsers have it; of one site are all ports


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens there.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "[::1]", "localhost", "0.0.0.0", "example.org", "")]
    [True, True, True, True, False, False, False]
    """
    name = host.removeprefix("[").removesuffix("]").lower()
    if name in _LOCAL_NAMES:
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


class Access:
    """Judges requests by their headers. token: None lets in what comes to this machine under a name of its own."""

    def __init__(self, token: str | None) -> None:
        self._expected = None if token is None else token.encode()

    @property
    def needs_token(self) -> bool:
        """Whether callers have to have one."""
        return self._expected is not None

    def check(self, headers: dict[bytes, bytes]) -> None:
        """Raises Refused. headers: by their names in lower case; the last of several."""
        if self._expected is None:
            _check_host(headers.get(b"host", b"").decode("latin-1"))
            _check_page(headers)
            return
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() != b"bearer" or not hmac.compare_digest(given.strip(), self._expected):
            raise Refused(
                401,
                "Unauthorized",
                "the request has no valid token; send the header `Authorization: Bearer TOKEN` with the server's token",
                www_authenticate="Bearer",
            )


def _check_host(host: str) -> None:
    """Keeps out web pages that have had their own name resolved to this machine."""
    if not _is_here(host):
        raise Refused(
            403,
            "ForeignHost",
            f"the server has no token, and so answers only to names of this machine, not to {host!r}; "
            "ask for 127.0.0.1 or localhost, or give it a token",
        )


def _check_page(headers: dict[bytes, bytes]) -> None:
    """Keeps out web pages of others, which can have a browser of this machine send what needs no leave from us."""
    origin = headers.get(b"origin")
    is_foreign = origin is not None and not _is_here(origin.decode("latin-1").partition("://")[2])
    if is_foreign or headers.get(b"sec-fetch-site", b"").lower() in _OTHER_SITES:
        raise Refused(
            403,
            "ForeignPage",
            "the server has no token, and so answers no web page that did not come from it; "
            "ask from a program, or give it a token",
        )


def _is_here(authority: str) -> bool:
    """Whether a name with or without a port is one of this machine."""
    return is_loopback(authority.partition("]")[0] if authority.startswith("[") else authority.partition(":")[0])


def read_token(file: Path | None, given: str | None, variable: str) -> str | None:
    """The token of the file, else the one that the environment gave in the variable; None where there is neither.

    Raises TokenError.
    """
    if file is None:
        return None if given is None else _good(given, variable)
    try:
        return _good(file.read_text(encoding="ascii").strip(), str(file))
    except (OSError, UnicodeError) as error:
        raise TokenError(str(file), str(error)) from error


def _good(token: str, source: str) -> str:
    if len(token) < LEAST_TOKEN:
        raise TokenError(source, f"it has {len(token)} characters, which can be guessed")
    if not all("!" <= character <= "~" for character in token):
        raise TokenError(source, "it has characters that a header cannot hold")
    return token
