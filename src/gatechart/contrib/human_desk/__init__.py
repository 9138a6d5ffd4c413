"""A desk where people work: each case that they receive is an agent."""

from gatechart.contrib.human_desk.context import (
    Answered,
    DeskContext,
    GoingBack,
    Resolved,
    Returned,
    Subtask,
    SubtaskAsked,
    SubtaskStatus,
    Taken,
)
from gatechart.contrib.human_desk.graph import ENTRY_POINTS, RANKS, desk, human_desk

__all__ = [
    "ENTRY_POINTS",
    "RANKS",
    "Answered",
    "DeskContext",
    "GoingBack",
    "Resolved",
    "Returned",
    "Subtask",
    "SubtaskAsked",
    "SubtaskStatus",
    "Taken",
    "desk",
    "human_desk",
]
