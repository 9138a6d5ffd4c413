"""Cron expressions of five fields. They are parsed here, and evaluated by the library cronsim.

The library refuses full names and ranges past the end of a week, a day or a year. They are rewritten as lists of
numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

USUAL: Final = "0 9 * * MON-FRI"
_WORDS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * SUN",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_TERM: Final = re.compile(r"(?P<first>\w+|\*)(?:-(?P<last>\w+))?(?:/(?P<step>\d{1,4}))?", re.ASCII)
_NTH: Final = re.compile(r"(?P<day>\w+)#[1-5]", re.ASCII)
_LAST: Final = re.compile(r"(?P<day>\w+)L", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Field:
    """One of the five fields. A range may wrap around the end of its cycle."""

    name: str
    first: int
    last: int
    example: str  # a correct field
    cycle: int  # number of different values
    names: tuple[str, ...] = ()  # of its values, from the first one

    @property
    def usage(self) -> str:
        """Range of the field, for error messages."""
        named = f" or {self.names[0][:3]} to {self.names[-1][:3]}" if self.names else ""
        return f"{self.first} to {self.last}{named}"

    def number(self, text: str) -> int | None:
        """Return the value of a number or a name; None if invalid. Names may be shortened to three letters or more."""
        if text.isdecimal() and len(text) <= 4:
            return int(text) if self.first <= int(text) <= self.last else None
        for number, name in enumerate(self.names, self.first):
            if len(text) >= 3 and name.startswith(text):
                return number
        return None


_MONTHS: Final = (
    *("JANUARY", "FEBRUARY", "MARCH", "APRIL", "MAY", "JUNE", "JULY"),
    *("AUGUST", "SEPTEMBER", "OCTOBER", "NOVEMBER", "DECEMBER"),
)
_DAYS: Final = ("SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY")
_WEEKDAY: Final = _Field("weekday", 0, 7, "MON-FRI", 7, _DAYS)
_DAY: Final = _Field("day of the month", 1, 31, "1", 31)
_FIELDS: Final = (
    _Field("minute", 0, 59, "0", 60),
    _Field("hour", 0, 23, "9", 24),
    _DAY,
    _Field("month", 1, 12, "JAN-DEC", 12, _MONTHS),
    _WEEKDAY,
)


class CronError(ValueError):
    """The text is not a cron expression. remedy: a valid expression."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem)
        self.remedy = remedy


@lru_cache(maxsize=1_000)
def library_expression(expression: str) -> str:
    """Return a cron expression in the syntax of the library. Raises CronError.

    >>> library_expression("0 22-2 * nov-feb Friday-Sunday")
    '0 22,23,0,1,2 * 11,12,1,2 5,6,0'
    """
    parts = expression.upper().split()
    if len(parts) != len(_FIELDS):
        problem = f"it needs 5 fields (minute, hour, day of the month, month, weekday), not {len(parts)}"
        raise CronError(problem, _of_other_length(expression))
    fields = [_library_field(field, part) for field, part in zip(_FIELDS, parts, strict=True)]
    for field, part, fitting in zip(_FIELDS, parts, fields, strict=True):
        if fitting is None:
            raise CronError(f"its {field.name} is {part!r:.40}, not {field.usage}", _corrected(parts, fields))
    rewritten = " ".join(fitting for fitting in fields if fitting)
    if not _is_ever_due(rewritten):
        raise CronError("it is never due: no such month has such a day", _with_last_day(parts))
    return rewritten


def library() -> Any:
    """Return the library. It is imported on first use, because few graphs have cron expressions."""
    return import_module("cronsim")


def _library_field(field: _Field, text: str) -> str | None:
    """Return a field in the syntax of the library; None if it is invalid."""
    terms = [_library_term(field, term) for term in text.split(",")]
    return None if None in terms else ",".join(term for term in terms if term)


def _library_term(field: _Field, term: str) -> str | None:
    if field is _DAY and term.partition("/")[0] in {"L", "LW"}:
        return term.partition("/")[0]
    if field is _WEEKDAY and (special := _NTH.fullmatch(term) or _LAST.fullmatch(term)):
        day = field.number(special["day"])
        return None if day is None else f"{day}{term[special.end('day') :]}"
    match = _TERM.fullmatch(term)
    return None if match is None else _range(field, match)


def _range(field: _Field, match: re.Match[str]) -> str | None:
    step = match["step"]
    if step is not None and int(step) == 0:
        return None
    suffix = f"/{step}" if step else ""
    if match["first"] == "*":
        return None if match["last"] else f"*{suffix}"
    first = field.number(match["first"])
    last = first if match["last"] is None else field.number(match["last"])
    if first is None or last is None:
        return None
    if match["last"] is None:
        return f"{first}{suffix}"
    return f"{first}-{last}{suffix}" if first <= last else _past_the_end(field, first, last, int(step or 1))


def _past_the_end(field: _Field, first: int, last: int, step: int) -> str:
    """Return the values of a range that wraps around the end of its cycle, such as from Friday to Sunday."""
    count = (last - first) % field.cycle + 1
    values = (field.first + (first - field.first + offset) % field.cycle for offset in range(0, count, step))
    return ",".join(map(str, values))


def _is_ever_due(expression: str) -> bool:
    try:
        next(library().CronSim(expression, datetime(2000, 1, 1, tzinfo=UTC)))
    except (library().CronSimError, StopIteration):
        return False
    return True


def _of_other_length(expression: str) -> str:
    """Return a valid expression for one that does not have five fields."""
    parts = expression.split()
    return _first_valid(_WORDS.get(expression.strip().lower(), ""), " ".join(parts[1:]), " ".join(parts[:5]))


def _corrected(parts: list[str], fields: list[str | None]) -> str:
    """Return the expression with its invalid fields replaced by examples."""
    pairs = zip(_FIELDS, parts, fields, strict=True)
    return _first_valid(" ".join(field.example if fitting is None else part for field, part, fitting in pairs))


def _with_last_day(parts: list[str]) -> str:
    return _first_valid(" ".join([*parts[:2], "L", *parts[3:]]))


def _first_valid(*expressions: str) -> str:
    return next(_valid(expressions), USUAL)


def _valid(expressions: tuple[str, ...]) -> Iterator[str]:
    for expression in expressions:
        parts = expression.upper().split()
        if len(parts) != len(_FIELDS):
            continue
        fields = [_library_field(field, part) for field, part in zip(_FIELDS, parts, strict=True)]
        if None not in fields and _is_ever_due(" ".join(field for field in fields if field)):
            yield expression
