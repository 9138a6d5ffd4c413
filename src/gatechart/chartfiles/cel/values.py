"""Values of CEL: their types, equality and order.

JSON values are used as they are: bool, int, double (float), string, list (list or tuple), map (any mapping) and null
(None). Bytes are `bytes`. This module adds what Python lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1
UINT_MAX: Final = 2**64 - 1
NANOS: Final = 1_000_000_000
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

TIMESTAMP: Final = "google.protobuf.Timestamp"
DURATION: Final = "google.protobuf.Duration"
NUMBERS: Final = frozenset({"int", "uint", "double"})
ORDERED: Final = frozenset({"bool", "string", "bytes", TIMESTAMP, DURATION})


class UInt(int):
    """An unsigned integer. It equals the int of its value, and is the same key of a map."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A moment in time, by nanoseconds since 1970 in UTC."""

    nanos: int


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A length of time in nanoseconds, possibly negative."""

    nanos: int


@dataclass(frozen=True, slots=True)
class Type:
    """A type, as `type(…)` returns it."""

    name: str


@dataclass(frozen=True, slots=True)
class BoolKey:
    """A bool as the key of a map: for Python, True and 1 would be one key."""

    value: bool


class _Kinds(dict[type, str]):
    """Names of CEL types by Python type. Raises TypeError for a type that holds no value of CEL."""

    def __missing__(self, cls: type) -> str:
        bases = ((Mapping, "map"), (list | tuple, "list"), (str, "string"), (int, "int"), (float, "double"))
        for base, kind in bases:
            if issubclass(cls, base):
                self[cls] = kind
                return kind
        raise TypeError(f"{cls.__name__} is not a type of CEL")


KINDS: Final = _Kinds(
    {
        type(None): "null_type",
        bool: "bool",
        int: "int",
        UInt: "uint",
        float: "double",
        str: "string",
        bytes: "bytes",
        list: "list",
        tuple: "list",
        dict: "map",
        Timestamp: TIMESTAMP,
        Duration: DURATION,
        Type: "type",
    }
)
TYPE_NAMES: Final = tuple(dict.fromkeys(KINDS.values()))
_SHORT_NAMES: Final = {TIMESTAMP: "timestamp", DURATION: "duration", "null_type": "null"}


def kind(value: Any) -> str:
    """Return the name of a value's type. Raises TypeError if CEL has no such values."""
    return KINDS[value.__class__]


def shown_kind(name: str) -> str:
    """Return the name of a type for error messages."""
    return _SHORT_NAMES.get(name, name)


def described(value: Any) -> str:
    """Return the type of a value with its article, for error messages: `an int`."""
    name = shown_kind(kind(value))
    return name if name == "null" else f"{'an' if name[0] in 'aeiou' and name != 'uint' else 'a'} {name}"


def imported(value: Any) -> Any:
    """Convert a Python value to CEL: a datetime to a timestamp, a timedelta to a duration."""
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        return Timestamp((aware - EPOCH) // timedelta(microseconds=1) * 1000)
    if isinstance(value, timedelta):
        return Duration(value // timedelta(microseconds=1) * 1000)
    return value


def exported(value: Any) -> Any:
    """Convert a CEL value to Python: the reverse of `imported`. A type becomes its name."""
    match value:
        case UInt():
            return int(value)
        case Timestamp():
            return EPOCH + timedelta(microseconds=value.nanos // 1000)
        case Duration():
            return timedelta(microseconds=value.nanos // 1000)
        case Type():
            return value.name
        case list() | tuple():
            return [exported(item) for item in value]
        case Mapping():
            return {exported(key_value(key)): exported(item) for key, item in value.items()}
    return value


def key_of(value: Any) -> Any:
    """Return a value as the key of a map. Raises TypeError if it cannot be one.

    A number is the same key whatever its type, as `{1: 'x'}[1.0]` demands.
    """
    name = kind(value)
    if name == "bool":
        return BoolKey(value)
    if name in NUMBERS or name == "string":
        return value
    raise TypeError(f"{described(value)} cannot be the key of a map")


def key_value(key: Any) -> Any:
    """Return the value of a key of a map."""
    return key.value if key.__class__ is BoolKey else key


def equal(one: Any, other: Any) -> bool:
    """Return whether two values are equal. Numbers are compared by value across types, and NaN equals nothing."""
    name, second = kind(one), kind(other)
    if name != second:
        if name not in NUMBERS or second not in NUMBERS:
            return False
        return bool(_as_doubles(one, other, lambda first, last: first == last))
    if name == "list":
        return len(one) == len(other) and all(map(equal, one, other))
    if name == "map":
        return len(one) == len(other) and all(key in other and equal(item, other[key]) for key, item in one.items())
    return bool(one == other)


def compared(one: Any, other: Any, is_in_order: Callable[[Any, Any], bool]) -> bool:
    """Apply a comparison such as `operator.lt`. Raises TypeError if the values have no order."""
    name, second = kind(one), kind(other)
    if name in NUMBERS and second in NUMBERS:
        return _as_doubles(one, other, is_in_order)
    if name == second and name in ORDERED:
        return is_in_order(one, other)
    raise TypeError(f"{described(one)} and {described(other)} cannot be put in order")


def _as_doubles(one: Any, other: Any, compare: Callable[[Any, Any], bool]) -> bool:
    """Compare two numbers. The language compares an int with a double as doubles, which rounds large ones."""
    if isinstance(one, float) or isinstance(other, float):
        return compare(float(one), float(other))
    return compare(one, other)
