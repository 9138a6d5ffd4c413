"""What a caller asked for cannot be done: of a handoff, of its packet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gatechart.errors.root import EventError, listing


@dataclass(eq=False)
class PacketError(EventError):
    """A packet cannot be read, or cannot be made. Nothing was changed."""

    private: ClassVar[tuple[str, ...]] = ("raised",)

    problems: tuple[str, ...]
    schema_version: int | None  # None where it cannot be told
    remedy: str
    raised: str = ""  # by a migration of packets

    def __str__(self) -> str:
        version = "no schema version" if self.schema_version is None else f"schema version {self.schema_version}"
        raised = f" raised {self.raised}" if self.raised else ""
        return f"the packet of {version} will not do: {'; '.join(self.problems)}{raised}. {self.remedy}"


@dataclass(eq=False)
class HandoffStateError(EventError):
    """A handoff cannot go from one status to another. It stays as it is."""

    before: str
    after: str
    allowed: tuple[str, ...]
    handoff_id: str = ""  # empty where the caller did not say

    def __str__(self) -> str:
        name = f"handoff {self.handoff_id!r}" if self.handoff_id else "the handoff"
        return (
            f"{name} is {self.before!r} and cannot become {self.after!r}; "
            f"it can become {listing(self.allowed, 'nothing else, for it has ended')}"
        )


@dataclass(eq=False)
class UnknownHandoffError(EventError):
    """The agent has no such handoff, or it is over."""

    agent_id: str
    handoff: str
    handoffs: tuple[str, ...]  # that it has

    def __str__(self) -> str:
        return f"agent {self.agent_id!r} has no handoff {self.handoff!r} to end; it has {listing(self.handoffs)}"


@dataclass(eq=False)
class HandoffNotAwaitedError(EventError):
    """A turn that offers a handoff ended in a final state, where nobody waits for the answer. The turn was undone."""

    agent_id: str
    event: str
    graph: str  # to which it was offered
    configuration: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"agent {self.agent_id!r} would hand on to {self.graph!r} and end in {', '.join(self.configuration)} on "
            f"{self.event!r}; let the transition lead to a state that waits for handoff.accepted"
        )


@dataclass(eq=False)
class OpenHandoffError(EventError):
    """A rollback would pass the beginning of a handoff that is still open. Nothing was changed."""

    agent_id: str
    version: int
    handoffs: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"agent {self.agent_id!r} cannot go back to version {self.version}: since then began "
            f"{listing(self.handoffs)}, which are open; cancel them, or wait for their end"
        )


@dataclass(eq=False)
class NoHandoffError(EventError):
    """There is no handoff of this id, or nothing can be done about it any more."""

    handoff: str
    status: str | None  # None where there is none

    def __str__(self) -> str:
        known = "there is none" if self.status is None else f"it is {self.status!r}"
        return f"handoff {self.handoff!r}: {known}; look it up with handoffs() or `gatechart handoffs`"
