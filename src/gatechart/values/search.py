"""Fields of contexts that agents are found by: how their values are read, compared and asked for."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Mapping
from operator import ge, gt, le, lt
from typing import Any, Final, Literal, TypeAlias

from gatechart.values.frozen import value
from gatechart.values.names import unkept

LONGEST_VALUE: Final = 300
"""The longest text that agents are found by, in characters; the index of a database cannot have long ones."""

Comparison: TypeAlias = Literal["ge", "gt", "le", "lt"]
COMPARE: Final[Mapping[Comparison, Callable[[Any, Any], Any]]] = {"ge": ge, "gt": gt, "le": le, "lt": lt}

_EXACT: Final = 2**53  # beyond it, different integers would be the same number
_SIGN: Final = 1 << 63
_ALL: Final = (1 << 64) - 1


def sort_key(value: object) -> str | None:
    """Return a text that compares like the value: false, true, numbers, texts. None if no agent is found by the value.

    That are null, lists and objects, integers beyond 2**53, infinite numbers, texts of more than 300 characters, and
    those with NUL or U+001A, which databases order in their own ways.
    >>> sort_key(-2) < sort_key(0.5) < sort_key(1) == sort_key(1.0) < sort_key("") < sort_key("a")
    True
    """
    match value:
        case bool():
            return f"b{int(value)}"
        case int():
            return number_key(value) if abs(value) <= _EXACT else None
        case float():
            return number_key(value) if abs(value) < float("inf") else None
        case str() if len(value) <= LONGEST_VALUE and "\x1a" not in value and not unkept(value):
            return f"t{value}"
    return None


def number_key(value: float) -> str:
    """Return the key of a finite number: the bits of the double, turned so that they sort."""
    (bits,) = struct.unpack(">Q", struct.pack(">d", value + 0.0))
    return f"n{bits ^ (_ALL if bits & _SIGN else _SIGN):016x}"


def keys_in(context: str, fields: Iterable[str]) -> dict[str, str]:
    """Return the keys of the fields that have a value to be found by. context: JSON text. fields: paths with dots.

    >>> keys_in('{"customer":"Ada","order":{"total":null}}', ["customer", "order.total"])
    {'customer': 'tAda'}
    """
    values = json.loads(context)
    found = ((field, sort_key(_value_at(values, field))) for field in fields)
    return {field: key for field, key in found if key is not None}


def _value_at(values: Any, field: str) -> Any:
    for part in field.split("."):
        values = values.get(part) if isinstance(values, dict) else None
    return values


@value
class Condition:
    """A condition for a field: its value is one of some, or within bounds, each as its key."""

    field: str
    among: tuple[str, ...] | None = None
    bounds: tuple[tuple[Comparison, str], ...] = ()

    def holds(self, keys: Mapping[str, str]) -> bool:
        """Whether it holds for an agent with these keys, by field."""
        key = keys.get(self.field)
        if key is None or (self.among is not None and key not in self.among):
            return False
        return all(COMPARE[name](key, bound) for name, bound in self.bounds)


def prefix_bounds(prefix: str) -> tuple[tuple[Comparison, str], ...]:
    """Return the bounds of the texts that begin with this one.

    >>> prefix_bounds("Ad")
    (('ge', 'tAd'), ('lt', 'tAe'))
    """
    return ("ge", f"t{prefix}"), ("lt", _behind(f"t{prefix}"))


def kind_bounds(key: str) -> tuple[tuple[Comparison, str], ...]:
    """Return the bounds of the values of this one's kind: numbers are not compared with texts."""
    return ("ge", key[0]), ("lt", _behind(key[0]))


def _behind(text: str) -> str:
    """Return the first text behind all that begin with this one."""
    kept = text.rstrip("\U0010ffff")
    last = ord(kept[-1]) + 1
    return kept[:-1] + chr(0xE000 if last == 0xD800 else last)  # no text has the code points between


@value
class Searchable:
    """A field by which the agents of a graph are found."""

    graph: str
    field: str
    is_complete: bool = True  # False while the values of agents from before its declaration are still added
