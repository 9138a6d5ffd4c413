"""The checkable part of an outside JSON Schema. The server or the model's provider checks the rest.

Servers write schemas in any draft, with annotations of every kind, references to any part, recursion and patterns of
any regex engine. None of these makes a tool unusable: the check skips the parts that it cannot check in bounded time,
and the model and the server still get the whole schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import unquote

from gatechart.graph.payload_schema import MOST_PARTS, is_linear

_TYPES: Final = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_NUMBERS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_COUNTS: Final = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains")
# Excludes `not`, `if`, `oneOf` and `maxContains`: they invert a part, so that skipped checks refuse valid values.
_SCHEMAS: Final = ("items", "contains", "propertyNames")
_LISTS: Final[Mapping[str, str]] = {name: name for name in ("allOf", "anyOf", "prefixItems")} | {"oneOf": "anyOf"}


def checkable(schema: Any) -> Mapping[str, Any]:
    """Return a draft 2020-12 schema that accepts everything that `schema` accepts, and keeps all safe checks.

    schema: of any draft. Targets replace references; recursion ends after one level.
    A schema with more than 5,000 parts, including reference targets, is checked only by its type.

    >>> checkable({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "x-order": ["a"],
    ...     "properties": {"a": {"type": "string", "pattern": "^(?!x)"}}})
    {'type': 'object', 'properties': {'a': {'type': 'string'}}}
    """
    try:
        return _Pruning(schema).pruned(schema, ())
    except (_TooLargeError, RecursionError):
        return {"type": "object"} if isinstance(schema, Mapping) and schema.get("type") == "object" else {}


class _TooLargeError(Exception):
    """The schema has too many parts."""


class _Pruning:
    """Removes the keywords of one schema that cannot be checked."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._left = MOST_PARTS

    def pruned(self, schema: Any, via: tuple[str, ...]) -> dict[str, Any]:
        """Return the checkable form of a part. via: the references that led here."""
        self._left -= 1
        if self._left < 0:
            raise _TooLargeError
        if schema is False:
            return {"not": {}}
        if not isinstance(schema, Mapping):
            return {}
        if "$ref" in schema:
            return self._referred(schema, via)
        kept = dict(self._keywords(schema, via))
        if schema.get("nullable") is True:  # OpenAPI 3.0, which many servers use
            return {"anyOf": [kept, {"type": "null"}]}
        return kept

    def _referred(self, schema: Mapping[str, Any], via: tuple[str, ...]) -> dict[str, Any]:
        reference = schema["$ref"]
        if not isinstance(reference, str) or reference in via:
            return {}
        return self.pruned(at_pointer(self._root, reference), (*via, reference))  # older drafts ignore its siblings

    def _keywords(self, schema: Mapping[str, Any], via: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        for keyword, value in schema.items():
            reader = _READERS.get(keyword)
            if reader is not None and reader(value):
                yield keyword, value
            elif keyword in _SCHEMAS and isinstance(value, bool | Mapping):
                yield keyword, self.pruned(value, via)
            elif keyword in _LISTS and isinstance(value, list) and value:
                if keyword != "oneOf" or "anyOf" not in schema:
                    yield _LISTS[keyword], [self.pruned(part, via) for part in value]
            elif keyword == "properties" and isinstance(value, Mapping):
                yield keyword, {name: self.pruned(part, via) for name, part in value.items()}
            elif keyword == "additionalProperties" and "patternProperties" not in schema:
                yield keyword, value if isinstance(value, bool) else self.pruned(value, via)


def at_pointer(root: Any, reference: str) -> Any:
    """Return the part of a document at a local JSON pointer such as `#/$defs/Line`; an empty schema without one.

    Source: RFC 6901.
    """
    if not reference.startswith("#"):
        return {}
    part = root
    for token in unquote(reference[1:]).split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(part, Mapping) and name in part:
            part = part[name]
        elif isinstance(part, list) and name.isdecimal() and int(name) < len(part):
            part = part[int(name)]
        else:
            return {}
    return part


def is_well_formed(keyword: str, value: Any) -> bool:
    """Return whether the value of a keyword has the form of draft 2020-12; True for keywords that hold schemas."""
    reader = _READERS.get(keyword)
    return reader is None or reader(value)


def _is_type(value: Any) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and all(isinstance(name, str) and name in _TYPES for name in names)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _is_factor(value: Any) -> bool:
    return _is_number(value) and value > 0


def _is_pattern(value: Any) -> bool:
    return isinstance(value, str) and is_linear(value)


_READERS: Final[Mapping[str, Callable[[Any], bool]]] = MappingProxyType(
    {
        "type": _is_type,
        "enum": lambda value: isinstance(value, list) and bool(value),
        "const": lambda _: True,
        "required": _is_names,
        "pattern": _is_pattern,
        "multipleOf": _is_factor,
        **dict.fromkeys(_NUMBERS, _is_number),
        **dict.fromkeys(_COUNTS, _is_count),
    }
)
