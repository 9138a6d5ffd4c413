"""The signals that fired in a turn, with their evidence and the reaction of the chart."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from gatechart.values.detectors import Evidence
from gatechart.values.frozen import value
from gatechart.values.handoffs import Reason
from gatechart.values.names import Payload


class Reaction(StrEnum):
    """The chart's reaction to the event of a signal."""

    TAKEN = "taken"  # a transition took it
    ESCAPING = "escaping"  # no transition took it; the agent's plan finds an escape route
    UNTAKEN = "untaken"  # no transition took it; the evidence is still recorded
    UNDONE = "undone"  # actions of its transition raised; their changes are undone, the rest of the turn stays


@value
class FiredSignal:
    """A signal that fired in a turn, and the others that fired with it."""

    signal: str  # name of the signal
    reason: Reason
    evidence: tuple[Evidence, ...]  # of each detector, as JSON values, with the detector's kind under `detector`
    others: tuple[Payload, ...] = ()  # signals that fired with it, each with `signal`, `reason` and `evidence`
    reaction: Reaction = Reaction.UNTAKEN
    problem: str = ""  # exception of an undone reaction

    @property
    def payload(self) -> dict[str, Any]:
        """Payload of its event, as JSON values."""
        return {
            "signal": self.signal,
            "reason": self.reason.value,
            "evidence": [dict(evidence) for evidence in self.evidence],
            "others": [dict(other) for other in self.others],
        }
