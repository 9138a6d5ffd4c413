"""Moments and ages as people read them: in the local time zone, which the environment variable TZ overrides."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

_UNITS: Final = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


def moment_text(moment: datetime) -> str:
    """Write a moment in local time, to the second."""
    return f"{_local(moment):%Y-%m-%d %H:%M:%S}"


def clock_text(moment: datetime) -> str:
    """Write the time of day of a moment in local time."""
    return f"{_local(moment):%H:%M:%S}"


def zoned_text(moment: datetime) -> str:
    """Write a moment in local time, with the name of the time zone."""
    local = _local(moment)
    return f"{local:%Y-%m-%d %H:%M:%S} {local.tzname()}"


def in_zone(heading: str) -> str:
    """Add the local time zone to the heading of a column of moments."""
    return f"{heading} ({datetime.now().astimezone().tzname()})"


def age_text(age: timedelta) -> str:
    """Write a duration in its two largest units.

    >>> age_text(timedelta(minutes=125)), age_text(timedelta(seconds=7)), age_text(timedelta(days=3, hours=2))
    ('2h 5m', '7s', '3d 2h')
    """
    left, counts = max(0, int(age.total_seconds())), []
    for unit, seconds in _UNITS:
        count, left = divmod(left, seconds)
        counts.append((count, unit))
    largest = next((place for place, (count, _) in enumerate(counts) if count), len(counts) - 1)
    told = [f"{count}{unit}" for count, unit in counts[largest : largest + 2] if count]
    return " ".join(told) or "0s"


def _local(moment: datetime) -> datetime:
    try:
        return moment.astimezone()
    except (OverflowError, OSError):  # the first or the last year that a date can have
        return moment.astimezone(UTC)
