"""Circuit breakers: when one opens, what is known of one that has opened, and the answer to a caller that asks it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeAlias

from gatechart.values.frozen import value

_DEFAULT_FAILURES: Final = 5
_BARE_BREAK_S: Final = 300.0


class BreakerState(StrEnum):
    """The state of a circuit breaker."""

    CLOSED = "CLOSED"  # calls go through
    OPEN = "OPEN"  # calls are rejected until the break is over
    HALF_OPEN = "HALF_OPEN"  # a limited number of calls goes through, to try whether the break is needed any longer
    ISOLATED = "ISOLATED"  # opened by an operator, until an operator closes it


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerPolicy:
    """When a circuit breaker opens, for how long, and what closes it again. The terms are Polly's and Resilience4j's.

    With both `failures_in_a_row` and `failure_ratio` it opens at whichever comes first; with neither, after 5 failures
    in a row. Each break that follows a failed trial is `break_growth` times as long as the one before.

    >>> BreakerPolicy().failures_in_a_row
    5
    >>> policy = BreakerPolicy(failure_ratio=0.5, break_s=30, break_growth=2, most_break_s=100)
    >>> [policy.break_after(breaks) for breaks in (1, 2, 3, 2_000)]
    [30, 60, 100, 100]
    """

    failures_in_a_row: int | None = None  # opens it; 5 where there is no ratio either
    failure_ratio: float | None = None  # opens it: the part of the calls in the window that failed, above 0, at most 1
    window_s: float = 30.0  # over which the ratio is taken
    minimum_throughput: int = 10  # calls in the window, below which no ratio opens it
    break_s: float | None = None  # from opening to the first trial; 300, and 60 under a tool
    break_growth: float = 1.0  # 1: all breaks are equally long
    most_break_s: float = 3600.0  # where breaks stop growing
    permits: int = 1  # trial calls at half-open: the first that fails opens it again, the success of all closes it

    def __post_init__(self) -> None:
        if self.failures_in_a_row is None and self.failure_ratio is None:
            object.__setattr__(self, "failures_in_a_row", _DEFAULT_FAILURES)
        if problem := self._problem():
            raise ValueError(f"{self!r}: {problem}")

    def _problem(self) -> str:
        counts = (self.failures_in_a_row or 1, self.minimum_throughput, self.permits)
        if self.failures_in_a_row == 0 or min(counts) < 1:
            return "failures_in_a_row, minimum_throughput and permits are 1 or more"
        if self.failure_ratio is not None and not 0 < self.failure_ratio <= 1:
            return "failure_ratio is above 0 and at most 1"
        if not (self.window_s > 0 and self._break_s > 0 and self.most_break_s > 0 and self.break_growth >= 1):
            return "window_s, break_s and most_break_s are above 0, break_growth is 1 or more"
        return ""

    @property
    def _break_s(self) -> float:
        return _BARE_BREAK_S if self.break_s is None else self.break_s

    def break_after(self, breaks: int) -> float:
        """Return the seconds of a break. breaks: how many there were since it was closed last, with this one."""
        most = max(self._break_s, self.most_break_s)
        try:
            return min(self._break_s * self.break_growth ** (breaks - 1), most)
        except OverflowError:
            return most


@value
class BreakerRecord:
    """A circuit breaker as it is stored and shown."""

    name: str
    state: BreakerState
    since: datetime  # when it entered the state
    retry_at: datetime | None = None  # when the next trial may begin; None unless it is open
    breaks: int = 0  # how often it has opened since it was closed last
    reason: str = ""  # what opened it, or the operator's words
    # When it opened first since it was closed last. Databases do not keep it, so it makes no difference.
    open_since: datetime | None = field(default=None, compare=False)


@value
class Permit:
    """The permission for one call, which ends with its success, its failure or its release."""

    name: str  # of the breaker
    entry: int  # the entry of the state in which it was given, counted by the breaker
    number: int = 0  # of a trial at half-open; 0 for a call through a closed breaker


@value
class Rejection:
    """The answer of a circuit breaker that lets no call through."""

    name: str
    state: BreakerState
    retry_at: datetime | None  # when it is worth asking again; None: when an operator closes it
    reason: str  # what opened it
    # When it opened first since it was closed last, if that is known; and how many calls it has refused since it opened
    # last, this one included, or a lower bound.
    open_since: datetime | None = field(default=None, compare=False)
    refused: int = field(default=1, compare=False)


Admission: TypeAlias = Permit | Rejection
"""The answer of a circuit breaker to a caller that asks it."""
