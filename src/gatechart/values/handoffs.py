"""Handoffs as frozen values: where each is in its life, and what the two agents remember of it."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from gatechart.values.frozen import value
from gatechart.values.names import AgentId, Payload, StateName


class Mode(StrEnum):
    """What a handoff makes of the agent that asks for it."""

    TRANSFER = "transfer"  # it gives the work away
    DELEGATE = "delegate"  # it keeps the work, and waits for the result


class HandoffStatus(StrEnum):
    """Where a handoff is in its life."""

    PENDING = "pending"  # offered; the agent that asks is the owner
    ACCEPTED = "accepted"  # the agent that took it is the owner
    REJECTED = "rejected"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"  # not accepted before its deadline
    UNREADABLE = "unreadable"  # what the database has of it is damaged; cancel_handoff() forgets it


class Reason(StrEnum):
    """Why work is handed on."""

    KNOWLEDGE_GAP = "knowledge gap"
    OUT_OF_SCOPE = "out of scope"
    TOOL_FAILURE = "tool failure"
    USER_ESCALATION = "user escalation"
    COMPLEXITY_EXCEEDED = "complexity exceeded"
    LOW_CONFIDENCE = "low confidence"
    TIMEOUT = "timeout"
    LOOP_DETECTED = "loop detected"
    NO_MATCH = "no match"
    OTHER = "other"


class Obstacle(StrEnum):
    """Why an offer was rejected."""

    UNKNOWN_GRAPH = "unknown graph"  # no such graph, or no such agent of it
    NO_ENTRY = "no such entry point"
    PAYLOAD = "the packet does not fit"
    GUARD = "the guard said no"
    NO_TRANSITION = "no transition leads there"  # of a living agent, as it is now
    OVERLOAD = "no capacity"
    WRONG_SKILLS = "not accepted"  # by the policy of the graph
    LOOP = "a loop"
    ENDED = "the agent has ended"
    FAILURE = "its first turn failed"
    UNREADABLE = "the packet cannot be read"

    @property
    def passes(self) -> bool:
        """Whether the same offer may be taken a while later."""
        return self in (Obstacle.OVERLOAD, Obstacle.FAILURE, Obstacle.NO_TRANSITION, Obstacle.GUARD)


class Side(StrEnum):
    """The part that an agent has in a handoff."""

    ASKED = "asked"
    TOOK = "took"


@value
class HandoffChange:
    """One step in the life of a handoff."""

    status: HandoffStatus
    time: datetime
    details: str = ""


@value
class HandoffRecord:
    """A handoff, as a store keeps it."""

    id: str
    request: str  # the id of the first attempt, its own where it is that
    source: AgentId
    source_graph: str
    target: AgentId
    target_graph: str
    entry_point: str
    is_new: bool  # whether the target begins with it
    mode: Mode
    reason: Reason
    packet: Payload
    deadline: datetime | None
    status: HandoffStatus
    changes: tuple[HandoffChange, ...]  # oldest first; the first is its offer
    result: Payload | None = None  # what a delegation came to
    number: int = 0  # in the order offered, in a store


@value
class OpenHandoff:
    """What an agent remembers of a handoff in which it has a part, as long as it has."""

    id: str  # of the attempt under way
    side: Side
    peer: AgentId  # the other agent
    mode: Mode
    since: int  # the agent's version that asked for it, or took it
    request: str = ""  # the id of the first attempt
    states: tuple[StateName, ...] = ()  # where the one that asked waits
    is_accepted: bool = False
    is_new: bool = False  # whether the agent that took it began with it
    invoke: str = ""  # the id of the invoke that it is
    path: tuple[Payload, ...] = ()  # the agents before, as in the packet that was taken
    session: str = ""  # as in that packet
    reason: Reason = Reason.OTHER  # as in that packet


@value
class HandoffQuery:
    """Which handoffs are asked for, in the order offered."""

    source: AgentId | None = None
    target: AgentId | None = None
    status: HandoffStatus | None = None
    request: str | None = None
    id: str | None = None
    after: int = 0  # the number of the last one of the page before
    limit: int = 100
