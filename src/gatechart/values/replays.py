"""Recorded turns, replayed on another version of a graph."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from gatechart.values.frozen import value
from gatechart.values.names import AgentId, EventName


class Fidelity(StrEnum):
    """The result of comparing a replayed turn with its record."""

    SAME = "same"
    DIFFERS = "differs"
    UNCLEAR = "unclear"  # it differs, but the version that made the record does not reproduce it either
    SKIPPED = "skipped"  # not a decision of the graph, or too little of the record is left


@value
class Difference:
    """A difference between a turn and its record in one aspect. Both sides are JSON values."""

    aspect: str  # configuration, status, history memory, context.<field>, effects or outcome
    recorded: Any
    replayed: Any

    def __str__(self) -> str:
        return f"{self.aspect}: recorded {self.recorded!r}, now {self.replayed!r}"


@value
class ReplayedTurn:
    """A replayed turn."""

    agent_id: AgentId
    version: int  # of the agent after the turn
    event: EventName
    time: datetime
    fidelity: Fidelity
    differences: tuple[Difference, ...] = ()
    effects_known: bool = True  # whether effects were compared: another version, still available, made the record
    is_own_record: bool = False  # whether the replaying version itself made the record
    reason: str = ""  # why it was skipped
    fires: tuple[str, ...] = ()  # names of the signals that fire in the replay
    trail_known: bool = True  # whether the replay had the agent's trail up to that turn

    def __str__(self) -> str:
        details = "; ".join(map(str, self.differences)) or self.reason
        return (
            f"{self.agent_id} version {self.version}, {self.event}: {self.fidelity}{f': {details}' if details else ''}"
        )
