"""The limits of the watchdog, and its actions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from gatechart.values.hosts import BEAT_S

SENT_WINDOW_S: Final = 3600.0
"""Window, in seconds, where hosts count failed and refused sent events in memory."""


class Act(StrEnum):
    """An action of the watchdog on a finding, taken once, in addition to the report."""

    WAKE = "wake"  # let the agent process its mail again
    RESTART = "restart"  # restart the agent at an entry point, with the usual checks
    ESCALATE = "escalate"  # hand the agent's work on, for example to a person


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchdogTerms:
    """Limits of the watchdog; values beyond them are reported. Durations are in seconds."""

    mail_s: float = 300.0  # age of waiting mail that could be applied
    unclaimed_s: float = 3600.0  # age of mail for an agent that does not exist
    breaker_s: float = 60.0  # time of an open circuit breaker
    silent_s: float = 3 * BEAT_S  # time of a host without a heartbeat
    busy_s: float = 120.0  # time of a host that uses its processors without a turn
    window_s: float = 3600.0  # window for refused mail; the window for sent events is always an hour
    refusals: int = 10  # refused mail and sent events of an agent, together; at most 100 sent events count
    undone: int = 3  # raising turns of events sent to an agent, within an hour; at most 100 count
    failures: int = 2  # failed attempts to apply a piece of mail
    learns: bool = True  # whether norms for states without `expects` are learned from their agents
    least: int = 100  # minimum number of known silences of a state for a learned norm
    quantile: float = 0.99  # quantile of the silences; a multiple of it is the norm
    factor: float = 3.0  # the multiple
    least_s: float = 60.0  # the shortest learned norm
    most: int = 1000  # limit for each kind of row in one round

    def __post_init__(self) -> None:
        if not 0 < self.quantile <= 1 or self.factor < 1 or min(self.least, self.most, self.refusals, self.undone) < 1:
            raise ValueError(
                f"{self!r} is not valid: quantile must be above 0 and at most 1; factor, least, most, refusals "
                "and undone must be 1 or more"
            )
