"""Statements that are compiled once for each kind of database and executed directly by the driver.

SQLAlchemy's execution costs several times the database's own time for a row. Errors are the driver's; the error
translation of a `Database` covers both kinds. SQLite writes many rows by executemany. A server gets them in one
statement, with their columns as arrays, to save round trips.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, TypeAlias

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Delete,
    Dialect,
    Insert,
    Select,
    String,
    Update,
    UpdateBase,
    bindparam,
    delete,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.sql.visitors import replacement_traverse

Row: TypeAlias = Mapping[str, Any]  # by column or parameter name
_Write: TypeAlias = Callable[[Connection, Sequence[Row]], None]
_Alike: TypeAlias = tuple[tuple[str, ...], Sequence[Row]]  # column names, and the rows with these columns


def driver_cursor(connection: Connection) -> Any:
    """Return a cursor of the driver, in the connection's transaction."""
    return connection.connection.cursor()


class Single:
    """A statement that is executed once, with positional parameters."""

    def __init__(self, statement: Select[Any] | Delete) -> None:
        self._statement = statement
        self._compiled: dict[str, tuple[str, Sequence[Any]]] = {}  # by dialect: the text, and processors for the values

    def all(self, connection: Connection, *values: object) -> Sequence[tuple[Any, ...]]:
        """Execute the statement and return its rows."""
        cursor = driver_cursor(connection)
        cursor.execute(*self._prepared(connection.dialect, values))
        found: Sequence[tuple[Any, ...]] = cursor.fetchall()
        return found

    def run(self, connection: Connection, *values: object) -> None:
        """Execute the statement."""
        driver_cursor(connection).execute(*self._prepared(connection.dialect, values))

    def _prepared(self, dialect: Dialect, values: Sequence[object]) -> tuple[str, Sequence[Any]]:
        if dialect.name not in self._compiled:
            self._compiled[dialect.name] = self._compile(dialect)
        text, processors = self._compiled[dialect.name]
        return text, [process(value) for process, value in zip(processors, values, strict=True)]

    def _compile(self, dialect: Dialect) -> tuple[str, Sequence[Any]]:
        compiled: Any = self._statement.compile(dialect=dialect)
        kinds = [compiled.binds[name].type for name in compiled.positiontup or ()]
        return str(compiled), [kind.bind_processor(dialect) or _unchanged for kind in kinds]


def _unchanged(value: object) -> object:
    return value


class Many:
    """A statement for rows that all have the same columns."""

    def __init__(self, statement: UpdateBase, columns: Sequence[str] | None = None) -> None:
        """Create a statement. columns: the columns that it sets; by default all columns of the table."""
        self._statement = statement
        self._columns = columns
        self._compiled: dict[str, _Write] = {}  # by dialect

    def run(self, connection: Connection, rows: Sequence[Row]) -> None:
        """Execute the statement for each row, in order. Does nothing if there are none."""
        dialect = connection.dialect
        if dialect.name not in self._compiled:
            self._compiled[dialect.name] = _COMPILE[dialect.name](self._statement, self._columns, dialect)
        if rows:
            self._compiled[dialect.name](connection, rows)


class SparseStatement:
    """A statement for rows that contain only the columns to set. Compiled once for each set of columns.

    Drivers take as long to bind a NULL as to bind a number, and most columns are NULL in most rows.
    """

    def __init__(self, statement: Insert | Update) -> None:
        self._statement = statement
        self._columns = frozenset(column.name for column in statement.table.columns)
        self._by_columns: dict[tuple[str, ...], Many] = {}  # by the columns of the rows

    def run(self, connection: Connection, rows: Sequence[Row]) -> None:
        """Execute the statement for each row. Insertions keep their order."""
        for names, some in _ALIKE[connection.dialect.name](self._statement, rows):
            if names not in self._by_columns:
                self._by_columns[names] = Many(self._statement, [name for name in names if name in self._columns])
            self._by_columns[names].run(connection, some)


