"""Statements that are compiled once and executed by the driver itself.

SQLAlchemy's own way to execute one costs several times what SQLite takes for a row. What goes wrong is raised as the
driver raises it; `read_errors` and `write_errors` know both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

from sqlalchemy import Connection, Insert, Select, Update, UpdateBase

from gatechart.stores.dialects import DIALECT, driver_cursor

Row: TypeAlias = Mapping[str, Any]  # by column name or bound name


class Ask:
    """A question, asked with values by their place in its text."""

    def __init__(self, statement: Select[Any]) -> None:
        self._sql = str(statement.compile(dialect=DIALECT))

    def all(self, connection: Connection, *values: object) -> Sequence[tuple[Any, ...]]:
        """The rows found."""
        cursor = driver_cursor(connection)
        cursor.execute(self._sql, values)
        found: Sequence[tuple[Any, ...]] = cursor.fetchall()
        return found


class Many:
    """A statement for rows that all have the same columns."""

    def __init__(self, statement: UpdateBase, columns: Sequence[str] | None = None) -> None:
        compiled = statement.compile(dialect=DIALECT, column_keys=columns)
        names = tuple(compiled.positiontup or ())
        self._sql = str(compiled)
        self._values = itemgetter(*names) if len(names) > 1 else lambda row: (row[names[0]],)

    def run(self, connection: Connection, rows: Iterable[Row]) -> None:
        """Executes it for each of the rows, in order; not at all where there are none."""
        values = [self._values(row) for row in rows]
        if values:
            driver_cursor(connection).executemany(self._sql, values)


class Sparse:
    """A statement for rows of which each names only the columns that it sets: one for each set of columns there is.

    A driver takes as long to bind a NULL as to bind a number, and most columns are NULL in most rows.
    """

    def __init__(self, statement: Insert | Update) -> None:
        self._statement = statement
        self._columns = frozenset(column.name for column in statement.table.columns)
        self._of: dict[tuple[str, ...], Many] = {}  # by the names in its rows

    def run(self, connection: Connection, rows: Iterable[Row]) -> None:
        """Executes it for each of the rows, in order."""
        for names, some in groupby(rows, tuple):
            self._compiled(names).run(connection, some)

    def _compiled(self, names: tuple[str, ...]) -> Many:
        if names not in self._of:
            self._of[names] = Many(self._statement, [name for name in names if name in self._columns])
        return self._of[names]
