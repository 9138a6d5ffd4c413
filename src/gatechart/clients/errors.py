"""What a client raises besides what the runtime on the other side raises."""

from __future__ import annotations

from dataclasses import dataclass

from gatechart.errors import DefinitionError, EventError, OutsideError


@dataclass(eq=False)
class ClientTokenError(DefinitionError):
    """The client's token will not do. The error does not tell it."""

    problem: str

    def __str__(self) -> str:
        return f"the client's token will not do: {self.problem}; give the text that the server's token file has"


@dataclass(eq=False)
class ClientClosedError(EventError):
    """The client was closed. Nothing was asked of the server."""

    call: str

    def __str__(self) -> str:
        return f"{self.call}() came after the client was closed; call it inside `async with HttpClient(...)`"


@dataclass(eq=False)
class ServerUnreachableError(OutsideError):
    """No connection to the server came about. Nothing was asked of it."""

    url: str
    problem: str

    def __str__(self) -> str:
        return f"the server at {self.url} cannot be reached: {self.problem}; start it, or mend the URL"


@dataclass(eq=False)
class AnswerLostError(OutsideError):
    """The connection was lost before the answer came, and the call is none that may simply be made again."""

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
    """What answered does not speak as a gatechart server of this version does."""

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
    """The server lets in only those who have its token, or whom it knows by name."""

    url: str
    problem: str

    def __str__(self) -> str:
        return f"the server at {self.url} refuses this client: {self.problem}"


@dataclass(eq=False)
class ChangesMissedError(EventError):
    """Turns were committed that this stream did not get. The iteration may go on behind the gap."""

    lost: int | None  # how many; None where nobody knows, for it is another server by now

    def __str__(self) -> str:
        number = "some" if self.lost is None else f"{self.lost}"
        return (
            f"{number} turns may have been missed, for the server keeps only the newest for those who connect again, "
            "and none of another process; read the history of the agents that matter, and go on"
        )
