"""A distributed engine that hosts agents, and what cannot be done through it."""

from __future__ import annotations

from dataclasses import dataclass

from gatechart.errors.root import EventError, OutsideError


@dataclass(eq=False)
class EngineUnreachableError(OutsideError):
    """Nobody answers at the engine's address. Whether the call arrived is not known."""

    url: str
    problem: str

    def __str__(self) -> str:
        return f"nobody answers at {self.url} ({self.problem}); start the engine, or name the address where it listens"


@dataclass(eq=False)
class EngineRefusedError(OutsideError):
    """The engine, or the service behind it, answered with an error of its own."""

    url: str
    call: str
    problem: str

    def __str__(self) -> str:
        return (
            f"{self.call} failed at {self.url}: {self.problem}; look into the engine's log and the service's, and see "
            "that `gatechart restate serve` runs and `gatechart restate register` was run"
        )


@dataclass(eq=False)
class AgentTooLargeError(EventError):
    """What an agent would have to keep, or a turn to send, is more than the engine takes. The turn is undone."""

    agent_id: str
    size: int
    most: int

    def __str__(self) -> str:
        return (
            f"agent {self.agent_id!r} would keep or send {self.size} bytes, and {self.most} are the most; "
            "keep large things elsewhere and their keys in the context, or raise Terms(most_bytes=..., inbox_bytes=...)"
        )


@dataclass(eq=False)
class ElsewhereError(EventError):
    """The home of the agents cannot do what was asked; its `capabilities` say so."""

    call: str
    home: str
    instead: str

    def __str__(self) -> str:
        return f"{self.call}() cannot be had on {self.home}: {self.instead}"


@dataclass(eq=False)
class ServiceAddressError(OutsideError):
    """The service cannot listen at the address that it was given."""

    address: str
    problem: str

    def __str__(self) -> str:
        return (
            f"cannot listen at {self.address} ({self.problem}); end whoever listens there, or name another with --bind"
        )
