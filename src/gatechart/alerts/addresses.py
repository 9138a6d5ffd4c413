"""Which addresses a URL from outside may lead to: public ones, resolved once."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, urlsplit

from gatechart.alerts.networks import is_public
from gatechart.errors.root import OutsideError

_PORTS: Final = {"https": 443, "http": 80}


@dataclass(eq=False)
class AddressRefusedError(OutsideError):
    """A URL leads where nothing may be sent."""

    url: str  # without what is behind its host
    problem: str

    def __str__(self) -> str:
        return (
            f"nothing is sent to {self.url}: {self.problem}; use https and a public address, or let the configuration "
            "of the sink say allow_internal=True"
        )


@dataclass(frozen=True, slots=True)
class Destination:
    """Where to connect for a URL, and which host to name there."""

    scheme: str
    host: str  # as in the URL, for the header and the certificate
    address: str  # to connect to
    port: int
    target: str  # path and query

    @property
    def url(self) -> str:
        """The URL with the address in place of the host."""
        address = f"[{self.address}]" if ":" in self.address else self.address
        return f"{self.scheme}://{address}:{self.port}{self.target}"

    @property
    def named(self) -> str:
        """The host as in a `Host` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


async def resolved(url: str, *, allow_internal: bool = False) -> Destination:
    """Resolve the host of a URL, once. Raises AddressRefusedError.

    The connection goes to the address that was checked, so a name that resolves to another one later changes nothing.
    A host is refused if any of its addresses is.
    allow_internal: whether http and addresses that are not public are allowed.
    """
    parts, port = _parts(url, allow_internal)
    host = parts.hostname or ""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise AddressRefusedError(_shown(parts), f"its host has no address ({error})") from error
    addresses = [str(each[4][0]) for each in found]
    internal = [] if allow_internal else [each for each in addresses if not is_public(each)]
    if internal or not addresses:
        raise AddressRefusedError(_shown(parts), f"its host is {', '.join(internal) or 'nowhere'}, which is not public")
    target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
    return Destination(parts.scheme, host, addresses[0], port, target)


def checked_url(url: str, *, allow_internal: bool = False) -> None:
    """Check what shows without resolving: scheme, host, no password. Raises AddressRefusedError."""
    _parts(url, allow_internal)


def _parts(url: str, allow_internal: bool) -> tuple[SplitResult, int]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise AddressRefusedError("a URL", str(error)) from error
    if parts.scheme not in (_PORTS if allow_internal else ("https",)):
        raise AddressRefusedError(_shown(parts), f"its scheme is {parts.scheme!r}")
    if not parts.hostname or parts.username is not None or parts.password is not None:
        raise AddressRefusedError(_shown(parts), "it has no host, or a user or a password")
    return parts, port or _PORTS[parts.scheme]


def _shown(parts: SplitResult) -> str:
    """Return a URL without what may be secret: user, path and query."""
    return f"{parts.scheme}://{parts.hostname or ''}"
