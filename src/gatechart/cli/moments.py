"""Moments and ages, as people write them on a command line."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from gatechart.cli.errors import UsageError
from gatechart.graph import seconds_of


def read_age(option: str, given: str | None) -> datetime | timedelta | None:
    """How old something must be at least, or the moment before which it must have been. Raises UsageError.

    >>> read_age("--older-than", "90d"), read_age("--older-than", "2026-07-01")
    (datetime.timedelta(days=90), datetime.datetime(2026, 7, 1, 0, 0, tzinfo=datetime.timezone.utc))
    """
    if given is None:
        return None
    duration = _duration(given)
    return _moment(option, given) if duration is None else duration


def read_due(given: str | None, now: datetime) -> datetime | None:
    """A moment, or a delay from now on. Raises UsageError."""
    if given is None:
        return None
    delay = _duration(given)
    try:
        return _moment("--due", given) if delay is None else now + delay
    except OverflowError:
        raise UsageError(f"--due: {given!r} is too far away") from None


def read_duration(option: str, given: str) -> timedelta:
    """How long something takes. Raises UsageError."""
    duration = _duration(given)
    if duration is None:
        raise UsageError(f"{option}: {given!r} is no duration; write it like '12h' or '7d'")
    return duration


def _duration(given: str) -> timedelta | None:
    seconds = seconds_of(given)
    try:
        return None if seconds is None else timedelta(seconds=seconds)
    except OverflowError:
        return None


def _moment(option: str, given: str) -> datetime:
    try:
        moment = datetime.fromisoformat(given)
    except ValueError:
        raise UsageError(
            f"{option}: {given!r} is neither a duration, like '12h' or '90d', nor a moment, like '2026-07-01' or "
            "'2026-07-01T12:00+02:00'"
        ) from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
