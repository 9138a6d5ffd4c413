"""Durations in human-readable form, and the retry policies that wait for them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeAlias

Delay: TypeAlias = str | int | float | timedelta
"""A duration: "500ms", "30s", "1h30m", "2d", ISO 8601 such as "PT1H30M", a timedelta, or a number of seconds."""

DELAY_TEXTS: Final = "'500ms', '30s', '1h30m', '2d' or 'PT1H30M'"
DELAY_FORMS: Final = f"{DELAY_TEXTS}, or seconds"
DELAY_REMEDY: Final = f"write {DELAY_FORMS}"
"""The remedy in every error about an invalid duration."""

_UNITS_S: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604_800.0}
_NUMBER: Final = r"(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
_TIME: Final = rf"T(?:{_NUMBER}H(?:{_NUMBER}M)?(?:{_NUMBER}S)?|{_NUMBER}M(?:{_NUMBER}S)?|{_NUMBER}S)"
_ISO: Final = rf"P(?:{_NUMBER}W|{_NUMBER}D(?:{_TIME})?|{_TIME})"  # no years and months: they have no fixed length
PATTERN: Final = rf"(?:{_NUMBER}\s*(?:ms|s|m|h|d|w)(?:\s*{_NUMBER}\s*(?:ms|s|m|h|d|w))*|{_ISO})"
"""Pattern of a duration as text, without surrounding white space."""

LONGEST_S: Final = 36525 * 86400
"""A hundred years. The bound keeps the end of every delay within the range of datetime."""

_TEXT: Final = re.compile(PATTERN)
_PART: Final = re.compile(rf"({_NUMBER})\s*(ms|[smhdw])")


def seconds_of(delay: object) -> float | None:
    """Convert a duration to seconds; return None if it is negative, longer than a hundred years, or not a duration.

    >>> seconds_of("500ms"), seconds_of("1h30m"), seconds_of("PT1H30M"), seconds_of(timedelta(days=2)), seconds_of(2)
    (0.5, 5400.0, 5400.0, 172800.0, 2.0)
    >>> seconds_of("soon"), seconds_of("P1M"), seconds_of(-1), seconds_of("36526d"), seconds_of(True)
    (None, None, None, None, None)
    """
    if isinstance(delay, str):
        text = delay.strip()
        seconds: float = _sum_of(text) if _TEXT.fullmatch(text) else -1
    elif isinstance(delay, timedelta):
        seconds = delay.total_seconds()
    elif isinstance(delay, int | float) and not isinstance(delay, bool):
        seconds = delay
    else:
        return None
    return float(seconds) if 0 <= seconds <= LONGEST_S else None


def _sum_of(text: str) -> float:
    # ISO 8601 has the same units in capitals; without months, its M always means minutes.
    return sum(float(number) * _UNITS_S[unit] for number, unit in _PART.findall(text.lower()))


def seconds_in(delay: object, what: str = "the duration") -> float:
    """Convert a duration to seconds. Raises ValueError, which names valid forms.

    >>> seconds_in("90m")
    5400.0
    """
    seconds = seconds_of(delay)
    if seconds is None:
        raise ValueError(f"{what}: {delay!r} is not a duration; {DELAY_REMEDY}")
    return seconds


def delay_text(delay: Delay) -> str:
    """Return the delay as written; a number becomes seconds.

    >>> delay_text("2m"), delay_text(1.5), delay_text(1_234_567)
    ('2m', '1.5s', '1234567s')
    """
    if isinstance(delay, str):
        return delay
    seconds = delay.total_seconds() if isinstance(delay, timedelta) else delay
    return f"{seconds:.6f}".rstrip("0").rstrip(".") + "s"


@dataclass(frozen=True, slots=True)
class Retry:
    """A retry policy: how often to try, with waits that grow up to a limit.

    >>> retry = Retry(attempts=5, first_s=1, factor=3, most_s=10)
    >>> [retry.wait_s(failed) for failed in (1, 2, 3, 4, 5)]
    [1, 3, 9, 10.0, None]
    >>> Retry(attempts=10_000, factor=10.0).wait_s(9_999)  # 10**9998 exceeds a float
    60.0
    >>> spread = Retry(first_s=10, jitter=0.1)
    >>> [spread.wait_s(1, draw) for draw in (0.0, 0.5, 0.75)]
    [9.0, 10.0, 10.5]
    >>> [round(spread.wait_s(4, draw), 1) for draw in (0.0, 1.0)]
    [49.1, 60.0]
    """

    attempts: int = 5  # in total; 1 never retries
    first_s: float = 1.0  # wait after the first failure
    factor: float = 2.0  # growth of each wait over the previous one
    most_s: float = 60.0
    jitter: float = 0.0  # 0.1 draws each wait from 90 % to 110 %, so that calls that failed together are spread out

    def __post_init__(self) -> None:
        if self.attempts < 1 or self.first_s < 0 or self.factor < 1 or self.most_s < 0 or not 0 <= self.jitter <= 1:
            needed = "attempts and factor are 1 or more, first_s and most_s 0 or more, jitter is from 0 to 1"
            raise ValueError(f"{self} is not possible: {needed}")

    def wait_s(self, failed: int, draw: float = 0.5) -> float | None:
        """Return the seconds to wait after this many failed attempts; None to give up.

        draw: a random number from 0 to 1, the position of the wait within its jitter; 0.5 is the middle.
        """
        if failed >= self.attempts:
            return None
        wait_s = self._middle_s(failed)
        return wait_s * (1 + self.jitter * (2 * draw - 1)) if self.jitter else wait_s

    def _middle_s(self, failed: int) -> float:
        most_s = self.most_s / (1 + self.jitter)  # so that jitter also spreads the longest waits
        try:
            return min(self.first_s * self.factor ** (failed - 1), most_s)
        except OverflowError:
            return most_s if self.first_s else 0.0
