"""Names as written in a definition: one or several, as texts or members of an Enum."""

from __future__ import annotations

from collections.abc import Iterable
from enum import EnumType
from typing import Any

from gatechart.values.names import Name, name_of


def names_of(names: Iterable[Name] | Name) -> tuple[str, ...]:
    """Return the texts of one name or several.

    >>> names_of("RED"), names_of(["RED", "GREEN"])
    (('RED',), ('RED', 'GREEN'))
    """
    return tuple(map(name_of, one_or_more(names)))


def texts(names: Iterable[object]) -> tuple[str, ...]:
    """Return the names that are texts."""
    return tuple(name for name in names if isinstance(name, str))


def one_or_more(value: Any) -> tuple[Any, ...]:
    """Return a tuple of the values; a single value, such as a text or a function, becomes a tuple of one.

    >>> one_or_more("RED"), one_or_more(["RED", "GREEN"])
    (('RED',), ('RED', 'GREEN'))
    """
    is_one = isinstance(value, str) or not isinstance(value, Iterable) or is_called(value)
    return (value,) if is_one else tuple(value)


def is_called(value: object) -> bool:
    """Return whether the value is a function, even an iterable one. An Enum class represents its members instead."""
    return callable(value) and not isinstance(value, EnumType)
