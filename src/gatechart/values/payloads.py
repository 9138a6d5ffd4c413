"""Payloads of mail and of recorded events, read once into values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, TypeVar

from gatechart.values.names import Payload

T = TypeVar("T")


def read(kind: type[T], payload: Payload, **parts: Any) -> T:
    """Return a value whose fields come from the payload's entries with the same names, or else from the defaults.

    kind: a class decorated with `value` whose fields have defaults. An entry of another type than the default is
    ignored, unless the default is None. Lists become tuples. parts: fields that the caller has already read.
    """
    return kind(**(dict(_entries(kind, payload)) | parts))


def mappings(content: object) -> Iterator[Payload]:
    """Yield the mappings in a list; none if the content is not a list."""
    if isinstance(content, list | tuple):
        yield from (entry for entry in content if isinstance(entry, Mapping))


def _entries(kind: type, payload: Payload) -> Iterator[tuple[str, Any]]:
    for name, default in _defaults(kind):
        content = payload.get(name)
        if isinstance(default, tuple) and isinstance(content, list | tuple):
            yield name, tuple(content)
        elif name in payload and (default is None or isinstance(content, type(default))):
            yield name, content


@cache
def _defaults(kind: type) -> tuple[tuple[str, Any], ...]:
    defaults = tuple((field.name, field.default) for field in fields(kind))
    assert all(default is not MISSING for _, default in defaults), kind
    return defaults
