"""Errors that keep a server from starting."""

from __future__ import annotations

from dataclasses import dataclass

from gatechart.errors import DefinitionError, OutsideError


@dataclass(eq=False)
class AddressError(OutsideError):
    """The server cannot listen at its address."""

    host: str
    port: int
    problem: str

    def __str__(self) -> str:
        return (
            f"cannot listen on host {self.host!r}, port {self.port}: {self.problem}; "
            "choose another with --host and --port (0 for any free port)"
        )


@dataclass(eq=False)
class OpenDoorError(DefinitionError):
    """A server without a token must not listen to other machines."""

    host: str

    def __str__(self) -> str:
        return (
            f"a server on host {self.host!r} needs a token, because other machines can reach it; give it one with "
            "--token-file or GATECHART_TOKEN, or listen on 127.0.0.1"
        )


@dataclass(eq=False)
class TokenError(DefinitionError):
    """The server's token is invalid."""

    source: str
    problem: str

    def __str__(self) -> str:
        return (
            f"invalid token in {self.source}: {self.problem}; use 16 or more visible ASCII characters, such as the "
            "output of `openssl rand -hex 32`"
        )