def _executemany(statement: UpdateBase, columns: Sequence[str] | None, dialect: Dialect) -> _Write:
    """Return a function that writes rows one by one. columns: the columns that the statement sets."""
    compiled: Any = statement.compile(dialect=dialect, column_keys=columns)
    names, text = tuple(compiled.positiontup or ()), str(compiled)
    values = itemgetter(*names) if len(names) > 1 else lambda row: (row[names[0]],)

    def write(connection: Connection, rows: Sequence[Row]) -> None:
        # The cursor has no name here, so that it is freed if the statement fails. SQLite keeps the file open while a
        # cursor exists, and the traceback of an error keeps every local variable alive.
        driver_cursor(connection).executemany(text, [values(row) for row in rows])

    return write


def _neighbours(_statement: UpdateBase, rows: Iterable[Row]) -> Sequence[_Alike]:
    """Group consecutive rows with the same columns."""
    return [(names, list(some)) for names, some in groupby(rows, tuple)]


def _unnest(statement: UpdateBase, columns: Sequence[str] | None, dialect: Dialect) -> _Write:
    """Return a function that writes all rows in one statement, with their columns as arrays."""
    single: Any = statement.compile(dialect=dialect, column_keys=columns)
    names, text = tuple(single.positiontup or ()), str(single)
    several: list[str] = []

    def write(connection: Connection, rows: Sequence[Row]) -> None:
        if len(rows) == 1:
            driver_cursor(connection).execute(text, [rows[0][name] for name in names])
            return
        if not several:
            kinds = {name: _element(single.binds[name].type) for name in names}
            several.append(str(_of_arrays(statement, columns, kinds).compile(dialect=dialect)))
        driver_cursor(connection).execute(several[0], [[row[name] for row in rows] for name in names])

    return write


def _padded(statement: UpdateBase, rows: Sequence[Row]) -> Iterator[_Alike]:
    """Group rows that one statement can write.

    The rows of an insertion form one group, with NULL in missing columns. Other rows form a group if they have the same
    columns.
    """
    if isinstance(statement, Insert):
        names = tuple(sorted({name for row in rows for name in row}))
        nulls: dict[str, Any] = dict.fromkeys(names)
        yield names, [{**nulls, **row} for row in rows]
        return
    alike: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        alike.setdefault(tuple(row), []).append(row)
    yield from alike.items()


def _of_arrays(statement: Any, columns: Sequence[str] | None, kinds: Mapping[str, Any]) -> UpdateBase:
    """Return a statement that writes all rows of a table of arrays."""
    given: Any = (
        func.unnest(*(bindparam(name, type_=ARRAY(kind)) for name, kind in kinds.items()))
        .table_valued(*kinds)
        .render_derived("given")
    )
    if isinstance(statement, Insert):
        return insert(statement.table).from_select(list(kinds), select(*(given.c[name] for name in kinds)))

    def replace(element: Any, **_: Any) -> Any:
        is_given = isinstance(element, BindParameter) and element.key in given.c
        return given.c[element.key] if is_given else None

    condition: ColumnElement[Any] = statement.whereclause
    where = replacement_traverse(condition, {}, replace)
    if isinstance(statement, Update):
        values = dict(statement._values or {}) | {name: given.c[name] for name in columns or ()}
        return update(statement.table).where(where).values(values)
    return delete(statement.table).where(where)


def _element(kind: Any) -> Any:
    """Return the element type of an array. asyncpg encodes items of TEXT[] itself, without `keep_every_text`."""
    return String() if isinstance(kind, String) else kind


_COMPILE: Final[Mapping[str, Callable[..., _Write]]] = {"sqlite": _executemany, "postgresql": _unnest}
_ALIKE: Final[Mapping[str, Callable[..., Iterable[_Alike]]]] = {"sqlite": _neighbours, "postgresql": _padded}
