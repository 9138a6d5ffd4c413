"""Secrets declared by types: pydantic's `SecretStr`, `SecretBytes`, `Secret[T]`, and the secrets of a JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from typing import Any, Final, Literal, TypeAlias

from pydantic import BaseModel, RootModel, Secret, SecretBytes, SecretStr, TypeAdapter
from pydantic_core import to_jsonable_python

from gatechart.values.secrets import MASK, SECRET, hidden, revealed

__all__ = [
    "MASK",
    "SECRET",
    "describes_secrets",
    "has_secrets",
    "hidden",
    "is_secret",
    "marked",
    "marked_by",
    "masked",
    "revealed",
]

_TYPES: Final = (SecretStr, SecretBytes, Secret)
_Bytes: TypeAlias = Literal["utf8", "base64", "hex"]


def is_secret(value: Any) -> bool:
    """Return whether a value is a secret."""
    return isinstance(value, _TYPES)


@cache
def has_secrets(kind: type[BaseModel]) -> bool:
    """Return whether values of a model may have secrets, at any depth."""
    return describes_secrets(TypeAdapter(kind).core_schema)


def describes_secrets(schema: Any) -> bool:
    """Return whether a part of pydantic's core schema, the only complete description, is or has a secret."""
    if isinstance(schema, list | tuple):
        return any(map(describes_secrets, schema))
    if not isinstance(schema, dict):
        return False
    writer = schema.get("serialization", {}).get("function")
    return "secret" in getattr(writer, "__name__", "") or any(map(describes_secrets, schema.values()))


def marked(value: Any, written: Any, in_bytes: _Bytes = "utf8") -> Any:
    """Return JSON values with their secrets restored and marked, where pydantic had masked them.

    value: the Python value of the JSON values, by field names. in_bytes: the encoding of secret bytes, unless a model
    sets another.

    Raises PydanticSerializationError for a secret that is not JSON.
    """
    if isinstance(value, _TYPES):
        return {SECRET: to_jsonable_python(value.get_secret_value(), bytes_mode=in_bytes)}
    if isinstance(value, BaseModel):
        in_bytes = value.model_config.get("val_json_bytes", "utf8")
    if isinstance(value, RootModel):
        return marked(value.root, written, in_bytes)
    if isinstance(written, dict) and (isinstance(value, BaseModel) or is_dataclass(value)):
        return {name: marked(getattr(value, name, None), each, in_bytes) for name, each in written.items()}
    if isinstance(written, dict) and isinstance(value, Mapping) and len(value) == len(written):
        pairs = zip(value.values(), written.items(), strict=True)  # JSON may have turned the keys into texts
        return {key: marked(each, text, in_bytes) for each, (key, text) in pairs}
    if isinstance(written, list) and isinstance(value, list | tuple | set | frozenset) and len(value) == len(written):
        return [marked(each, text, in_bytes) for each, text in zip(value, written, strict=True)]
    return written


def masked(schema: Mapping[str, Any], value: Any) -> Any:
    """Return a JSON value with a mask in place of each secret in it. schema: the JSON Schema of the value.

    >>> schema = {"properties": {"order": {"type": "string"}, "pin": {"type": "string", "format": "password"}}}
    >>> masked(schema, {"order": "4711", "pin": "0815"})
    {'order': '4711', 'pin': '**********'}
    """
    return hidden(marked_by(schema, value))


def marked_by(schema: Mapping[str, Any], value: Any) -> Any:
    """Return a JSON value with each secret in it marked. schema: the JSON Schema of the value.

    >>> schema = {"properties": {"order": {"type": "string"}, "pin": {"type": "string", "writeOnly": True}}}
    >>> marked_by(schema, {"order": "4711", "pin": "0815"})
    {'order': '4711', 'pin': {'$secret': '0815'}}
    """
    return _marked(schema, schema, value) if "password" in str(schema) or "writeOnly" in str(schema) else value


def _marked(root: Mapping[str, Any], schema: Any, value: Any) -> Any:
    """Mark a part of a value. Where a schema has alternatives, a part that is secret in one of them is a secret."""
    if not isinstance(schema, Mapping) or (isinstance(value, dict) and SECRET in value):
        return value
    if schema.get("writeOnly") or schema.get("format") == "password":
        return value if value is None else {SECRET: value}
    for part in _referred(root, schema):
        value = _marked(root, part, value)
    if isinstance(value, dict):
        properties, additional = schema.get("properties", {}), schema.get("additionalProperties")
        return {key: _marked(root, properties.get(key, additional), item) for key, item in value.items()}
    if isinstance(value, list):
        first = schema.get("prefixItems", ())
        kinds = (*first, *[schema.get("items")] * (len(value) - len(first)))
        return [_marked(root, kind, each) for kind, each in zip(kinds, value, strict=False)]
    return value


def _referred(root: Mapping[str, Any], schema: Mapping[str, Any]) -> list[Any]:
    schemas = [each for keyword in ("anyOf", "oneOf", "allOf") for each in schema.get(keyword, ())]
    reference = schema.get("$ref")
    if isinstance(reference, str):
        schemas.append(root.get("$defs", {}).get(reference.removeprefix("#/$defs/")))
    return schemas
