"""Statements that are compiled once for each kind of database and executed by the driver directly.

SQLAlchemy's own execution costs several times what the database needs for a row. Errors are raised as the driver raises
them. The error translation of a `Database` knows both kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, Dialect, Insert, Select, Update, UpdateBase

from gatechart.stores.sql.dialects import driver_cursor
from gatechart.stores.sql.unnest import at_once, padded

Row: TypeAlias = Mapping[str, Any]  # by column or parameter name
Give: TypeAlias = Callable[[Connection, Sequence[Row]], None]


def _executemany(
    statement: UpdateBase, columns: Sequence[str] | None, dialect: Dialect
) -> Callable[[Connection, Sequence[Mapping[str, Any]]], None]:
    """Return a function that writes rows to a connection, for a statement that sets these columns.

    The cursor must not be bound to a name, so that it is freed if the statement fails. SQLite keeps the file open while
    a cursor exists, and an error's traceback keeps every name alive.
    """
    compiled: Any = statement.compile(dialect=dialect, column_keys=columns)
    names, text = tuple(compiled.positiontup or ()), str(compiled)
    values = itemgetter(*names) if len(names) > 1 else lambda row: (row[names[0]],)

    def give(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        driver_cursor(connection).executemany(text, [values(row) for row in rows])

    return give


def _alike(
    _statement: UpdateBase, rows: Iterable[Mapping[str, Any]]
) -> Iterator[tuple[tuple[str, ...], Sequence[Mapping[str, Any]]]]:
    """Yield the rows in order. Neighbours that name the same columns come together."""
    for names, some in groupby(rows, tuple):
        yield names, list(some)


_GIVEN: Final[Mapping[str, Callable[..., Give]]] = {"sqlite": _executemany, "postgresql": at_once}
_PARTS: Final[Mapping[str, Callable[..., Iterable[tuple[tuple[str, ...], Sequence[Row]]]]]] = {
    "sqlite": _alike,
    "postgresql": padded,
}


class Ask:
    """A query with positional parameters."""

    def __init__(self, statement: Select[Any]) -> None:
        self._statement = statement
        self._of: dict[str, tuple[str, Sequence[Any]]] = {}  # by dialect: the text, and processors for the values

    def all(self, connection: Connection, *values: object) -> Sequence[tuple[Any, ...]]:
        """Return the rows found."""
        dialect = connection.dialect
        if dialect.name not in self._of:
            self._of[dialect.name] = self._compiled(dialect)
        text, processors = self._of[dialect.name]
        cursor = driver_cursor(connection)
        cursor.execute(text, [process(value) for process, value in zip(processors, values, strict=True)])
        found: Sequence[tuple[Any, ...]] = cursor.fetchall()
        return found

    def _compiled(self, dialect: Dialect) -> tuple[str, Sequence[Any]]:
        compiled: Any = self._statement.compile(dialect=dialect)
        kinds = [compiled.binds[name].type for name in compiled.positiontup or ()]
        return str(compiled), [kind.bind_processor(dialect) or _as_it_is for kind in kinds]


def _as_it_is(value: object) -> object:
    return value


class Many:
    """A statement for rows that all have the same columns."""

    def __init__(self, statement: UpdateBase, columns: Sequence[str] | None = None) -> None:
        self._statement = statement
        self._columns = columns
        self._given: dict[str, Give] = {}  # by dialect

    def run(self, connection: Connection, rows: Iterable[Row]) -> None:
        """Execute the statement for each row, in order. Does nothing if there are none."""
        given = list(rows)
        if not given:
            return
        dialect = connection.dialect
        if dialect.name not in self._given:
            self._given[dialect.name] = _GIVEN[dialect.name](self._statement, self._columns, dialect)
        self._given[dialect.name](connection, given)


class Sparse:
    """A statement for rows that name only the columns they set. Compiled once for each set of columns.

    Drivers take as long to bind a NULL as to bind a number, and most columns are NULL in most rows.
    """

    def __init__(self, statement: Insert | Update) -> None:
        self._statement = statement
        self._columns = frozenset(column.name for column in statement.table.columns)
        self._of: dict[tuple[str, ...], Many] = {}  # by the columns that its rows name

    def run(self, connection: Connection, rows: Iterable[Row]) -> None:
        """Execute the statement for each row. Insertions keep their order."""
        for names, some in _PARTS[connection.dialect.name](self._statement, rows):
            self._compiled(names).run(connection, some)

    def _compiled(self, names: tuple[str, ...]) -> Many:
        if names not in self._of:
            self._of[names] = Many(self._statement, [name for name in names if name in self._columns])
        return self._of[names]
