"""Circuit breakers: the policy that opens one, its stored state, and its answer to a caller."""

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
    HALF_OPEN = "HALF_OPEN"  # a limited number of calls goes through, to test whether the break is still needed
    ISOLATED = "ISOLATED"  # opened by an operator, until an operator closes it


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerPolicy:
    """When a circuit breaker opens and closes, and for how long it opens. The terms are Polly's and Resilience4j's.

    With both `failures_in_a_row` and `failure_ratio`, it opens at whichever is reached first; with neither, after 5
    failures in a row. Each break that follows a failed trial is `break_growth` times as long as the previous one.

    >>> BreakerPolicy().failures_in_a_row
    5
    >>> policy = BreakerPolicy(failure_ratio=0.5, break_s=30, break_growth=2, most_break_s=100)
    >>> [policy.break_after(breaks) for breaks in (1, 2, 3, 2_000)]
    [30, 60, 100, 100]
    """

    failures_in_a_row: int | None = None  # opens it; 5 if there is no ratio either
    failure_ratio: float | None = None  # opens it: the share of the calls in the window that failed, above 0, at most 1
    window_s: float = 30.0  # over which the ratio is computed
    minimum_throughput: int = 10  # with fewer calls in the window, no ratio opens it
    break_s: float | None = None  # from opening to the first trial; by default 300, and 60 for a tool's breaker
    break_growth: float = 1.0  # 1: all breaks are equally long
    most_break_s: float = 3600.0  # breaks grow no longer than this
    permits: int = 1  # trial calls when half-open: the first failure reopens it, success of all closes it

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
        """Return the seconds of a break. breaks: number of breaks since it last closed, including this one."""
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
    breaks: int = 0  # number of times it opened since it last closed
    reason: str = ""  # cause of the opening, or the operator's words
    # When it first opened since it last closed. Databases do not keep it, so comparisons ignore it.
    open_since: datetime | None = field(default=None, compare=False)


@value
class Permit:
    """The permission for one call, which ends with its success, its failure or its release."""

    name: str  # of the breaker
    entry: int  # number of the breaker's state entry that granted it, counted by the breaker
    number: int = 0  # of a trial when half-open; 0 for a call through a closed breaker


@value
class Rejection:
    """The answer of a circuit breaker that rejects a call."""

    name: str
    state: BreakerState
    retry_at: datetime | None  # when a retry may succeed; None: once an operator closes it
    reason: str  # cause of the opening
    # The first opening since it last closed, and the known refusals since it last opened, including this one.
    open_since: datetime | None = field(default=None, compare=False)
    refused: int = field(default=1, compare=False)


Admission: TypeAlias = Permit | Rejection
"""The answer of a circuit breaker to a caller."""
