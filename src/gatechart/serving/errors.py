"""What keeps a server from starting."""

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
            f"the server cannot listen at {self.host!r}, port {self.port}: {self.problem}; "
            "name another with --host and --port (0 for any that is free)"
        )


@dataclass(eq=False)
class OpenDoorError(DefinitionError):
    """Without a token, a server would be open to other machines."""

    host: str

    def __str__(self) -> str:
        return (
            f"without a token the server would let in whoever can reach {self.host!r}; give it one with --token-file "
            "or GATECHART_TOKEN, or let it listen to this machine only, at 127.0.0.1"
        )


@dataclass(eq=False)
class TokenError(DefinitionError):
    """The server's token will not do."""

    source: str
    problem: str

    def __str__(self) -> str:
        return (
            f"the token of {self.source} will not do: {self.problem}; take 16 or more visible ASCII characters, such "
            "as those that `openssl rand -hex 32` prints"
        )
