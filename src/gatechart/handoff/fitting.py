"""Which values that another agent left fit the fields of a context."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic_core import to_json

from gatechart.context import AgentContext, new_context


def fitting(kind: type[AgentContext], names: Iterable[str], values: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the named fields whose JSON value is valid for them, with the value as the field has it.

    What does not fit is left out, as if it had not been there; whether the fields agree with each other is not judged.
    """
    found = {name: read[0] for name in names if name in values and (read := _read(kind, name, values[name]))}
    return {name: value for name, value in found.items() if name not in _refused(kind, found)} if found else {}


def _read(kind: type[AgentContext], name: str, value: Any) -> tuple[Any] | None:
    try:
        reader = _reader(kind, name)
        return (vars(reader.model_validate_json(to_json({"value": value}), by_alias=False, by_name=True))["value"],)
    except ValidationError:
        return None


@cache
def _reader(kind: type[AgentContext], name: str) -> type[BaseModel]:
    """A model of that one field. A context would ask for all others, and JSON is read otherwise than Python values."""
    info = copy(kind.model_fields[name])
    config = ConfigDict(**{**kind.model_config, "title": None})
    fields: dict[str, Any] = {"value": (info.annotation, info)}
    return create_model(f"{kind.__name__}.{name}", __config__=config, **fields)


def _refused(kind: type[AgentContext], fields: Mapping[str, Any]) -> set[str]:
    """The fields that validators of the context itself refuse."""
    try:
        new_context(kind, fields)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        return {str(fault["loc"][0]) for fault in faults if fault["loc"]}
    return set()
