"""Errors raised by clients, in addition to the errors of the remote runtime."""

from __future__ import annotations

from dataclasses import dataclass

from gatechart.errors.root import DefinitionError, EventError, OutsideError


@dataclass(eq=False)
class ClientTokenError(DefinitionError):
    """The client's token is invalid. The error does not show the token."""

    problem: str

    def __str__(self) -> str:
        return f"the client's token will not do: {self.problem}; give the text that the server's token file has"


@dataclass(eq=False)
class ClientClosedError(EventError):
    """The client was closed. No request was sent."""

    call: str

    def __str__(self) -> str:
        return f"{self.call}() came after the client was closed; call it inside `async with HttpClient(...)`"


@dataclass(eq=False)
class ServerUnreachableError(OutsideError):
    """No connection to the server could be made. No request was sent."""

    url: str
    problem: str

    def __str__(self) -> str:
        return f"the server at {self.url} cannot be reached: {self.problem}; start it, or mend the URL"


@dataclass(eq=False)
class AnswerLostError(OutsideError):
    """The connection was lost before the answer arrived, and the call is not safe to repeat."""

    url: str
    verb: str
    problem: str

    def __str__(self) -> str:
        return (
            f"nobody knows whether {self.verb}() was done at {self.url}: the answer was lost ({self.problem}); "
            "look, or give such calls an id (event_id= or idempotency_key=), with which they are made again"
        )


@dataclass(eq=False)
class ServerAnswerError(OutsideError):
    """The answer does not come from a gatechart server of this version."""

    url: str
    status: int
    problem: str

    def __str__(self) -> str:
        return (
            f"what answers at {self.url} is no gatechart server that is understood here (status {self.status}: "
            f"{self.problem}); mend the URL, or bring both to the same version"
        )


@dataclass(eq=False)
class UnauthorizedError(EventError):
    """The server accepts only requests with its token, or from callers that it knows by name."""

    url: str
    problem: str

    def __str__(self) -> str:
        return f"the server at {self.url} refuses this client: {self.problem}"


@dataclass(eq=False)
class ItemsMissedError(EventError):
    """An invoke published items that this stream did not receive. The iteration may continue after the gap."""

    lost: int | None  # number of items; None if unknown, after a restart of the server or a long absence of the reader

    def __str__(self) -> str:
        number = "some" if self.lost is None else f"{self.lost}"
        return (
            f"{number} items may have been missed, for the server keeps only the newest, and only for a while; go on, "
            "and read the invoke's result from the agent, which may have it by now"
        )


@dataclass(eq=False)
class ChangesMissedError(EventError):
    """Turns were committed that this stream did not receive. The iteration may continue after the gap."""

    lost: int | None  # number of turns; None if unknown, because another server process answers now

    def __str__(self) -> str:
        number = "some" if self.lost is None else f"{self.lost}"
        return (
            f"{number} turns may have been missed, for the server keeps only the newest for those who connect again, "
            "and none of another process; read the history of the agents that matter, and go on"
        )
