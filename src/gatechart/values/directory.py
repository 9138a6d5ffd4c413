"""The directory: what is kept of whoever work can be handed to."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final

from gatechart.values.framework import ENTRY_AGENT
from gatechart.values.frozen import value
from gatechart.values.names import AgentId
from gatechart.values.profiles import Candidate

CHOSEN: Final = "gatechart.chosen"
"""Event that reports a choice to the agent of the entry that was chosen, with all that is needed about it later."""

OUTCOME: Final = "gatechart.outcome"
"""Event that reports how work ended to the agent of the entry that took it."""

MOST_ENTRIES: Final = 100
"""The most entries that one named registrant can have in the directory, unless a home sets another bound."""


class Mark(StrEnum):
    """What an operator decided about an entry of the directory."""

    NONE = "none"
    PINNED = "pinned"  # it goes before all others that fit
    EXCLUDED = "excluded"  # it is not chosen; what names it still reaches it
    CLOSED = "closed"  # it takes no work at all; what it has goes on


class Ended(StrEnum):
    """How work ended that an entry took."""

    COMPLETED = "completed"
    FAILED = "failed"
    CAME_BACK = "came_back"  # handed on to an agent that had it before


@value
class WorkOutcome:
    """What came of work that an entry of the directory took."""

    handoff: str  # handoff id
    ended: Ended
    at: datetime
    user: str = ""  # for whom it was; empty if the packet did not say
    source: AgentId = ""  # the agent that handed it on
    reason: str = ""  # why it was handed on
    kind: str = ""  # of problem: the first domain or capability that it needed, else the reason
    handed_on: int = 0  # how often it was handed on again before it ended
    took_s: float = 0.0  # from its acceptance to its end
    cost: float | None = None  # what whoever ended it says that it cost; None if nobody said
    needed: bool | None = None  # a person's answer: whether handing on was needed; None if nobody said
    in_time: bool | None = None  # whether it came in time, rather than too late
    quality: float | None = None  # how good the work was, from 0 to 1


@value
class DirectoryEntry:
    """An entry of the directory: whom work can be handed to, and how things stand there now.

    For what is kept of it, an agent of its own, whose history shows who changed it.
    """

    candidate: Candidate  # as a choice sees it
    unavailable: str = ""  # why it takes no work now; empty if it does
    mark: Mark = Mark.NONE
    mark_reason: str = ""
    registrant: str = ""  # who registered it
    expires: datetime | None = None  # None: it stays until it is deregistered
    completed: int = 0  # pieces of work, so far
    failed: int = 0
    came_back: int = 0
    outcomes: tuple[WorkOutcome, ...] = ()  # the newest, the newest last
    former_registrant: str | None = None  # previous owner of the id; its record was dropped
    changed_hands: datetime | None = None  # time of the change of owner, if there was one

    @property
    def id(self) -> str:
        """Its id: "orders.REVIEWING" for an entry point of a graph here, else that under which it was registered."""
        return self.candidate.id

    @property
    def agent_id(self) -> AgentId:
        """The agent that keeps it, once there is something to keep."""
        return f"{ENTRY_AGENT}{self.candidate.id}"


def counted_under(graph: str, entry_point: str, recipient: str) -> set[str]:
    """Return the names under which open work counts: its graph, entry point, and recipient, as itself and its agent.

    recipient: who was chosen; empty if the target was named.

    >>> sorted(counted_under("refunds", "REVIEWING", "anna"))
    ['anna', 'directory:anna', 'refunds', 'refunds.REVIEWING']
    """
    names = {graph, f"{graph}.{entry_point}"}
    return names | {recipient, f"{ENTRY_AGENT}{recipient}"} if recipient else names
