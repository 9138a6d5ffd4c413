"""Arithmetic of CEL. Nothing is converted implicitly, and a result out of the range of its type is an error."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from gatechart.chartfiles.cel.values import (
    DURATION,
    INT_MAX,
    INT_MIN,
    TIMESTAMP,
    UINT_MAX,
    Duration,
    Timestamp,
    UInt,
    kind,
    shown_kind,
)

FIRST_TIMESTAMP: Final = -62_135_596_800 * 1_000_000_000  # of the year 1
LAST_TIMESTAMP: Final = 253_402_300_800 * 1_000_000_000 - 1  # of the year 9999

Operands = tuple[str, str]
_T: Final = TIMESTAMP
_D: Final = DURATION

RESULTS: Final[dict[str, dict[Operands, str]]] = {
    "+": {
        **{(name, name): name for name in ("int", "uint", "double", "string", "bytes", "list", _D)},
        (_T, _D): _T,
        (_D, _T): _T,
    },
    "-": {**{(name, name): name for name in ("int", "uint", "double", _D)}, (_T, _T): _D, (_T, _D): _T},
    "*": {(name, name): name for name in ("int", "uint", "double")},
    "/": {(name, name): name for name in ("int", "uint", "double")},
    "%": {(name, name): name for name in ("int", "uint")},
}
"""Type of the result by operator and types of the operands. No other operands are allowed."""

NEGATED: Final = ("int", "double")


def operate(operator: str, one: Any, other: Any) -> Any:
    """Return the result of an operator.

    Raises TypeError if it does not take such operands, OverflowError if the result is out of the range of its type, and
    ZeroDivisionError.
    """
    if one.__class__ is int and other.__class__ is int:
        return int_of(_OPERATORS[operator](one, other))
    operands = (kind(one), kind(other))
    result = RESULTS[operator].get(operands)
    if result is None:
        raise TypeError(f"there is no {' '.join((shown_kind(operands[0]), operator, shown_kind(operands[1])))}")
    if result in {_T, _D}:
        nanos = _OPERATORS[operator](one.nanos, other.nanos)
        return timestamp_of(nanos) if result == _T else duration_of(nanos)
    if result == "double":
        return _OF_DOUBLES[operator](one, other)
    if result == "list":
        return [*one, *other]
    value = _OPERATORS[operator](one, other)
    if result == "int":
        return int_of(value)
    return uint_of(value) if result == "uint" else value


def negate(value: Any) -> Any:
    """Return the negative of an int or double. Raises TypeError for another value."""
    name = kind(value)
    if name not in NEGATED:
        raise TypeError(f"there is no -{shown_kind(name)}")
    return int_of(-value) if name == "int" else -value


def int_of(value: int) -> int:
    """Return the number. Raises OverflowError if it exceeds 64 bits."""
    if not INT_MIN <= value <= INT_MAX:
        raise OverflowError(f"{value} is out of the range of an int")
    return value


def uint_of(value: int) -> UInt:
    """Return the number as an unsigned one. Raises OverflowError if it is negative or exceeds 64 bits."""
    if not 0 <= value <= UINT_MAX:
        raise OverflowError(f"{value} is out of the range of a uint")
    return UInt(value)


def timestamp_of(nanos: int) -> Timestamp:
    """Return the moment. Raises OverflowError before the year 1 and after the year 9999."""
    if not FIRST_TIMESTAMP <= nanos <= LAST_TIMESTAMP:
        raise OverflowError("a timestamp is from the year 1 to the year 9999")
    return Timestamp(nanos)


def duration_of(nanos: int) -> Duration:
    """Return the duration. Raises OverflowError if it is longer than about 292 years."""
    if not INT_MIN <= nanos <= INT_MAX:
        raise OverflowError("a duration is at most 292 years, 9223372036 seconds")
    return Duration(nanos)


def _quotient(one: int, other: int) -> int:
    """Divide and drop the fraction, towards zero."""
    quotient = abs(one) // abs(other)
    return quotient if (one < 0) is (other < 0) else -quotient


def _remainder(one: int, other: int) -> int:
    """Return the remainder, with the sign of the first operand."""
    quotient = _quotient(one, other)
    if one == INT_MIN:
        int_of(quotient)  # -2**63 / -1 overflows
    return one - other * quotient


def _double_quotient(one: float, other: float) -> float:
    if other:
        return one / other
    if one == 0 or math.isnan(one):
        return math.nan
    return math.copysign(math.inf, one) * math.copysign(1, other)


_OPERATORS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": lambda one, other: one + other,
    "-": lambda one, other: one - other,
    "*": lambda one, other: one * other,
    "/": _quotient,
    "%": _remainder,
}
_OF_DOUBLES: Final = {**_OPERATORS, "/": _double_quotient}
