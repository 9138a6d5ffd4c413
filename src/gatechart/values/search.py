"""Searchable fields of contexts: how their values are read, indexed and compared."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Mapping
from operator import ge, gt, le, lt
from typing import Any, Final, Literal, TypeAlias

from gatechart.values.frozen import value
from gatechart.values.names import unkept

LONGEST_VALUE: Final = 300
"""The longest searchable text, in characters; the index of a database cannot hold long ones."""

Comparison: TypeAlias = Literal["ge", "gt", "le", "lt"]
COMPARE: Final[Mapping[Comparison, Callable[[Any, Any], Any]]] = {"ge": ge, "gt": gt, "le": le, "lt": lt}

_EXACT: Final = 2**53  # beyond it, different integers would become equal doubles
_SIGN: Final = 1 << 63
_ALL: Final = (1 << 64) - 1


def sort_key(value: object) -> str | None:
    """Return a text that sorts like the value: false, true, numbers, texts. None if the value is not searchable.

    Not searchable are null, lists and objects, integers beyond 2**53, infinite numbers, texts of more than 300
    characters, and texts with NUL or U+001A, which databases order differently.
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
    """Return the key of a finite number: the bits of the double, flipped so that they sort."""
    (bits,) = struct.unpack(">Q", struct.pack(">d", value + 0.0))
    return f"n{bits ^ (_ALL if bits & _SIGN else _SIGN):016x}"


def keys_in(context: str, fields: Iterable[str]) -> dict[str, str]:
    """Return the keys of the fields that have a searchable value. context: JSON text. fields: paths with dots.

    >>> keys_in('{"customer":"Ada","order":{"total":null}}', ["customer", "order.total"])
    {'customer': 'tAda'}
    """
    values = json.loads(context)
    keys = ((field, sort_key(_value_at(values, field))) for field in fields)
    return {field: key for field, key in keys if key is not None}


def _value_at(values: Any, field: str) -> Any:
    for part in field.split("."):
        values = values.get(part) if isinstance(values, dict) else None
    return values


@value
class Condition:
    """A condition on a field: its value is in a set, or within bounds. All values are keys."""

    field: str
    among: tuple[str, ...] | None = None
    bounds: tuple[tuple[Comparison, str], ...] = ()

    def holds(self, keys: Mapping[str, str]) -> bool:
        """Whether it holds for an agent. keys: the agent's keys by field."""
        key = keys.get(self.field)
        if key is None or (self.among is not None and key not in self.among):
            return False
        return all(COMPARE[name](key, bound) for name, bound in self.bounds)


def prefix_bounds(prefix: str) -> tuple[tuple[Comparison, str], ...]:
    """Return the bounds of the texts with this prefix.

    >>> prefix_bounds("Ad")
    (('ge', 'tAd'), ('lt', 'tAe'))
    """
    return ("ge", f"t{prefix}"), ("lt", _behind(f"t{prefix}"))


def kind_bounds(key: str) -> tuple[tuple[Comparison, str], ...]:
    """Return the bounds of all keys of the same type: numbers are not compared with texts."""
    return ("ge", key[0]), ("lt", _behind(key[0]))


def _behind(text: str) -> str:
    """Return the first text in sort order after all texts with this prefix."""
    prefix = text.rstrip("\U0010ffff")
    last = ord(prefix[-1]) + 1
    return prefix[:-1] + chr(0xE000 if last == 0xD800 else last)  # no text has the code points between


@value
class Searchable:
    """A searchable field of a graph's contexts."""

    graph: str
    field: str
    is_complete: bool = True  # False while agents older than its declaration are still being indexed
