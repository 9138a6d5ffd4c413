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


def _told(error: str, message: str) -> str:
    return f"the host of the agents raised {error}: {message}; its log may tell more"
