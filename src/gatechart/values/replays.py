"""Recorded turns, played again through another version of a graph."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from gatechart.values.frozen import value
from gatechart.values.names import AgentId, EventName


class Fidelity(StrEnum):
    """How a turn that was played again compares with what is recorded of it."""

    SAME = "same"
    DIFFERS = "differs"
    UNCLEAR = "unclear"  # it differs, but the version that made the record does not repeat it either
    SKIPPED = "skipped"  # no decision of the graph, or too little is left of it


@value
class Difference:
    """One aspect in which a turn differs. Both sides are JSON values."""

    aspect: str  # configuration, status, history memory, context.<field>, effects or outcome
    recorded: Any
    replayed: Any

    def __str__(self) -> str:
        return f"{self.aspect}: recorded {self.recorded!r}, now {self.replayed!r}"


@value
class ReplayedTurn:
    """A turn that was played again."""

    agent_id: AgentId
    version: int  # of the agent after the turn
    event: EventName
    time: datetime
    fidelity: Fidelity
    differences: tuple[Difference, ...] = ()
    effects_known: bool = True  # whether another version made the record and was there, so that effects were compared
    is_own_record: bool = False  # whether the very version that played it made the record
    reason: str = ""  # why it was skipped
    fires: tuple[str, ...] = ()  # the signals that fire in it now, by name
    trail_known: bool = True  # whether it was played with what the agent had noticed until then

    def __str__(self) -> str:
        told = "; ".join(map(str, self.differences)) or self.reason
        return f"{self.agent_id} version {self.version}, {self.event}: {self.fidelity}{f': {told}' if told else ''}"
