"""Rows sent to a database server in one statement, with their columns as arrays, to save round trips."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Dialect,
    Insert,
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

from gatechart.stores.sql.dialects import JsonText, driver_cursor


def at_once(
    statement: UpdateBase, columns: Sequence[str] | None, dialect: Dialect
) -> Callable[[Connection, Sequence[Mapping[str, Any]]], None]:
    """Return a function that writes rows to a connection, for a statement that sets these columns."""
    single: Any = statement.compile(dialect=dialect, column_keys=columns)
    names, text = tuple(single.positiontup or ()), str(single)
    one = [_taken(name, single.binds[name].type, dialect) for name in names]
    several: list[str] = []

    def give(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        if len(rows) == 1:
            driver_cursor(connection).execute(text, [each(rows[0]) for each in one])
            return
        if not several:
            kinds = {name: _element(single.binds[name].type) for name in names}
            several.append(str(_of_arrays(statement, columns, kinds).compile(dialect=dialect)))
        driver_cursor(connection).execute(several[0], [[row[name] for row in rows] for name in names])

    return give


def padded(
    statement: UpdateBase, rows: Iterable[Mapping[str, Any]]
) -> Iterator[tuple[tuple[str, ...], Sequence[Mapping[str, Any]]]]:
    """Yield rows that one statement can write.

    All rows of an insertion go together, with NULL in columns that a row does not name. Other rows go together if they
    name the same columns.
    """
    if isinstance(statement, Insert):
        given = list(rows)
        names = tuple(sorted(dict.fromkeys(name for row in given for name in row)))
        if given:
            nothing: dict[str, Any] = dict.fromkeys(names)
            yield names, [{**nothing, **row} for row in given]
        return
    alike: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        alike.setdefault(tuple(row), []).append(row)
    yield from alike.items()


def _of_arrays(statement: Any, columns: Sequence[str] | None, kinds: Mapping[str, Any]) -> UpdateBase:
    """Return the statement that handles all rows of a table of arrays."""
    given: Any = (
        func.unnest(*(bindparam(name, type_=ARRAY(kind)) for name, kind in kinds.items()))
        .table_valued(*kinds)
        .render_derived("given")
    )
    if isinstance(statement, Insert):
        return insert(statement.table).from_select(list(kinds), select(*(given.c[name] for name in kinds)))

    def replace(each: Any, **_: Any) -> Any:
        is_given = isinstance(each, BindParameter) and each.key in given.c
        return given.c[each.key] if is_given else None

    condition: ColumnElement[Any] = statement.whereclause
    where = replacement_traverse(condition, {}, replace)  # type: ignore[call-overload]
    if isinstance(statement, Update):
        values = dict(statement._values or {}) | {name: given.c[name] for name in columns or ()}
        return update(statement.table).where(where).values(values)
    return delete(statement.table).where(where)


def _element(kind: Any) -> Any:
    """Return the element type of an array. asyncpg encodes the items of TEXT[] itself, without `keep_every_text`."""
    return String() if isinstance(kind, String) else kind


def _taken(name: str, kind: Any, dialect: Dialect) -> Callable[[Mapping[str, Any]], Any]:
    """Return a function that takes a value from a row and prepares it for the driver."""
    process = kind.bind_processor(dialect) if isinstance(kind, JsonText) else None
    return itemgetter(name) if process is None else lambda row: process(row[name])
