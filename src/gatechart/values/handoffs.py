"""Handoffs as frozen values: their status, and the records that both agents keep of them."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from gatechart.values.frozen import value
from gatechart.values.names import HIGHEST_NUMBER, AgentId, Payload, StateName
from gatechart.values.secrets import shown_repr


class Mode(StrEnum):
    """The effect of a handoff on the source agent."""

    TRANSFER = "transfer"  # the source hands the work over
    DELEGATE = "delegate"  # the source keeps the work and waits for the result


class HandoffStatus(StrEnum):
    """The status of a handoff."""

    CHOOSING = "choosing"  # its target is not chosen yet; the source is the owner, and no offer was sent
    PENDING = "pending"  # offered; the source is the owner
    ACCEPTED = "accepted"  # the target is the owner
    REJECTED = "rejected"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"  # not accepted before its deadline
    UNREADABLE = "unreadable"  # its stored data is damaged; cancel_handoff() forgets it


class Reason(StrEnum):
    """The reason for a handoff."""

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

    @classmethod
    def _missing_(cls, value: object) -> None:
        raise ValueError(f"{value!r} is no reason; use {', '.join(repr(reason.value) for reason in cls)}")


class Obstacle(StrEnum):
    """The reason why an offer was rejected, or had no target."""

    UNKNOWN_GRAPH = "unknown graph"  # unknown graph, or no such agent of it
    NO_ENTRY = "no such entry point"
    PAYLOAD = "the packet does not fit"
    GUARD = "the guard said no"
    NO_TRANSITION = "no transition leads there"  # the running target's current state has no transition for it
    OVERLOAD = "no capacity"
    CLOSED = "closed"  # by an operator
    WRONG_SKILLS = "not accepted"  # refused by the policy of the graph
    LOOP = "a loop"
    ENDED = "the agent has ended"
    FAILURE = "its first turn failed"
    UNREADABLE = "the packet cannot be read"
    NO_MATCH = "no match"  # no entry of the directory is suitable

    @property
    def passes(self) -> bool:
        """Whether the same offer may be accepted later."""
        return self in (Obstacle.OVERLOAD, Obstacle.CLOSED, Obstacle.FAILURE, Obstacle.NO_TRANSITION, Obstacle.GUARD)


class Side(StrEnum):
    """The agent's part in a handoff."""

    ASKED = "asked"
    TOOK = "took"


@value
class HandoffChange:
    """One change of a handoff's status."""

    status: HandoffStatus
    time: datetime
    details: str = ""


@value
class HandoffRecord:
    """A stored handoff. While its target is being chosen, its source is its target as well."""

    id: str
    request: str  # id of the first attempt; equal to `id` for that attempt
    source: AgentId
    source_graph: str
    target: AgentId
    target_graph: str
    entry_point: str
    is_new: bool  # whether the handoff starts the target agent
    mode: Mode
    reason: Reason
    packet: Payload
    deadline: datetime | None
    status: HandoffStatus
    changes: tuple[HandoffChange, ...]  # oldest first; the offer is the first
    result: Payload | None = None  # result of a delegation
    number: int = 0  # in the order offered, in a store
    choice: Payload | None = None  # why its target was chosen, or none was: an Explanation as JSON

    __repr__ = shown_repr

    @property
    def is_to_nobody(self) -> bool:
        """Whether it has no target: it is not chosen yet, or no entry was suitable."""
        return bool(self.packet.get("selection")) and not self.packet.get("recipient")


@value
class OpenHandoff:
    """An agent's own record of a handoff that it is a party to."""

    id: str  # of the current attempt
    side: Side
    peer: AgentId  # the other agent
    mode: Mode
    since: int  # the agent's version that offered or accepted it
    request: str = ""  # id of the first attempt
    states: tuple[StateName, ...] = ()  # where the source waits
    is_accepted: bool = False
    is_new: bool = False  # whether the handoff started the target agent
    invoke: str = ""  # id of the invoke that delegates
    path: tuple[Payload, ...] = ()  # earlier agents, as in the accepted packet
    session: str = ""  # from the same packet
    reason: Reason = Reason.OTHER  # from the same packet
    recipient: str = ""  # id of the chosen candidate; empty if the graph names the target
    work: Payload | None = None  # data for the directory when it ends; None if no entry of the directory is involved
    is_choosing: bool = False  # whether the target is not chosen yet; the peer is then the agent itself


@value
class HandoffQuery:
    """A query for handoffs, answered in the order offered, or the newest first."""

    source: AgentId | None = None
    target: AgentId | None = None
    status: HandoffStatus | None = None
    request: str | None = None
    id: str | None = None
    after: int = 0  # number of the previous page's last handoff
    limit: int = 100
    newest_first: bool = False

    def is_after(self, number: int) -> bool:
        """Return whether the handoff with this number comes after the previous page."""
        return number < (self.after or HIGHEST_NUMBER) if self.newest_first else number > self.after
