"""Schedules: what starts agents again and again."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from gatechart.values.frozen import value
from gatechart.values.names import AgentId, Payload
from gatechart.values.recurrence import Every


class Overlap(StrEnum):
    """What a schedule does at a moment at which the agent that it started last still lives."""

    SKIP = "skip"  # start none; the moment is passed over
    QUEUE_ONE = "queue_one"  # start one as soon as that agent has ended; further moments until then are passed over
    START = "start"  # start another one


@value
class Schedule:
    """A schedule as it was last committed. An agent of its own keeps it, whose history shows what it did."""

    agent_id: AgentId
    name: str
    graph: str
    at: str  # entry point
    payload: Payload | None
    every: Every  # its period as text
    overlap: Overlap
    next: datetime | None  # None while it is paused, or if no moment follows up to the year 9999
    last: datetime | None  # the last moment at which an agent was to be started
    started: tuple[AgentId, ...]  # the newest ten agents, the newest last
    skipped: int  # moments passed over by its overlap policy so far
    problem: str  # why the last agent could not be started; empty if it could

    @property
    def is_paused(self) -> bool:
        """Whether it starts no agents by itself."""
        return self.next is None
