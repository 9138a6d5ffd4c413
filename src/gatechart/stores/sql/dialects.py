"""SQL constructs that each kind of database writes differently."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Dialect,
    FromClause,
    Select,
    String,
    TypeDecorator,
    bindparam,
    select,
)
from sqlalchemy import literal_column as written
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from gatechart.stores.sql.postgres_text import escaped_json

Kind: TypeAlias = type[str] | type[int]


class JsonText(TypeDecorator[str]):
    """JSON text that a statement unpacks. The character NUL is encoded as PostgreSQL stores it."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """See TypeDecorator."""
        return escaped_json(value) if value is not None and dialect.name == "postgresql" else value


class _Items(FunctionElement[Any]):
    """The items of a JSON array, one row each, as JSON in the column `value`."""

    name = "items"
    inherit_cache = True


class _StoredItems(FunctionElement[Any]):
    """The items of a column's JSON array of texts. A damaged array has no items, and raises no error."""

    name = "stored_items"
    inherit_cache = True


class _Text(FunctionElement[str]):
    """An item as text. With a position, the element at that position of the item."""

    type = String()
    name = "item_text"
    inherit_cache = True


class _Number(FunctionElement[int]):
    """An item, or an element of it, as a whole number."""

    type = BigInteger()
    name = "item_number"
    inherit_cache = True


_STRING: Final = r'"([^"\\[:cntrl:]]|\\["\\/bfnrt]|\\u00(0[1-9a-f]|1[0-9a-f]))*"'
_ARRAY: Final = rf"^\[({_STRING}(,{_STRING})*)?\]$"
"""A PostgreSQL regular expression for a JSON array of texts as gatechart writes it, which always casts to JSON."""

_ITEM: Final[Mapping[Kind, type[FunctionElement[Any]]]] = {str: _Text, int: _Number}


def driver_cursor(connection: Connection) -> Any:
    """Return a cursor of the driver itself, in the connection's transaction."""
    return connection.connection.cursor()


def listed(kind: Kind = str) -> Select[Any]:
    """Return the values of the JSON array bound as `values`, for `IN`."""
    return select(_ITEM[kind](_rows_of(bindparam("values", type_=JsonText())).c.value))


def unpacked(**columns: Kind) -> FromClause:
    """Return a table of the rows bound as `rows`: JSON text, an array of arrays in the order of the columns."""
    value = _rows_of(bindparam("rows", type_=JsonText())).c.value
    items = (_ITEM[kind](value, written(str(place))).label(name) for place, (name, kind) in enumerate(columns.items()))
    return select(*items).subquery("unpacked")


def items_of(array: ColumnElement[str]) -> tuple[FromClause, ColumnElement[str]]:
    """Return a table of the texts in a column's JSON array, and its text column. A damaged array has no rows."""
    table = _StoredItems(array).table_valued("value")
    return table, _Text(table.c.value)


def _rows_of(array: ColumnElement[str]) -> FromClause:
    return _Items(array).table_valued("value")


@compiles(_Items, "sqlite")
def _items_on_sqlite(element: _Items, compiler: Any, **options: Any) -> str:
    return f"json_each({compiler.process(element.clauses, **options)})"


@compiles(_Items, "postgresql")
def _items_on_postgres(element: _Items, compiler: Any, **options: Any) -> str:
    return f"json_array_elements(CAST({compiler.process(element.clauses, **options)} AS JSON))"


@compiles(_StoredItems, "sqlite")
def _stored_items_on_sqlite(element: _StoredItems, compiler: Any, **options: Any) -> str:
    array = compiler.process(element.clauses, **options)
    return f"json_each(CASE WHEN typeof({array}) = 'text' AND json_valid({array}) THEN {array} ELSE '[]' END)"


@compiles(_StoredItems, "postgresql")
def _stored_items_on_postgres(element: _StoredItems, compiler: Any, **options: Any) -> str:
    array = compiler.process(element.clauses, **options)
    return f"json_array_elements(CAST(CASE WHEN {array} ~ '{_ARRAY}' THEN {array} ELSE '[]' END AS JSON))"


@compiles(_Text, "sqlite")
@compiles(_Number, "sqlite")
def _item_on_sqlite(element: _Text | _Number, compiler: Any, **options: Any) -> str:
    item, *place = (compiler.process(each, **options) for each in element.clauses)
    return f"json_extract({item}, '$[{place[0]}]')" if place else item


@compiles(_Text, "postgresql")
def _text_on_postgres(element: _Text | _Number, compiler: Any, **options: Any) -> str:
    item, *place = (compiler.process(each, **options) for each in element.clauses)
    return f"({item} ->> {place[0]})" if place else f"({item} #>> '{{}}')"


@compiles(_Number, "postgresql")
def _number_on_postgres(element: _Number, compiler: Any, **options: Any) -> str:
    return f"CAST({_text_on_postgres(element, compiler, **options)} AS BIGINT)"
