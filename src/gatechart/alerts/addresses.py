"""Resolve URLs from outside once, and refuse addresses that are not public."""

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
    """A URL leads to an address that may not receive data."""

    url: str  # scheme and host only
    problem: str

    def __str__(self) -> str:
        return (
            f"refused to send to {self.url}: {self.problem}; use https and a public address, or set "
            "allow_internal=True in the configuration of the sink"
        )


@dataclass(frozen=True, slots=True)
class Destination:
    """The address to connect to for a URL, and the host name to send."""

    scheme: str
    host: str  # as in the URL, for the header and the certificate
    address: str  # to connect to
    port: int
    target: str  # path and query

    @property
    def url(self) -> str:
        """The URL with the address instead of the host."""
        address = f"[{self.address}]" if ":" in self.address else self.address
        return f"{self.scheme}://{address}:{self.port}{self.target}"

    @property
    def named(self) -> str:
        """The value of the `Host` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


async def resolved(url: str, *, allow_internal: bool = False) -> Destination:
    """Resolve the host of a URL, once. Raises AddressRefusedError.

    The connection uses the checked address, so a later change of the name's address has no effect. A host is refused if
    any of its addresses is refused.

    allow_internal: whether http and addresses that are not public are allowed.
    """
    parts, port = _checked_parts(url, allow_internal)
    host = parts.hostname or ""
    try:
        records = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise AddressRefusedError(_without_secrets(parts), f"its host has no address ({error})") from error
    addresses = [str(record[4][0]) for record in records]
    internal = [] if allow_internal else [address for address in addresses if not is_public(address)]
    if not addresses:
        raise AddressRefusedError(_without_secrets(parts), "its host has no address")
    if internal:
        raise AddressRefusedError(
            _without_secrets(parts), f"its host has an address that is not public ({', '.join(internal)})"
        )
    target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
    return Destination(parts.scheme, host, addresses[0], port, target)


def checked_url(url: str, *, allow_internal: bool = False) -> None:
    """Check the scheme, the host, and that there is no password. Raises AddressRefusedError."""
    _checked_parts(url, allow_internal)


def _checked_parts(url: str, allow_internal: bool) -> tuple[SplitResult, int]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise AddressRefusedError("a URL", str(error)) from error
    if parts.scheme not in (_PORTS if allow_internal else ("https",)):
        raise AddressRefusedError(_without_secrets(parts), f"its scheme is {parts.scheme!r}")
    if not parts.hostname or parts.username is not None or parts.password is not None:
        raise AddressRefusedError(_without_secrets(parts), "it has no host, or has a user or a password")
    return parts, port or _PORTS[parts.scheme]


def _without_secrets(parts: SplitResult) -> str:
    """Return a URL without the parts that may be secret: user, password, path and query."""
    return f"{parts.scheme}://{parts.hostname or ''}"
