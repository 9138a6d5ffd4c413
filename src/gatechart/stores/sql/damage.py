"""Rows that cannot be read: each is told, left out or listed as unreadable, and keeps no other back."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any, Final, TypeAlias, TypeVar

from pydantic_core import from_json
from sqlalchemy import Boolean, Connection, Integer, Row, Select, Table

from gatechart.values import unkept

logger = logging.getLogger(__name__)

T = TypeVar("T")

UNREADABLE: Final = (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError)
"""What is raised by what reads a row that somebody, or something, has spoilt."""

CHUNK: Final = 1000  # rows that are read at a time behind a page in which some could not be read

_DIGITS: Final = 19  # of the largest key

Kinds: TypeAlias = Sequence[tuple[str, tuple[type, ...]]]  # the columns of a row, and what each may hold


def kinds_of(table: Table, *others: str) -> Kinds:
    """What the columns of a table may hold: SQLite keeps anything in any of them. others: texts beside these."""
    kinds = [(column.name, _held(column.type, nullable=bool(column.nullable))) for column in table.columns]
    return (*kinds, *((name, (str,)) for name in others))


def _held(kind: Any, *, nullable: bool) -> tuple[type, ...]:
    held = bool if isinstance(kind, Boolean) else int if isinstance(kind, Integer) else str
    return (held, NoneType) if nullable else (held,)


def check_row(row: Row[Any], kinds: Kinds) -> None:
    """Raises ValueError where a column holds what it may not."""
    for name, held in kinds:
        value = getattr(row, name)
        kind = type(value)
        if kind not in held:
            raise ValueError(f"{name} is a {kind.__name__}")
        if kind is str and not value.isascii() and unkept(value.replace("\0", "")):
            raise ValueError(f"{name} is no UTF-8")


def json_object(text: str | None, name: str) -> dict[str, Any]:
    """The JSON object that a column holds; an empty one for NULL. Raises ValueError where it is none."""
    if text is None:
        return {}
    value = from_json(text)
    if not isinstance(value, dict):
        raise ValueError(f"{name} is no JSON object")  # noqa: TRY004  a value of the database, not an argument
    return value


def json_names(text: str, name: str) -> tuple[str, ...]:
    """The texts of the JSON array that a column holds. Raises ValueError where it holds anything else."""
    value = from_json(text)
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"{name} is no JSON array of texts")
    return tuple(value)


def readable(row: Row[Any], read: Callable[[Row[Any]], T], table: str, key: str) -> T | None:
    """The value of the row; None where it cannot be read, which is logged. key: its column."""
    try:
        return read(row)
    except UNREADABLE as error:
        tell(row, error, table, key)
        return None


def tell(row: Row[Any], error: Exception, table: str, key: str) -> str:
    """Logs that the row cannot be read, and says why, for whoever is shown it in a listing."""
    problem = f"its row in the database cannot be read ({error or type(error).__name__})"
    logger.error("a row cannot be read", extra={"table": table, "key": getattr(row, key), "problem": problem})
    return problem


def text_of(value: object) -> str:
    """What can be shown of a column that may hold anything."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else ""


def number_of(value: object) -> int:
    """The number that a column holds that may hold anything; 0 where it is none."""
    return value if type(value) is int else 0


def is_key(text: str) -> bool:
    """Whether the text is a number that a row's key can be."""
    return text.isascii() and text.isdecimal() and len(text) < _DIGITS


def readable_page(
    connection: Connection,
    page: Callable[[Any, int], Select[Any]],
    after: Any,
    limit: int,
    read: Callable[[Row[Any]], T | None],
    place: Callable[[Row[Any]], Any],
) -> list[T]:
    """As many values as the limit says, as long as there are rows; those for which `read` gives None are left out.

    page: asks for so many rows behind a place. place: that of a row.
    """
    found: list[T] = []
    wanted = limit
    while len(found) < limit:
        rows = connection.execute(page(after, wanted)).all()
        found += [value for value in map(read, rows) if value is not None]
        if len(rows) < wanted:
            break
        after, wanted = place(rows[-1]), max(limit - len(found), CHUNK)
    return found[:limit]
