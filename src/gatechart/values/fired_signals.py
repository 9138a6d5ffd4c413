"""What a turn noticed: the signals that fired, what was found, and what the chart did about it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from gatechart.values.detectors import Evidence
from gatechart.values.frozen import value
from gatechart.values.handoffs import Reason
from gatechart.values.names import Payload


class Reaction(StrEnum):
    """What became of the event of a signal."""

    TAKEN = "taken"  # by a transition
    ESCAPING = "escaping"  # by none; the plan of the agent finds a way out
    UNTAKEN = "untaken"  # by none; what was found is noted all the same
    UNDONE = "undone"  # by a transition whose actions raised; what they did is undone, the rest of the turn is not


@value
class FiredSignal:
    """A signal that fired in a turn, and the others that fired with it."""

    signal: str  # its name
    reason: Reason
    evidence: tuple[Evidence, ...]  # what each detector found, as JSON values, with its kind under `detector`
    others: tuple[Payload, ...] = ()  # signals that fired with it, each with `signal`, `reason` and `evidence`
    reaction: Reaction = Reaction.UNTAKEN
    problem: str = ""  # what an undone reaction raised

    @property
    def payload(self) -> dict[str, Any]:
        """Payload of its event, as JSON values."""
        found = {"signal": self.signal, "reason": self.reason.value, "evidence": [dict(each) for each in self.evidence]}
        return {**found, "others": [dict(each) for each in self.others]}
