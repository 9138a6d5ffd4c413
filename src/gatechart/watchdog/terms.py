"""What counts as wrong, and what is done about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from gatechart.values import BEAT_S

SENT_WINDOW_S: Final = 3600.0
"""Over which hosts count, in memory, what went wrong with events that were sent."""


class Act(StrEnum):
    """What the watchdog does about a finding, once, beside reporting it."""

    WAKE = "wake"  # have the agent look at its mail again
    RESTART = "restart"  # have the agent begin anew at an entry point, checked as any way in
    ESCALATE = "escalate"  # hand the agent's work on, to a person for example


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchdogTerms:
    """The limits beyond which something is found. Durations are in seconds."""

    mail_s: float = 300.0  # mail that could be applied, and waits for longer, is found
    unclaimed_s: float = 3600.0  # mail for an agent that does not exist
    breaker_s: float = 60.0  # an open circuit breaker
    silent_s: float = 3 * BEAT_S  # a host without a sign of life
    busy_s: float = 120.0  # a host that uses its processors without a turn
    window_s: float = 3600.0  # over which refused mail is counted; events that were sent are counted over an hour
    refusals: int = 10  # mail and sent events of an agent, together, that are found; up to 100 sent events count
    undone: int = 3  # turns of events sent to an agent that raised, within an hour, that are found; up to 100 count
    failures: int = 2  # failed attempts at applying a piece of mail
    learns: bool = True  # whether states without `expects` have what their agents showed to be normal
    least: int = 100  # silences of a state that must be known for that
    quantile: float = 0.99  # of them, of which a multiple is normal
    factor: float = 3.0  # the multiple
    least_s: float = 60.0  # the shortest norm that is learned
    most: int = 1000  # of each kind that a look goes through

    def __post_init__(self) -> None:
        if not 0 < self.quantile <= 1 or self.factor < 1 or min(self.least, self.most, self.refusals, self.undone) < 1:
            raise ValueError(
                f"{self!r} is not possible: quantile is above 0 and at most 1, factor, least, most, refusals "
                "and undone are 1 or more"
            )
