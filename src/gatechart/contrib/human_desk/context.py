"""The context of a case at the desk, and the payloads of its events, which guards check."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, Field, JsonValue, StringConstraints

from gatechart.handoff.conversation import ConversationContext
from gatechart.handoff.packet import Attempt, HandoffPacket, PathStep, Priority
from gatechart.values.handoffs import Mode, Reason
from gatechart.values.names import AgentId

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Rating = Annotated[int, Field(ge=1, le=5, strict=True)]
_MIDDLE = 3  # of the ratings


class Taken(BaseModel):
    """With TAKE: an operator takes the case."""

    operator: Text


class Answered(BaseModel):
    """With ANSWER: the operator replies in the conversation."""

    text: Text


class SubtaskAsked(BaseModel):
    """With SUBTASK: the operator delegates a part of the case to an automatic agent."""

    to: Text  # the name of a graph
    at: Text  # its entry point
    task: str = ""  # the current problem of the packet; by default the case's
    entities: dict[str, JsonValue] = Field(default_factory=dict)  # in addition to the case's entities
    deadline: str | float | None = None  # time limit for the result, a delay
    reason: Reason = Reason.OTHER


class _Concluded(BaseModel):
    rating: Rating | None = None  # of the handoff
    needed: bool | None = None  # whether the handoff was needed; by default derived from the rating
    in_time: bool | None = None  # whether it came in time
    note: str = ""  # for the source agent

    @property
    def was_needed(self) -> bool | None:
        """Whether the handoff was needed: `needed` if set, else whether the rating is above the middle."""
        if self.needed is not None or self.rating in (None, _MIDDLE):
            return self.needed
        return self.rating > _MIDDLE


class Resolved(_Concluded):
    """With RESOLVE: the case is done."""

    answer: str = ""  # by default the last answer of the conversation


class Returned(_Concluded):
    """With RETURN: the source, which still has the case, continues without an answer."""


class GoingBack(_Concluded):
    """With RETURN_TO_AGENT: the case goes back to the agent that transferred it."""

    at: Text  # one of the entry points of its graph


class SubtaskStatus(StrEnum):
    """The state of a sub-task."""

    ASKED = "asked"
    COMPLETED = "completed"
    FAILED = "failed"
    WITHDRAWN = "withdrawn"  # the case was concluded without it


class Subtask(BaseModel):
    """A part of the case that is delegated to an automatic agent."""

    handoff: str
    graph: str
    entry_point: str
    task: str = ""
    status: SubtaskStatus = SubtaskStatus.ASKED
    result: dict[str, JsonValue] = Field(default_factory=dict)
    details: str = ""  # why it failed


class DeskContext(ConversationContext):
    """A case at the desk: the conversation, its source and reason, and the operator's work.

    Fields of the source agent never fill fields of the desk, even with the same name: they stay in the internal state.
    """

    priority: Priority = Priority.NORMAL
    arrived: datetime | None = None
    overdue: bool = False  # the time limit has passed

    handoff: str = ""  # the handoff that brought it; empty if it was started directly
    mode: Mode | None = None
    reason: Reason | None = None
    asked_by: AgentId = ""
    asked_graph: str = ""
    asked_state: str = ""  # the state of the source agent
    path: list[PathStep] = Field(default_factory=list)  # the earlier agents, the source last
    attempts: list[Attempt] = Field(default_factory=list)  # earlier offers to other targets
    evidence: str = ""  # of a loop, or of a packet that cannot be read

    operator: str = ""
    answer: str = ""  # the last answer
    rating: int | None = None  # the operator's rating of the handoff, from 1 (of no use) to 5
    needed: bool | None = None  # whether the handoff was needed, by the operator
    in_time: bool | None = None
    remark: str = ""  # the operator's note for the source agent
    subtasks: list[Subtask] = Field(default_factory=list)

    @classmethod
    def fields_from(cls, packet: HandoffPacket) -> dict[str, Any]:
        """See ConversationContext."""
        return ConversationContext.fields_from(packet) | {
            "handoff": packet.handoff_id,
            "mode": packet.mode,
            "reason": packet.reason,
            "asked_by": packet.source_agent,
            "asked_graph": packet.source_graph,
            "asked_state": packet.source_state,
            "path": list(packet.path),
            "attempts": list(packet.attempts),
            "evidence": packet.evidence,
        }

    def handed_on(self, reason: Reason, **more: Any) -> HandoffPacket:
        """Return the packet for the next agent, without fields of the desk. more: see `packet`."""
        return self.packet(reason, **{"internal_state": self.internal_state, **more})
