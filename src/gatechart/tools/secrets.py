"""Secrets in values that pydantic writes: masked where people and models read them, revealed where they are stored.

A secret is what a type calls one: pydantic's `SecretStr` and `SecretBytes`, which a JSON Schema shows as `writeOnly` or
as the format `password`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any, Final

from pydantic import BaseModel, Secret, SecretBytes, SecretStr

MASK: Final = "**********"
"""What stands in place of a secret, as in pydantic."""


def masked(schema: Mapping[str, Any], value: Any) -> Any:
    """Return a JSON value with a mask in place of each secret in it. schema: the JSON Schema of the value.

    >>> schema = {"properties": {"order": {"type": "string"}, "pin": {"type": "string", "format": "password"}}}
    >>> masked(schema, {"order": "4711", "pin": "0815"})
    {'order': '4711', 'pin': '**********'}
    """
    return _masked(schema, schema, value) if "password" in str(schema) or "writeOnly" in str(schema) else value


def _masked(root: Mapping[str, Any], schema: Any, value: Any) -> Any:
    """Mask a part of a value. Where a schema has alternatives, what is secret in one of them is a secret."""
    if not isinstance(schema, Mapping):
        return value
    if schema.get("writeOnly") or schema.get("format") == "password":
        return value if value is None else MASK
    for part in _referred(root, schema):
        value = _masked(root, part, value)
    if isinstance(value, dict):
        named, others = schema.get("properties", {}), schema.get("additionalProperties")
        return {key: _masked(root, named.get(key, others), each) for key, each in value.items()}
    if isinstance(value, list):
        first = schema.get("prefixItems", ())
        kinds = (*first, *[schema.get("items")] * (len(value) - len(first)))
        return [_masked(root, kind, each) for kind, each in zip(kinds, value, strict=False)]
    return value


def _referred(root: Mapping[str, Any], schema: Mapping[str, Any]) -> list[Any]:
    found = [each for keyword in ("anyOf", "oneOf", "allOf") for each in schema.get(keyword, ())]
    reference = schema.get("$ref")
    if isinstance(reference, str):
        found.append(root.get("$defs", {}).get(reference.removeprefix("#/$defs/")))
    return found


def revealed(value: Any, written: Any) -> Any:
    """Return JSON values with the secrets that pydantic masked in them. value: what they were written from.

    Raises UnicodeDecodeError for secret bytes that are no text.
    """
    if isinstance(value, SecretStr | SecretBytes | Secret):
        found = value.get_secret_value()
        return found.decode() if isinstance(found, bytes) else found
    if isinstance(value, BaseModel) or (is_dataclass(value) and isinstance(written, dict)):
        return {name: revealed(getattr(value, name, None), each) for name, each in written.items()}
    if isinstance(value, dict) and isinstance(written, dict):  # whose keys may have been written as texts
        pairs = zip(value.values(), written.items(), strict=True)
        return {key: revealed(each, text) for each, (key, text) in pairs}
    if isinstance(value, list | tuple) and isinstance(written, list):
        return [revealed(*pair) for pair in zip(value, written, strict=True)]
    return written
