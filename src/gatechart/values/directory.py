"""The directory of entries that work can be handed to: people, agents and entry points of graphs."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final

from gatechart.values.framework import ENTRY_AGENT
from gatechart.values.frozen import value
from gatechart.values.names import AgentId
from gatechart.values.profiles import Candidate

CHOSEN: Final = "gatechart.chosen"
"""Event that reports a choice to the agent of the chosen entry, with all data needed later."""

OUTCOME: Final = "gatechart.outcome"
"""Event that reports the end of work to the agent of the entry that accepted it."""

MOST_ENTRIES: Final = 100
"""The maximum number of entries of one named registrant in the directory, unless a home sets another limit."""


class Mark(StrEnum):
    """An operator's decision about an entry of the directory."""

    NONE = "none"
    PINNED = "pinned"  # it is preferred to all other matches
    EXCLUDED = "excluded"  # selections leave it out; handoffs that name it still reach it
    CLOSED = "closed"  # it accepts no new work; open work continues


class Ended(StrEnum):
    """How work accepted by an entry ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    CAME_BACK = "came_back"  # handed on to an agent that had the work before


@value
class WorkOutcome:
    """The outcome of work that an entry of the directory accepted."""

    handoff: str  # handoff id
    ended: Ended
    at: datetime
    user: str = ""  # the user it was for; empty if the packet names none
    source: AgentId = ""  # the agent that handed on the work
    reason: str = ""  # why the work was handed on
    kind: str = ""  # of problem: the first domain or capability that the work needed, else the reason
    handed_on: int = 0  # number of further handoffs before it ended
    took_s: float = 0.0  # from its acceptance to its end
    cost: float | None = None  # as reported with the end of the work; None if not reported
    needed: bool | None = None  # a person's answer: whether the handoff was needed; None if not answered
    in_time: bool | None = None  # a person's answer: whether the handoff came early enough
    quality: float | None = None  # quality of the work, from 0 to 1


@value
class DirectoryEntry:
    """An entry of the directory: a target for work, with its current availability and results.

    A dedicated agent keeps its stored data. The history of that agent shows who changed it.
    """

    candidate: Candidate  # the entry as selections see it
    unavailable: str = ""  # why it accepts no work now; empty if it does
    mark: Mark = Mark.NONE
    mark_reason: str = ""
    registrant: str = ""  # who registered it
    expires: datetime | None = None  # None: it stays until it is deregistered
    completed: int = 0  # pieces of work, so far
    failed: int = 0
    came_back: int = 0
    outcomes: tuple[WorkOutcome, ...] = ()  # the most recent ones, the newest last
    former_registrant: str | None = None  # previous owner of the id, whose record was dropped
    changed_hands: datetime | None = None  # time of the change of owner, if there was one

    @property
    def id(self) -> str:
        """Its id: "orders.REVIEWING" for an entry point of a local graph, else the id it was registered under."""
        return self.candidate.id

    @property
    def agent_id(self) -> AgentId:
        """Id of the agent that keeps its data, once there is any."""
        return f"{ENTRY_AGENT}{self.candidate.id}"


def counted_under(graph: str, entry_point: str, recipient: str) -> set[str]:
    """Return the names that open work counts under: graph, entry point, recipient, and the agent of the recipient.

    recipient: id of the chosen entry; empty if the graph names the target.

    >>> sorted(counted_under("refunds", "REVIEWING", "anna"))
    ['anna', 'directory:anna', 'refunds', 'refunds.REVIEWING']
    """
    names = {graph, f"{graph}.{entry_point}"}
    return names | {recipient, f"{ENTRY_AGENT}{recipient}"} if recipient else names
