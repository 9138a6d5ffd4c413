"""Schedules: what starts agents again and again."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final

from gatechart.values.delays import Delay, seconds_of
from gatechart.values.frozen import value
from gatechart.values.names import AgentId, Payload
from gatechart.values.recurrence import Every

SHORTEST_PERIOD_S: Final = 0.1
"""Seconds between the moments of a schedule, at least; a recurring timer of a chart may have a shorter period."""

MOST_RUNNING: Final = 100
"""Agents of a schedule that run at once with `Overlap.START`, unless it says otherwise."""

MOST_COUNTED: Final = 1_000
"""The most that a schedule may say: it looks at each of them before it starts another one."""


def is_too_short(period: Delay | None) -> bool:
    """Return whether a schedule with this period would start agents too often.

    >>> is_too_short("99ms"), is_too_short("100ms"), is_too_short(None)
    (True, False, False)
    """
    seconds = None if period is None else seconds_of(period)
    return seconds is not None and seconds < SHORTEST_PERIOD_S


class Overlap(StrEnum):
    """What a schedule does at a moment at which the agent that it started last still lives."""

    SKIP = "skip"  # start none; the moment is passed over
    QUEUE_ONE = "queue_one"  # start one as soon as that agent has ended; further moments until then are passed over
    START = "start"  # start another one, unless too many still live


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
    problem: str  # why the last agent could not be started, or why it starts fewer than its period says; else empty
    most_running: int = MOST_RUNNING  # agents that may live at once with `Overlap.START`

    @property
    def is_paused(self) -> bool:
        """Whether it starts no agents by itself."""
        return self.next is None
