"""Timestamps and durations of CEL: their texts, and the parts of a date in a time zone."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any, Final

from gatechart.chartfiles.cel.arithmetic import duration_of, timestamp_of
from gatechart.chartfiles.cel.values import EPOCH, NANOS, Duration, Timestamp, described
from gatechart.values.zones import zone_named, zone_remedy

_DATE: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9})\d*)?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII
)
_UNITS: Final = {
    "h": 3600 * NANOS,
    "m": 60 * NANOS,
    "s": NANOS,
    "ms": 1_000_000,
    "us": 1000,
    "µs": 1000,  # the micro sign
    "μs": 1000,  # the Greek letter
    "ns": 1,
}
_AMOUNT: Final = re.compile(r"(\d+)(?:\.(\d*))?(h|ms|us|µs|μs|ns|m|s)|\.(\d+)(h|ms|us|µs|μs|ns|m|s)", re.ASCII)
_OFFSET: Final = re.compile(r"([+-]?)(\d\d):(\d\d)", re.ASCII)


def read_timestamp(text: str) -> Timestamp:
    """Parse a timestamp of RFC 3339. Raises ValueError, OverflowError out of the years 1 to 9999."""
    match = _DATE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r:.60} is not a timestamp; write it as '2030-01-31T09:00:00Z'")
    *numbers, fraction, sign, hours, minutes = match.groups()
    try:
        seconds = (datetime(*map(int, numbers), tzinfo=UTC) - EPOCH) // timedelta(seconds=1)  # type: ignore[misc, arg-type]
    except ValueError as error:
        raise ValueError(f"{text!r:.60} is not a timestamp: {error}") from None
    if sign is not None and (int(hours) > 23 or int(minutes) > 59):
        raise ValueError(f"{text!r:.60} is not a timestamp: its offset is not between -23:59 and +23:59")
    offset = 0 if sign is None else int(f"{sign}1") * (int(hours) * 3600 + int(minutes) * 60)
    return timestamp_of((seconds - offset) * NANOS + int((fraction or "").ljust(9, "0")))


def read_duration(text: str) -> Duration:
    """Parse a duration such as '1h30m' or '-1.5s'. Raises ValueError, OverflowError beyond 292 years."""
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if rest == "0":
        return Duration(0)
    nanos, offset = 0, 0
    while match := _AMOUNT.match(rest, offset):
        whole, fraction, unit, only_fraction, other_unit = match.groups()
        fraction, unit = fraction or only_fraction or "", _UNITS[unit or other_unit]
        nanos += int(whole or 0) * unit + int(fraction or 0) * unit // 10 ** len(fraction)
        offset = match.end()
    if offset < len(rest) or not rest:
        raise ValueError(f"{text!r:.60} is not a duration; write it as '1h30m', '90s' or '500ms' (a day is '24h')")
    return duration_of(sign * nanos)


def timestamp_text(moment: Timestamp) -> str:
    """Write a timestamp as in RFC 3339, in UTC.

    >>> timestamp_text(Timestamp(1_500_000_000))
    '1970-01-01T00:00:01.5Z'
    """
    seconds, nanos = divmod(moment.nanos, NANOS)
    date = (EPOCH + timedelta(seconds=seconds)).replace(tzinfo=None).isoformat()
    return f"{date}{_fraction(nanos)}Z"


def duration_text(duration: Duration) -> str:
    """Write a duration in seconds.

    >>> duration_text(Duration(-90_500_000_000))
    '-90.5s'
    """
    seconds, nanos = divmod(abs(duration.nanos), NANOS)
    return f"{'-' if duration.nanos < 0 else ''}{seconds}{_fraction(nanos)}s"


def zone_of(name: str) -> tzinfo:
    """Return the time zone of a name such as 'Europe/Berlin', or of an offset such as '+05:30'. Raises ValueError."""
    if match := _OFFSET.fullmatch(name):
        sign, hours, minutes = match.groups()
        if int(hours) < 24 and int(minutes) < 60:
            return timezone(int(f"{sign}1") * timedelta(hours=int(hours), minutes=int(minutes)))
    zone = zone_named(name)
    if zone is None:
        raise ValueError(f"unknown time zone {name!r:.60}; {zone_remedy()}, or an offset such as '+05:30'")
    return zone


def getter(part: Callable[[datetime], int], of_duration: Callable[[int], int] | None = None) -> Callable[..., int]:
    """Return the function of CEL that reads a part of a timestamp in a zone, UTC if none is given.

    of_duration: from nanoseconds, if the function takes durations too.
    """

    def read(value: Any, zone: Any = None) -> int:
        if isinstance(value, Timestamp):
            return part(_date_in(zone, value))
        if isinstance(value, Duration) and of_duration is not None and zone is None:
            return of_duration(value.nanos)
        raise TypeError("only a timestamp has parts of a date; write timestamp(…) around a text")

    return read


def truncated(unit: int) -> Callable[[int], int]:
    """Return the function from nanoseconds to whole units, towards zero."""
    return lambda nanos: nanos // unit if nanos >= 0 else -(-nanos // unit)


def milliseconds(nanos: int) -> int:
    """Return the milliseconds of a duration beside its whole seconds."""
    rest = abs(nanos) % NANOS // 1_000_000
    return rest if nanos >= 0 else -rest


def _date_in(zone: Any, moment: Timestamp) -> datetime:
    date = EPOCH + timedelta(microseconds=moment.nanos // 1000)
    if zone is None:
        return date
    if not isinstance(zone, str):
        raise TypeError(f"the zone is {described(zone)}, not a string")
    return date.astimezone(zone_of(zone))


def _fraction(nanos: int) -> str:
    return f".{nanos:09}".rstrip("0") if nanos else ""
