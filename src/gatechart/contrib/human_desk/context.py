"""What is known of a case at the desk, and the payloads of the events about it, which guards check."""

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
    """With ANSWER: the operator says something in the conversation."""

    text: Text


class SubtaskAsked(BaseModel):
    """With SUBTASK: an automatic agent is to do a part of it."""

    to: Text  # the name of a graph
    at: Text  # its entry point
    task: str = ""  # what is to be done, the current problem of the packet
    entities: dict[str, JsonValue] = Field(default_factory=dict)  # besides those of the case
    deadline: str | float | None = None  # a delay, for the result
    reason: Reason = Reason.OTHER


class _Concluded(BaseModel):
    rating: Rating | None = None  # of the handoff
    needed: bool | None = None  # whether handing on was needed; by the rating where left out
    in_time: bool | None = None  # whether it came in time, rather than too late
    note: str = ""  # for the agent that asked

    @property
    def was_needed(self) -> bool | None:
        """Whether handing on was needed: as it is said, else by a rating that is not the middle one."""
        if self.needed is not None or self.rating in (None, _MIDDLE):
            return self.needed
        return self.rating > _MIDDLE


class Resolved(_Concluded):
    """With RESOLVE: the case is done."""

    answer: str = ""  # the last answer given where left out


class Returned(_Concluded):
    """With RETURN: the agent that asked, and still has the case, goes on without an answer."""


class GoingBack(_Concluded):
    """With RETURN_TO_AGENT: the agent that gave the case away has it again."""

    at: Text  # one of the entry points of its graph


class SubtaskStatus(StrEnum):
    """The state of a sub-task."""

    ASKED = "asked"
    COMPLETED = "completed"
    FAILED = "failed"
    WITHDRAWN = "withdrawn"  # the case went on without it


class Subtask(BaseModel):
    """Something that an automatic agent does for the case."""

    handoff: str
    graph: str
    entry_point: str
    task: str = ""
    status: SubtaskStatus = SubtaskStatus.ASKED
    result: dict[str, JsonValue] = Field(default_factory=dict)
    details: str = ""  # why it failed


class DeskContext(ConversationContext):
    """A case at the desk: the conversation, who asks and why, and what the operator makes of it.

    Fields of the agent that asks never fill those of the desk, even where they have the same name: they stay in the
    internal state.
    """

    priority: Priority = Priority.NORMAL
    arrived: datetime | None = None
    overdue: bool = False  # the time limit has passed

    handoff: str = ""  # by which it came; empty where somebody started it
    mode: Mode | None = None
    reason: Reason | None = None
    asked_by: AgentId = ""
    asked_graph: str = ""
    asked_state: str = ""  # in which that agent was
    path: list[PathStep] = Field(default_factory=list)  # the agents before, the one that asks last
    attempts: list[Attempt] = Field(default_factory=list)  # to hand it to others
    evidence: str = ""  # of a loop, or of a packet that cannot be read

    operator: str = ""
    answer: str = ""  # the last one given
    rating: int | None = None  # of the handoff, by the operator: 1, of no use, to 5
    needed: bool | None = None  # whether handing on was, for the operator
    in_time: bool | None = None
    remark: str = ""  # the operator's, for the agent that asks
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
        """Return the packet for the next agent, without the desk's own fields. more: see `packet`."""
        return self.packet(reason, **{"internal_state": self.internal_state, **more})
