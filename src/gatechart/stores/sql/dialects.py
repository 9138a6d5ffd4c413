"""Differences between kinds of databases: lists in SQL, and text with NUL, which PostgreSQL refuses."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Dialect,
    FromClause,
    Select,
    String,
    TextClause,
    TypeDecorator,
    bindparam,
    select,
    text,
)
from sqlalchemy import literal_column as written
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from gatechart.stores.sql.columns import to_json

Kind: TypeAlias = type[str] | type[int]


class Unpacked(TypeDecorator[Any]):
    """Rows, or a list of texts, sent as JSON text for a statement to unpack."""

    impl = String
    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], str]:
        """See TypeDecorator."""
        return (lambda value: escaped_json(to_json(value))) if dialect.name == "postgresql" else to_json


class Numbers(TypeDecorator[Any]):
    """A list of integers, sent as JSON text, which equals Python's own text of it."""

    impl = String
    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], str]:  # noqa: ARG002
        """See TypeDecorator."""
        return str


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
    """An item, or an element of it, as an integer."""

    type = BigInteger()
    name = "item_number"
    inherit_cache = True


_STRING: Final = r'"([^"\\[:cntrl:]]|\\["\\/bfnrt]|\\u00(0[1-9a-f]|1[0-9a-f]))*"'
_ARRAY: Final = rf"^\[({_STRING}(,{_STRING})*)?\]$"
"""A PostgreSQL regular expression for JSON arrays of texts in gatechart's format; a match always casts to JSON."""

_ITEM: Final[Mapping[Kind, type[FunctionElement[Any]]]] = {str: _Text, int: _Number}
_LIST: Final[Mapping[Kind, type[TypeDecorator[Any]]]] = {str: Unpacked, int: Numbers}


def listed(kind: Kind = str) -> Select[Any]:
    """Select the values of the list bound as `values`, for `IN`."""
    return select(_ITEM[kind](_rows_of(bindparam("values", type_=_LIST[kind]())).c.value))


def unpacked(**columns: Kind) -> FromClause:
    """Return a table of the rows bound as `rows`: a list of lists in the order of the columns."""
    value = _rows_of(bindparam("rows", type_=Unpacked())).c.value
    items = (_ITEM[kind](value, written(str(index))).label(name) for index, (name, kind) in enumerate(columns.items()))
    return select(*items).subquery("unpacked")


def items_of(array: ColumnElement[str]) -> tuple[FromClause, ColumnElement[str]]:
    """Return a table of the texts in a column's JSON array, and its text column. A damaged array yields no rows."""
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
    item, *position = (compiler.process(clause, **options) for clause in element.clauses)
    return f"json_extract({item}, '$[{position[0]}]')" if position else item


@compiles(_Text, "postgresql")
def _text_on_postgres(element: _Text | _Number, compiler: Any, **options: Any) -> str:
    item, *position = (compiler.process(clause, **options) for clause in element.clauses)
    return f"({item} ->> {position[0]})" if position else f"({item} #>> '{{}}')"


@compiles(_Number, "postgresql")
def _number_on_postgres(element: _Number, compiler: Any, **options: Any) -> str:
    return f"CAST({_text_on_postgres(element, compiler, **options)} AS BIGINT)"


KEEP_NUMBER: Final[Mapping[str, TextClause]] = {
    "postgresql": text("SELECT setval('mail_number_seq', greatest(:number, last_value)) FROM mail_number_seq")
}
"""By dialect, the statement that reserves a used mail number. SQLite does this itself."""

ESCAPE: Final = "\x1a"  # "substitute", the escape character; doubled where the text itself contains it
_NUL: Final = f"{ESCAPE}0"
_TWICE: Final = ESCAPE * 2
_IN_JSON: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\u00(00|1a)")
_KINDS: Final = ("text", "varchar")


def encoded(text: str) -> bytes:
    r"""Encode a text for the server. Different texts have different bytes.

    >>> encoded("a door"), encoded("a\0b")
    (b'a door', b'a\x1a0b')
    """
    if "\0" in text or ESCAPE in text:
        text = text.replace(ESCAPE, _TWICE).replace("\0", _NUL)
    return text.encode()


def escaped_json(text: str) -> str:
    r"""Return JSON text whose strings are escaped as `encoded` does.

    >>> print(escaped_json(r'["a\u0000b", "c\\u0000"]'))
    ["a\u001a0b", "c\\u0000"]
    """
    return _IN_JSON.sub(_in_json, text) if "\\u00" in text else text


def _in_json(match: re.Match[str]) -> str:
    before, code = match.groups()
    return rf"{before}\u001a0" if code == "00" else rf"{before}\u001a\u001a"


def decoded(kept: bytes) -> str:
    r"""Decode bytes that `encoded` returned.

    >>> decoded(encoded("a\0b\x1a\x1a0")) == "a\0b\x1a\x1a0"
    True
    """
    text = kept.decode()
    if ESCAPE in text:
        text = ESCAPE.join(part.replace(_NUL, "\0") for part in text.split(_TWICE))
    return text


async def keep_every_text(connection: Any) -> None:
    """Make an asyncpg connection use `encoded` and `decoded` for text."""
    for kind in _KINDS:
        await connection.set_type_codec(kind, schema="pg_catalog", encoder=encoded, decoder=decoded, format="binary")
