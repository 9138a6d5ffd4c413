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


def read_due(option: str, given: str | None, now: datetime) -> datetime | None:
    """A moment, or a delay from now on. Raises UsageError."""
    if given is None:
        return None
    delay = _duration(given)
    return _moment(option, given) if delay is None else now + delay


def read_deadline(option: str, given: str | None, now: datetime) -> datetime | None:
    """A moment to come, or a delay from now on. Raises UsageError."""
    due = read_due(option, given, now)
    if due is not None and due <= now:
        raise UsageError(f"{option}: {given!r} has passed; write a moment to come, or a delay like '10m'")
    return due


def read_duration(option: str, given: str) -> timedelta:
    """How long something takes. Raises UsageError."""
    duration = _duration(given)
    if duration is None:
        raise UsageError(f"{option}: {given!r} is no duration; write it like '12h' or '7d'")
    return duration


def _duration(given: str) -> timedelta | None:
    seconds = seconds_of(given)
    return None if seconds is None else timedelta(seconds=seconds)


def _moment(option: str, given: str) -> datetime:
    try:
        moment = datetime.fromisoformat(given)
    except ValueError:
        raise UsageError(
            f"{option}: {given!r} is neither a duration, like '12h' or '90d', nor a moment, like '2026-07-01' or "
            "'2026-07-01T12:00+02:00'"
        ) from None
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        raise UsageError(f"{option}: {given!r} is too far away") from None
