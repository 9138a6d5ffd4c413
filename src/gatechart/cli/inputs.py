"""Values of options: JSON, ages, moments and durations."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta
from math import isfinite
from pathlib import Path
from typing import Any

from gatechart.cli.errors import UsageError
from gatechart.values import seconds_of


def read_payload(given: str | None, option: str = "--payload") -> dict[str, Any] | None:
    """Read the JSON object that an option holds, or names as `@FILE` or `-`. Raises UsageError.

    >>> read_payload('{"text": "help"}'), read_payload(None)
    ({'text': 'help'}, None)
    """
    payload = read_json(option, given)
    if payload is None and given is None:
        return None
    if not isinstance(payload, dict):
        problem = f"it is not a JSON object but {_KINDS[type(payload)]}; write it like '{{\"text\": ...}}'"
        raise _wrong(option, given or "", problem)
    return payload


def read_json(option: str, given: str | None) -> Any:
    """Return the JSON value that an option holds, or names as `@FILE` or `-`; None if left out. Raises UsageError.

    >>> read_json("--result", "[1, true]")
    [1, True]
    """
    if given is None:
        return None
    try:
        return json.loads(_text(given), parse_constant=_refuse, parse_float=_number)
    except (ValueError, RecursionError) as error:  # invalid UTF-8 is a ValueError, too
        problem = f'it is not valid JSON ({error}); write it like \'{{"text": "help"}}\', in single quotes'
        raise _wrong(option, given, problem) from error
    except OSError as error:
        raise _wrong(option, given, f"it cannot be read ({error.strerror})") from error


_KINDS = {
    list: "an array",
    str: "a text",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")


def _number(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise ValueError(f"the number {digits} is too large")
    return number


def _text(given: str) -> str:
    if given == "-":
        return sys.stdin.read()
    return Path(given[1:]).read_text(encoding="utf-8") if given.startswith("@") else given


def _wrong(option: str, given: str, problem: str) -> UsageError:
    source = "stdin" if given == "-" else given[1:] if given.startswith("@") else option
    return UsageError(f"{source}: {problem}")


def read_age(option: str, given: str | None) -> datetime | timedelta | None:
    """Read an age or a moment. Raises UsageError.

    >>> read_age("--older-than", "90d"), read_age("--older-than", "2026-07-01")
    (datetime.timedelta(days=90), datetime.datetime(2026, 7, 1, 0, 0, tzinfo=datetime.timezone.utc))
    """
    if given is None:
        return None
    duration = _duration(given)
    return _moment(option, given) if duration is None else duration


def read_since(option: str, given: str | None, now: datetime) -> datetime | None:
    """Read a moment, or an age before now. Raises UsageError."""
    age = read_age(option, given)
    try:
        return now - age if isinstance(age, timedelta) else age
    except OverflowError:
        raise UsageError(f"{option}: {given!r} is out of range; leave it out to begin with the oldest") from None


def read_due(option: str, given: str | None, now: datetime) -> datetime | None:
    """Read a moment, or a delay from now. Raises UsageError."""
    if given is None:
        return None
    delay = _duration(given)
    return _moment(option, given) if delay is None else now + delay


def read_deadline(option: str, given: str | None, now: datetime) -> datetime | None:
    """Read a moment in the future, or a delay from now. Raises UsageError."""
    due = read_due(option, given, now)
    if due is not None and due <= now:
        raise UsageError(f"{option}: {given!r} is in the past; write a moment in the future, or a delay like '10m'")
    return due


def read_duration(option: str, given: str) -> timedelta:
    """Read a duration. Raises UsageError."""
    duration = _duration(given)
    if duration is None:
        raise UsageError(f"{option}: {given!r} is not a duration; write it like '12h', '7d' or 'PT1H30M'")
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
        raise UsageError(f"{option}: {given!r} is out of range; write a moment of the years 1 to 9999") from None
