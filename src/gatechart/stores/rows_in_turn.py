"""Rows given to a database that lies in the process: one after the other, which costs nothing but the row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import Dialect, UpdateBase


def in_turn(
    statement: UpdateBase, columns: Sequence[str] | None, dialect: Dialect
) -> Callable[[Any, Sequence[Mapping[str, Any]]], None]:
    """What gives rows to a cursor, for a statement that sets these columns."""
    compiled: Any = statement.compile(dialect=dialect, column_keys=columns)
    names, text = tuple(compiled.positiontup or ()), str(compiled)
    values = itemgetter(*names) if len(names) > 1 else lambda row: (row[names[0]],)

    def give(cursor: Any, rows: Sequence[Mapping[str, Any]]) -> None:
        cursor.executemany(text, [values(row) for row in rows])

    return give


def alike(
    _statement: UpdateBase, rows: Iterable[Mapping[str, Any]]
) -> Iterator[tuple[tuple[str, ...], Sequence[Mapping[str, Any]]]]:
    """Rows in their order, those side by side that name the same columns together."""
    for names, some in groupby(rows, tuple):
        yield names, list(some)
