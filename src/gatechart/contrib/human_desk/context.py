"""What is known of a case at the desk."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, Field, JsonValue

from gatechart.handoff import Attempt, ConversationContext, HandoffPacket, PathStep, Priority
from gatechart.values import AgentId, Mode, Reason


class SubtaskStatus(StrEnum):
    """What became of a sub-task."""

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
        """The packet for the next agent, without what is of the desk alone. more: see `packet`."""
        return self.packet(reason, internal_state=self.internal_state, **more)
