"""Errors on their way from the service to whoever called: by name and facts, made again on the other side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Final, get_type_hints

from pydantic import PydanticSchemaGenerationError, TypeAdapter, ValidationError

from gatechart.errors import EngineRefusedError, GatechartError
from gatechart.turn import message_of

UNKNOWN: Final = "of the service"


def told_error(error: Exception) -> dict[str, Any]:
    """The error as JSON values."""
    name = type(error).__name__
    if isinstance(error, GatechartError) and name in _kinds():
        facts = {each.name: getattr(error, each.name) for each in fields(error)}
        return {"name": name, "facts": TypeAdapter(dict[str, Any]).dump_python(facts, mode="json")}
    return {"name": name, "text": message_of(error)}


def error_of(told: dict[str, Any], url: str, call: str) -> GatechartError:
    """The error that was told; an EngineRefusedError where it was none of this package."""
    kind = _kinds().get(told["name"])
    if kind is None or "facts" not in told:
        return EngineRefusedError(url, call, f"{told['name']}: {told.get('text', '')}")
    try:
        return kind(*(_read(kind, name, value) for name, value in told["facts"].items()))
    except (ValidationError, TypeError):  # of another release
        return EngineRefusedError(url, call, f"{told['name']}: {told['facts']}")


def _read(kind: type[GatechartError], name: str, value: Any) -> Any:
    hint = get_type_hints(kind)[name]
    try:
        return TypeAdapter(hint).validate_python(value, strict=False)
    except PydanticSchemaGenerationError:
        return value


@cache
def _kinds() -> MappingProxyType[str, type[GatechartError]]:
    return MappingProxyType({kind.__name__: kind for kind in _below(GatechartError) if is_dataclass(kind)})


def _below(kind: type[GatechartError]) -> Iterator[type[GatechartError]]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)
