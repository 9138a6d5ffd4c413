"""Conditions on searchable fields, in shell notation."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from gatechart.cli.errors import UsageError

_CONDITION: Final = re.compile(r"(?s)([^=<>^]+)(>=|<=|\^=|=|<|>)(.*)")
_NAMES: Final = {">=": "ge", ">": "gt", "<=": "le", "<": "lt", "^=": "prefix"}


def parsed(conditions: Sequence[str]) -> dict[str, Any]:
    """Parse conditions into the form that `find` takes. Raises UsageError.

    >>> parsed(["customer=Ada", "total>=10", "total<20"])
    {'customer': 'Ada', 'total': {'ge': 10, 'lt': 20}}
    """
    where: dict[str, Any] = {}
    for text in conditions:
        match = _CONDITION.fullmatch(text)
        if match is None:
            raise UsageError(f"--where {text!r} is not a condition: write customer=Ada, total>=10 or name^=A")
        field, operator, value = match[1].strip(), match[2], match[3].strip()
        wanted = _equal(value) if operator == "=" else {_NAMES[operator]: _bound(operator, value)}
        before = where.setdefault(field, wanted)
        if before is not wanted:
            if not isinstance(before, dict) or not isinstance(wanted, dict) or before.keys() & wanted.keys():
                raise UsageError(f"--where {text!r}: another condition for {field} contradicts it")
            before |= wanted
    return where


def _equal(value: str) -> Any:
    """Return the value; search for a possible number also as text, because a shell has no types."""
    plain = _value(value)
    return plain if isinstance(plain, str | list) or value.startswith('"') else [plain, value]


def _bound(operator: str, value: str) -> Any:
    return value if operator == "^=" else _value(value)


def _value(text: str) -> Any:
    """Parse a searchable JSON value, such as 10, true or ["a", "b"]; return anything else as text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, str | int | float | list) else text
