"""Conversions of CEL, and the size of values. Each raises TypeError for a type that it does not take."""

from __future__ import annotations

import math
import re
from typing import Any, Final, Never

from gatechart.chartfiles.cel.arithmetic import int_of, timestamp_of, uint_of
from gatechart.chartfiles.cel.times import duration_text, read_duration, read_timestamp, timestamp_text
from gatechart.chartfiles.cel.values import (
    DURATION,
    INT_MAX,
    INT_MIN,
    NANOS,
    NUMBERS,
    TIMESTAMP,
    UINT_MAX,
    Duration,
    Timestamp,
    Type,
    UInt,
    described,
    kind,
)

_INT: Final = re.compile(r"[+-]?[0-9]+")
_UINT: Final = re.compile(r"[0-9]+")
_DOUBLE: Final = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?)|nan", re.IGNORECASE)
_BOOLS: Final = {
    **dict.fromkeys(("1", "t", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "false", "FALSE", "False"), False),
}
_MAX_DIGITS: Final = 400  # of a number's text: beyond some thousands, Python refuses to convert


def to_int(value: Any) -> int:
    """Return an int: of a number without its fraction, of a text, of a timestamp in seconds since 1970."""
    match kind(value):
        case "int" | "uint":
            return int_of(int(value))
        case "double" if math.isfinite(value) and INT_MIN < value < INT_MAX:
            return int(value)
        case "double":
            raise OverflowError(f"{value} is out of the range of an int")
        case "string":
            return int_of(_integer(value, _INT, "int"))
        case name if name == TIMESTAMP:
            return int(value.nanos // NANOS)
    return _refuse("int", value)


def to_uint(value: Any) -> UInt:
    """Return an unsigned int: of a number without its fraction, or of a text."""
    match kind(value):
        case "int" | "uint":
            return uint_of(value)
        case "double" if math.isfinite(value) and 0 <= value < UINT_MAX:
            return UInt(value)
        case "double":
            raise OverflowError(f"{value} is out of the range of a uint")
        case "string":
            return uint_of(_integer(value, _UINT, "uint"))
    return _refuse("uint", value)


def to_double(value: Any) -> float:
    """Return a double: of a number, or of a text."""
    if kind(value) in NUMBERS:
        return float(value)
    if not isinstance(value, str):
        _refuse("double", value)
    if not _DOUBLE.fullmatch(value):
        raise ValueError(f"{value!r:.60} is not a number")
    number = float(value)
    if math.isinf(number) and "i" not in value.lower():
        raise OverflowError(f"{value:.60} is out of the range of a double")
    return number


def to_string(value: Any) -> str:
    """Return a text: of a number, a bool, bytes in UTF-8, a timestamp or a duration."""
    match kind(value):
        case "string":
            return str(value)
        case "bool":
            return "true" if value else "false"
        case "int" | "uint":
            return str(int(value))
        case "double":
            return _double_text(value)
        case "bytes":
            return bytes(value).decode()
        case name if name == TIMESTAMP:
            return timestamp_text(value)
        case name if name == DURATION:
            return duration_text(value)
    return _refuse("string", value)


def to_bytes(value: Any) -> bytes:
    """Return the bytes of a text in UTF-8."""
    if isinstance(value, bytes):
        return value
    return value.encode() if isinstance(value, str) else _refuse("bytes", value)


def to_bool(value: Any) -> bool:
    """Return the bool of a text: true, t and 1, or false, f and 0."""
    if isinstance(value, bool):
        return value
    if not isinstance(value, str):
        _refuse("bool", value)
    if value not in _BOOLS:
        raise ValueError(f"{value!r:.60} is neither 'true' nor 'false'")
    return _BOOLS[value]


def to_timestamp(value: Any) -> Timestamp:
    """Return the moment of a text of RFC 3339, or of seconds since 1970."""
    match value:
        case Timestamp():
            return value
        case str():
            return read_timestamp(value)
    return timestamp_of(value * NANOS) if kind(value) == "int" else _refuse("timestamp", value)


def to_duration(value: Any) -> Duration:
    """Return the duration of a text such as '1h30m'."""
    if isinstance(value, Duration):
        return value
    return read_duration(value) if isinstance(value, str) else _refuse("duration", value)


def to_dyn(value: Any) -> Any:
    """Return the value; its type is not checked before it is evaluated."""
    return value


def to_type(value: Any) -> Type:
    """Return the type of a value."""
    return Type(kind(value))


def size(value: Any) -> int:
    """Return the number of characters (Unicode code points), bytes, or entries of a list or map."""
    if kind(value) not in {"string", "bytes", "list", "map"}:
        raise TypeError(f"{described(value)} has no size")
    return len(value)


def _integer(text: str, pattern: re.Pattern[str], name: str) -> int:
    if not pattern.fullmatch(text) or len(text) > _MAX_DIGITS:
        raise ValueError(f"{text!r:.60} cannot be read as {name}")
    return int(text)


def _double_text(value: float) -> str:
    """Return the shortest digits that mean this double, without a fraction if it has none."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("+Inf" if value > 0 else "-Inf")
    text = repr(value)
    return text.removesuffix(".0")


def _refuse(name: str, value: Any) -> Never:
    raise TypeError(f"{name}() does not take {described(value)}")
