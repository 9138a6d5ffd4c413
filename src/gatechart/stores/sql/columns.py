"""Write values to columns, and read them even from damaged rows.

A damaged row is logged, and omitted or listed as unreadable. Other rows stay readable.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from types import NoneType
from typing import Any, Final, TypeAlias, TypeVar

import pydantic_core
from pydantic_core import from_json
from sqlalchemy import Boolean, Connection, Integer, Row, Select, Table

from gatechart.values.names import EARLIEST, LATEST, Payload, unkept

logger = logging.getLogger(__name__)

T = TypeVar("T")

UNREADABLE: Final = (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError)
"""Errors that reading a damaged row can raise."""

CHUNK: Final = 1000  # rows read at a time to replace unreadable rows of a page

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)

_DIGITS: Final = 19  # digits of the largest key

Kinds: TypeAlias = Sequence[tuple[str, tuple[type, ...]]]  # the columns of a row, and the types allowed in each


def to_us(moment: datetime) -> int:
    """Return a moment as microseconds since 1970, UTC.

    >>> to_us(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    1000000
    """
    return (moment - EPOCH) // MICROSECOND


def from_us(microseconds: int) -> datetime:
    """Convert microseconds since 1970 to an aware UTC moment, limited to the range of datetime.

    >>> from_us(2**62), from_us(-(2**62)) == EARLIEST
    (datetime.datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=datetime.timezone.utc), True)
    """
    try:
        return EPOCH + microseconds * MICROSECOND
    except OverflowError:
        return LATEST if microseconds > 0 else EARLIEST


def us_or_null(moment: datetime | None) -> int | None:
    """Return a moment as `to_us` does, or None for None."""
    return None if moment is None else to_us(moment)


def moment_or_none(microseconds: int | None) -> datetime | None:
    """Return a moment as `from_us` does, or None for NULL."""
    return None if microseconds is None else from_us(microseconds)


def to_json(value: Any) -> str:
    """Return JSON text without white space."""
    return pydantic_core.to_json(value).decode()  # several times as fast as the json module


def json_or_null(value: Mapping[str, Any] | list[Any] | tuple[Any, ...]) -> str | None:
    """Return JSON text, or None for an empty value."""
    return to_json(value) if value else None


def text_once(texts: dict[int, str], payload: Payload) -> str:
    """Return a payload as JSON text, serialized once if several rows contain it, such as the packet of an offer.

    texts: the texts so far, by the identity of their payloads, which must outlive this mapping.
    """
    text = texts.get(id(payload))
    if text is None:
        text = texts[id(payload)] = to_json(payload)
    return text


@lru_cache(maxsize=1024)
def names_json(names: tuple[str, ...]) -> str:
    """Return names as JSON text. Cached, because agents of one graph share few configurations."""
    return to_json(names)


def without_nulls(**columns: Any) -> dict[str, Any]:
    """Return the columns that are not NULL."""
    return {name: value for name, value in columns.items() if value is not None}


def kinds_of(table: Table, *others: str) -> Kinds:
    """Return the allowed types of a table's columns. SQLite does not check them.

    others: further text columns.
    """
    kinds = [(column.name, _allowed_types(column.type, nullable=bool(column.nullable))) for column in table.columns]
    return (*kinds, *((name, (str,)) for name in others))


def _allowed_types(kind: Any, *, nullable: bool) -> tuple[type, ...]:
    held = bool if isinstance(kind, Boolean) else int if isinstance(kind, Integer) else str
    return (held, NoneType) if nullable else (held,)


def check_row(row: Row[Any], kinds: Kinds) -> None:
    """Check the types in a row. Raises ValueError if a column holds a wrong one."""
    for name, held in kinds:
        value = getattr(row, name)
        kind = type(value)
        if kind not in held:
            raise ValueError(f"{name} is a {kind.__name__}")
        if kind is str and not value.isascii() and unkept(value.replace("\0", "")):
            raise ValueError(f"{name} is not valid UTF-8")


def json_or(text: str | None, empty: Any) -> Any:
    """Parse a column of JSON text. empty: the value for NULL."""
    return empty if text is None else json.loads(text)


def json_object(text: str | None, name: str) -> dict[str, Any]:
    """Return the JSON object in a column, or an empty one for NULL. Raises ValueError if it is not an object."""
    if text is None:
        return {}
    value = from_json(text)
    if not isinstance(value, dict):
        raise ValueError(f"{name} is not a JSON object")  # noqa: TRY004  a value of the database, not an argument
    return value


def json_names(text: str, name: str) -> tuple[str, ...]:
    """Return the texts of the JSON array in a column. Raises ValueError if it is anything else."""
    value = from_json(text)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"{name} is not a JSON array of texts")
    return tuple(value)


def readable(row: Row[Any], read: Callable[[Row[Any]], T], table: str, key: str) -> T | None:
    """Read a row, or log that it cannot be read and return None. key: its key column."""
    try:
        return read(row)
    except UNREADABLE as error:
        tell(row, error, table, key)
        return None


def tell(row: Row[Any], error: Exception, table: str, key: str) -> str:
    """Log that a row cannot be read, and return the reason to show in listings."""
    problem = f"its row in the database cannot be read ({error or type(error).__name__})"
    logger.error("a row cannot be read", extra={"table": table, "key": getattr(row, key), "problem": problem})
    return problem


def text_of(value: object) -> str:
    """Return a column of any type as text to show."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else ""


def number_of(value: object) -> int:
    """Return the integer in a column of any type, or 0 if it is not an integer."""
    return value if type(value) is int else 0


def is_key(text: str) -> bool:
    """Whether the text is a valid row key."""
    return text.isascii() and text.isdecimal() and len(text) < _DIGITS


def readable_page(
    connection: Connection,
    page: Callable[[Any, int], Select[Any]],
    after: Any,
    limit: int,
    read: Callable[[Row[Any]], T | None],
    position: Callable[[Row[Any]], Any],
) -> list[T]:
    """Return up to `limit` values. Rows that `read` turns into None are replaced by later rows.

    page: builds the query for a number of rows after a position. position: returns the position of a row.
    """
    found: list[T] = []
    wanted = limit
    while len(found) < limit:
        rows = connection.execute(page(after, wanted)).all()
        found += [value for value in map(read, rows) if value is not None]
        if len(rows) < wanted:
            break
        after, wanted = position(rows[-1]), max(limit - len(found), CHUNK)
    return found[:limit]
