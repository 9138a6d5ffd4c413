"""What comes back from whoever hosts the agents elsewhere, or does not."""

from __future__ import annotations

from dataclasses import dataclass

from gatechart.errors.root import DefinitionError, EventError, OutsideError


@dataclass(eq=False)
class RemoteDefinitionError(DefinitionError):
    """The host of the agents raised a DefinitionError that is not known here."""

    error: str
    message: str

    def __str__(self) -> str:
        return _told(self.error, self.message)


@dataclass(eq=False)
class RemoteEventError(EventError):
    """The host of the agents raised an EventError that is not known here."""

    error: str
    message: str

    def __str__(self) -> str:
        return _told(self.error, self.message)


@dataclass(eq=False)
class RemoteOutsideError(OutsideError):
    """The host of the agents raised an OutsideError that is not known here, or failed in a way that has no name."""

    error: str
    message: str

    def __str__(self) -> str:
        return _told(self.error, self.message)


@dataclass(eq=False)
class AnswerUnreadableError(OutsideError):
    """The owner of the database has answered in a way that is not understood here, as one of another version may."""

    problem: str

    def __str__(self) -> str:
        return (
            f"the owner has dealt with the call, but its answer cannot be read here ({self.problem}); "
            "see what the agent is now, and bring both to the same version"
        )


@dataclass(eq=False)
class RequestTimeoutError(OutsideError):
    """The owner of the database did not answer in time. Where the request was withdrawn, nothing was done."""

    path: str
    owner: str  # which process
    verb: str
    waited_s: float
    withdrawn: bool | None  # False: the owner had begun, and comes to an end with it; None: nobody can tell
    request: str = ""  # its id
    problem: str = ""  # why nobody can tell

    def __str__(self) -> str:
        became = "the request was withdrawn, and nothing was done" if self.withdrawn else f"it has begun {_AT_WORK}"
        if self.withdrawn is None:
            became = f"nobody can tell whether the request {self.request!r} is or will be done ({self.problem})"
        return (
            f"{self.path} is owned by {self.owner}, which did not answer {self.verb!r} within {self.waited_s:.3g} s: "
            f"{became}; wait longer, or see what the owner is doing"
        )


@dataclass(eq=False)
class OwnerGoneError(OutsideError):
    """The owner of the database has gone before it answered. Where the request was withdrawn, nothing was done."""

    path: str
    request: str  # its id
    number: int  # that the database gave it
    withdrawn: bool  # False: the owner had begun

    def __str__(self) -> str:
        became = "the request was withdrawn, and nothing was done" if self.withdrawn else f"it had begun {_AT_WORK}"
        return (
            f"the owner of {self.path} has gone before it answered {self.request!r} (number {self.number}): {became}; "
            "ask again"
        )


@dataclass(eq=False)
class RequestLateError(OutsideError):
    """An owner that is gone had begun with the request; the next one came long after its time, and did nothing."""

    request: str  # its id
    late_s: float

    def __str__(self) -> str:
        return (
            f"the owner that had begun with the request {self.request!r} is gone, and the next, which came "
            f"{self.late_s:.3g} s after its time was over, did nothing; read from the agent what the first did, and "
            "ask again as a new request"
        )


_AT_WORK = "with it, and what it comes to is to be read from the agent"


def _told(error: str, message: str) -> str:
    return f"the host of the agents raised {error}: {message}; its log may tell more"
