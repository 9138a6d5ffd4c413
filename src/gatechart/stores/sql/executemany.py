"""Rows given to a database that lies in the process: one after the other, which costs nothing but the row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Dialect, UpdateBase

from gatechart.stores.sql.dialects import driver_cursor


def in_turn(
    statement: UpdateBase, columns: Sequence[str] | None, dialect: Dialect
) -> Callable[[Connection, Sequence[Mapping[str, Any]]], None]:
    """What gives rows to a connection, for a statement that sets these columns.

    The cursor has no name, so that it goes where the statement fails: SQLite keeps a file open for as long as there is
    one, and the traceback of an error keeps whatever has a name.
    """
    compiled: Any = statement.compile(dialect=dialect, column_keys=columns)
    names, text = tuple(compiled.positiontup or ()), str(compiled)
    values = itemgetter(*names) if len(names) > 1 else lambda row: (row[names[0]],)

    def give(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        driver_cursor(connection).executemany(text, [values(row) for row in rows])

    return give


def alike(
    _statement: UpdateBase, rows: Iterable[Mapping[str, Any]]
) -> Iterator[tuple[tuple[str, ...], Sequence[Mapping[str, Any]]]]:
    """Rows in their order, those side by side that name the same columns together."""
    for names, some in groupby(rows, tuple):
        yield names, list(some)
