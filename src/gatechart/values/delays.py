"""Delays in human-readable form, and the retry policies that wait for them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeAlias

Delay: TypeAlias = str | int | float | timedelta  # "500ms", "30s", "2m", "1h", "7d"; numbers are seconds

_UNITS_S: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
PATTERN: Final = r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*(ms|s|m|h|d)"
"""Pattern of a delay as text, without surrounding white space."""

LONGEST_S: Final = 36525 * 86400
"""A hundred years: this keeps the end of every delay within the range of datetime for now."""

_DELAY: Final = re.compile(PATTERN)


def seconds_of(delay: Delay) -> float | None:
    """Convert a delay to seconds; return None if it is negative, longer than a hundred years, or not a delay.

    >>> seconds_of("500ms"), seconds_of("1h"), seconds_of(2), seconds_of("soon"), seconds_of(-1), seconds_of("36526d")
    (0.5, 3600.0, 2.0, None, None, None)
    """
    if isinstance(delay, str):
        found = _DELAY.fullmatch(delay.strip())
        seconds: float = float(found[1]) * _UNITS_S[found[2]] if found else -1
    else:
        seconds = delay.total_seconds() if isinstance(delay, timedelta) else delay
    return float(seconds) if 0 <= seconds <= LONGEST_S else None


def delay_text(delay: Delay) -> str:
    """Return the delay as written; a number becomes seconds.

    >>> delay_text("2m"), delay_text(1.5)
    ('2m', '1.5s')
    """
    if isinstance(delay, str):
        return delay
    seconds = delay.total_seconds() if isinstance(delay, timedelta) else delay
    return f"{seconds:g}s"


@dataclass(frozen=True, slots=True)
class Retry:
    """A retry policy: how often to try, with waits that grow up to a limit.

    >>> retry = Retry(attempts=5, first_s=1, factor=3, most_s=10)
    >>> [retry.wait_s(failed) for failed in (1, 2, 3, 4, 5)]
    [1, 3, 9, 10, None]
    >>> Retry(attempts=10_000, factor=10.0).wait_s(9_999)  # ten to the power of that is no float
    60.0
    """

    attempts: int = 5  # in total; 1 never retries
    first_s: float = 1.0  # wait after the first failure
    factor: float = 2.0  # growth of each wait over the previous one
    most_s: float = 60.0

    def __post_init__(self) -> None:
        if self.attempts < 1 or self.first_s < 0 or self.factor < 1 or self.most_s < 0:
            raise ValueError(f"{self} is not possible: attempts and factor are 1 or more, first_s and most_s 0 or more")

    def wait_s(self, failed: int) -> float | None:
        """Return the seconds to wait after this many failed attempts; None to give up."""
        if failed >= self.attempts:
            return None
        try:
            return min(self.first_s * self.factor ** (failed - 1), self.most_s)
        except OverflowError:
            return self.most_s if self.first_s else 0.0
