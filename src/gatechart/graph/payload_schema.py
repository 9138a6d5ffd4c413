"""JSON Schemas of payloads, written in a graph: their faults, and the problems of a payload.

The cost of a check is at most the size of the payload times the size of the schema: references are local and acyclic,
patterns are matched in linear time, and keywords that compare values with each other are refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from pydantic_core import SchemaError, SchemaValidator, ValidationError, core_schema

from gatechart.context import LISTED, canonical_json

MOST_PARTS: Final = 5_000
"""The largest number of parts of a schema, with its references followed."""

_LONGEST_PROBLEM: Final = 500
_REF: Final = re.compile(r"#/\$defs/([^/~%]+)")
_BIND: Final = "bind a pydantic model instead"

_ONE: Final = ("additionalProperties", "items", "not", "if", "then", "else", "contains", "propertyNames")
_SEVERAL: Final = ("prefixItems", "allOf", "anyOf", "oneOf")
_PLAIN: Final = (
    *("$schema", "$comment", "$defs", "title", "description", "default", "examples", "deprecated", "readOnly"),
    *("writeOnly", "format", "type", "enum", "const", "required", "minProperties", "maxProperties", "minItems"),
    *("maxItems", "minContains", "maxContains", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("multipleOf", "minLength", "maxLength"),
)


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """The JSON Schema, draft 2020-12, of a payload."""

    text: str  # JSON, as written

    @property
    def plain(self) -> Any:
        """The schema as JSON values."""
        return json.loads(self.text)

    @property
    def canonical(self) -> str:
        """A canonical text, which does not depend on the order of keys."""
        return canonical_json(self.plain)

    @property
    def fields(self) -> Mapping[str, str]:
        """The types of the fields by name; the names of optional fields end with a question mark."""
        schema = self.plain
        fields, required = schema.get("properties", {}), schema.get("required", ())
        return {f"{name}{'' if name in required else '?'}": _type_of(part) for name, part in fields.items()}

    def __str__(self) -> str:
        """Describe the fields in one line."""
        fields = ", ".join(f"{name}: {type_name}" for name, type_name in self.fields.items())
        return f"an object with {fields}" if fields else self.text[:_LONGEST_PROBLEM]

    def problems(self, payload: Mapping[str, Any]) -> tuple[str, ...]:
        """Return one line for each of the first ten problems of a payload, with the path of the field."""
        errors = islice(_validator(self.text).iter_errors(payload), LISTED)
        return tuple(
            f"{'.'.join(map(str, error.absolute_path)) or 'the whole'}: {error.message[:_LONGEST_PROBLEM]}"
            for error in errors
        )

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield problem and remedy of each fault of the schema itself."""
        schema = self.plain
        faults = tuple(_Walk(schema).faults())
        yield from faults
        if not faults:
            yield from _faults_by_library(self.text)


def _type_of(schema: Any) -> str:
    types = schema.get("type", "any") if isinstance(schema, dict) else "any"
    return " or ".join(types) if isinstance(types, list) else str(types)


class _Walk:
    """A walk through all parts of a schema, each as often as it is referenced."""

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._left = MOST_PARTS

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield the faults without duplicates, which repeated references cause."""
        if not isinstance(self._schema, dict):
            yield "the schema is not a mapping", "write `type: object` with `properties:`"
            return
        yield from dict.fromkeys(self._of(self._schema, ()))
        if self._left <= 0:
            yield f"the schema has more than {MOST_PARTS:,} parts, references followed", _BIND

    def _of(self, schema: Any, via: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """Yield the faults of a part. via: the references followed to this part."""
        self._left -= 1
        if self._left <= 0 or not isinstance(schema, dict):
            return
        for keyword, value in schema.items():
            if keyword == "$ref":
                yield from self._referred(value, via)
            elif keyword == "pattern":
                yield from _pattern_faults(value)
            elif keyword in (*_ONE, *_SEVERAL, "properties"):
                for part in _parts(keyword, value):
                    yield from self._of(part, via)
            elif keyword not in _PLAIN:
                yield f"the keyword {keyword!r} is not supported in a payload's schema", _BIND

    def _referred(self, reference: Any, via: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        match = _REF.fullmatch(reference) if isinstance(reference, str) else None
        parts = self._schema.get("$defs", {})
        if match is None or match[1] not in parts:
            yield f"the reference {reference!r} leads nowhere", "refer to a part under `$defs` as `#/$defs/NAME`"
        elif match[1] in via:
            yield f"the reference {reference!r} leads back to itself", _BIND
        else:
            yield from self._of(parts[match[1]], (*via, match[1]))


def _parts(keyword: str, value: Any) -> Iterable[Any]:
    """Return the schemas under a keyword; empty if its value has another shape, which the library reports."""
    if keyword in _ONE:
        return (value,)
    if keyword == "properties":
        return value.values() if isinstance(value, dict) else ()
    return value if isinstance(value, list) else ()


def _pattern_faults(pattern: Any) -> Iterator[tuple[str, str]]:
    if isinstance(pattern, str) and not is_linear(pattern):
        yield f"the pattern {pattern!r} cannot be read", "write one without look-around and back-references"


def is_linear(pattern: str) -> bool:
    """Return whether an expression can be matched in linear time: it has no look-around and no back-references."""
    try:
        _matcher(pattern)
    except SchemaError:
        return False
    return True


def _faults_by_library(text: str) -> Iterator[tuple[str, str]]:
    try:
        from jsonschema import Draft202012Validator, exceptions  # noqa: PLC0415  few graphs need it, and it is an extra
    except ModuleNotFoundError:
        yield "it needs the package jsonschema", "run `pip install 'gatechart[schemas]'`, or bind a pydantic model"
        return
    try:
        Draft202012Validator.check_schema(json.loads(text))
    except exceptions.SchemaError as error:
        place = ".".join(map(str, error.absolute_path)) or "the whole"
        yield f"{place}: {error.message[:_LONGEST_PROBLEM]}", "write a JSON Schema of draft 2020-12"


@lru_cache(256)
def _validator(text: str) -> Any:
    """Return the library's validator, with its own messages and patterns replaced."""
    from jsonschema import Draft202012Validator, validators  # noqa: PLC0415

    validator = validators.extend(Draft202012Validator, {"required": _required, "pattern": _pattern})
    return validator(json.loads(text))


def _required(_: Any, names: Any, instance: Any, __: Any) -> Iterator[Any]:
    """Yield an error for each missing field, at the path of the field."""
    from jsonschema import ValidationError as Misfit  # noqa: PLC0415

    if isinstance(instance, dict):
        yield from (Misfit("it is required", path=(name,)) for name in names if name not in instance)


def _pattern(_: Any, pattern: str, instance: Any, __: Any) -> Iterator[Any]:
    from jsonschema import ValidationError as Misfit  # noqa: PLC0415

    if isinstance(instance, str):
        try:
            _matcher(pattern).validate_python(instance)
        except ValidationError:
            yield Misfit(f"it does not match the pattern {pattern!r}")


@lru_cache(256)
def _matcher(pattern: str) -> SchemaValidator:
    """Return a matcher that uses Rust's regex engine, which never backtracks. Raises SchemaError."""
    return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
