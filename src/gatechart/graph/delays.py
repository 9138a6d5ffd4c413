"""How long something takes, as people write it."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final, TypeAlias

Delay: TypeAlias = str | int | float | timedelta  # "500ms", "30s", "2m", "1h", "7d"; numbers are seconds

_UNITS_S: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DELAY: Final = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*(ms|s|m|h|d)")


def seconds_of(delay: Delay) -> float | None:
    """How many seconds a delay is; None where it is none.

    >>> seconds_of("500ms"), seconds_of("1h"), seconds_of(2), seconds_of("soon"), seconds_of(-1)
    (0.5, 3600.0, 2.0, None, None)
    """
    if isinstance(delay, str):
        found = _DELAY.fullmatch(delay.strip())
        return float(found[1]) * _UNITS_S[found[2]] if found else None
    seconds = delay.total_seconds() if isinstance(delay, timedelta) else float(delay)
    return seconds if seconds >= 0 else None


def delay_text(delay: Delay) -> str:
    """The delay as it was written, a number as seconds.

    >>> delay_text("2m"), delay_text(1.5)
    ('2m', '1.5s')
    """
    if isinstance(delay, str):
        return delay
    seconds = delay.total_seconds() if isinstance(delay, timedelta) else delay
    return f"{seconds:g}s"
