"""Statements that are compiled once for each kind of database and executed by the driver itself.

SQLAlchemy's own way to execute one costs several times what a database takes for a row. What goes wrong is raised as
the driver raises it; the errors of a `Database` know both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, Dialect, Insert, Select, Update, UpdateBase

from gatechart.stores.sql.dialects import driver_cursor
from gatechart.stores.sql.unnest import at_once, padded

Row: TypeAlias = Mapping[str, Any]  # by column name or bound name
Give: TypeAlias = Callable[[Connection, Sequence[Row]], None]


def _executemany(
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


def _alike(
    _statement: UpdateBase, rows: Iterable[Mapping[str, Any]]
) -> Iterator[tuple[tuple[str, ...], Sequence[Mapping[str, Any]]]]:
    """Rows in their order, those side by side that name the same columns together."""
    for names, some in groupby(rows, tuple):
        yield names, list(some)


_GIVEN: Final[Mapping[str, Callable[..., Give]]] = {"sqlite": _executemany, "postgresql": at_once}
_PARTS: Final[Mapping[str, Callable[..., Iterable[tuple[tuple[str, ...], Sequence[Row]]]]]] = {
    "sqlite": _alike,
    "postgresql": padded,
}


class Ask:
    """A question, asked with values by their place in its text."""

    def __init__(self, statement: Select[Any]) -> None:
        self._statement = statement
        self._of: dict[str, tuple[str, Sequence[Any]]] = {}  # text and processors of values, by the dialect's name

    def all(self, connection: Connection, *values: object) -> Sequence[tuple[Any, ...]]:
        """The rows found."""
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
        self._given: dict[str, Give] = {}  # by the dialect's name

    def run(self, connection: Connection, rows: Iterable[Row]) -> None:
        """Executes it for each of the rows, in order; not at all where there are none."""
        given = list(rows)
        if not given:
            return
        dialect = connection.dialect
        if dialect.name not in self._given:
            self._given[dialect.name] = _GIVEN[dialect.name](self._statement, self._columns, dialect)
        self._given[dialect.name](connection, given)


class Sparse:
    """A statement for rows of which each names only the columns that it sets: a few for all sets of columns there are.

    A driver takes as long to bind a NULL as to bind a number, and most columns are NULL in most rows.
    """

    def __init__(self, statement: Insert | Update) -> None:
        self._statement = statement
        self._columns = frozenset(column.name for column in statement.table.columns)
        self._of: dict[tuple[str, ...], Many] = {}  # by the names in its rows

    def run(self, connection: Connection, rows: Iterable[Row]) -> None:
        """Executes it for each of the rows; an insertion in order."""
        for names, some in _PARTS[connection.dialect.name](self._statement, rows):
            self._compiled(names).run(connection, some)

    def _compiled(self, names: tuple[str, ...]) -> Many:
        if names not in self._of:
            self._of[names] = Many(self._statement, [name for name in names if name in self._columns])
        return self._of[names]
