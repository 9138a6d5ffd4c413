"""Schedules, which start agents repeatedly."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final

from gatechart.values.delays import Delay, seconds_of
from gatechart.values.frozen import value
from gatechart.values.names import AgentId, Payload
from gatechart.values.recurrence import Every

SHORTEST_PERIOD_S: Final = 0.1
"""The shortest time between moments of a schedule, in seconds. Recurring timers of charts may have shorter periods."""

MOST_RUNNING: Final = 100
"""Default limit of concurrent agents of a schedule with `Overlap.START`."""

MOST_COUNTED: Final = 1_000
"""The highest limit that a schedule can set: it reads each of these agents before it starts another one."""


def is_too_short(period: Delay | None) -> bool:
    """Return whether a schedule with this period would start agents too often.

    >>> is_too_short("99ms"), is_too_short("100ms"), is_too_short(None)
    (True, False, False)
    """
    seconds = None if period is None else seconds_of(period)
    return seconds is not None and seconds < SHORTEST_PERIOD_S


class Overlap(StrEnum):
    """The policy of a schedule at a moment when the last agent that it started is still active."""

    SKIP = "skip"  # start none; the moment is skipped
    QUEUE_ONE = "queue_one"  # start one as soon as that agent has ended; further moments until then are skipped
    START = "start"  # start another one, unless too many are still active


@value
class Schedule:
    """A schedule as last committed. A dedicated agent keeps it; the history of that agent shows its runs."""

    agent_id: AgentId
    name: str
    graph: str
    at: str  # entry point
    payload: Payload | None
    every: Every  # its period as text
    overlap: Overlap
    next: datetime | None  # None while paused, or if no moment follows up to the year 9999
    last: datetime | None  # the last moment when it was due to start an agent
    started: tuple[AgentId, ...]  # the newest ten agents, the newest last
    skipped: int  # moments skipped by its overlap policy so far
    problem: str  # why the last start failed, or why it starts fewer agents than its period implies; else empty
    most_running: int = MOST_RUNNING  # limit of concurrent agents with `Overlap.START`

    @property
    def is_paused(self) -> bool:
        """Whether it starts no agents by itself."""
        return self.next is None
