"""Fill fields from a packet: the agent's own values come first, then declared entities."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from copy import copy
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError, create_model
from pydantic_core import to_json

from gatechart.context import AgentContext, canonical_json, new_context
from gatechart.handoff.packet import HandoffPacket
from gatechart.secrets import has_secrets
from gatechart.values.secrets import revealed


def filling_values(packet: HandoffPacket, entities: Collection[str]) -> dict[str, JsonValue]:
    """Return the values that may fill fields, by name.

    All values of the internal state are used, because the agent itself wrote them. An entity is used if its name is in
    `entities` and not in the internal state.

    >>> packet = HandoffPacket(internal_state={"paid": False}, entities={"paid": True, "city": "Bern", "tip": 5})
    >>> filling_values(packet, entities=("paid", "city"))
    {'paid': False, 'city': 'Bern'}
    """
    allowed = {name: packet.entities[name] for name in entities if name in packet.entities}
    return allowed | packet.internal_state


def collisions(packet: HandoffPacket, fields: Iterable[str]) -> Iterator[str]:
    """Yield each field with different values in the internal state and in the entities.

    Values are compared as JSON, where 1, 1.0 and true differ.
    """
    for name in fields:
        if name in packet.internal_state and name in packet.entities:
            state, entity = ({name: part[name]} for part in (packet.internal_state, packet.entities))
            if canonical_json(state) != canonical_json(entity):
                yield name


def fitting(kind: type[AgentContext], names: Iterable[str], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the named fields that have a valid JSON value, read as the field's type.

    Invalid values are left out, as if missing. Consistency between the fields is not checked.
    """
    fields = {name: read[0] for name in names if name in values and (read := _read(kind, name, values[name]))}
    refused = _refused(kind, fields) if fields else set()
    return {name: value for name, value in fields.items() if name not in refused}


def _read(kind: type[AgentContext], name: str, value: Any) -> tuple[Any] | None:
    try:
        reader = _reader(kind, name)
        content = {"value": revealed(value) if has_secrets(reader) else value}
        return (vars(reader.model_validate_json(to_json(content), by_alias=False, by_name=True))["value"],)
    except ValidationError:
        return None


@cache
def _reader(kind: type[AgentContext], name: str) -> type[BaseModel]:
    """Build a model of one field: the context requires all others, and JSON is read differently from Python values."""
    info = copy(kind.model_fields[name])
    config = ConfigDict(**{**kind.model_config, "title": None})
    fields: dict[str, Any] = {"value": (info.annotation, info)}
    return create_model(f"{kind.__name__}.{name}", __config__=config, **fields)


def _refused(kind: type[AgentContext], fields: Mapping[str, Any]) -> set[str]:
    """Return the fields that the context's own validators refuse."""
    try:
        new_context(kind, fields)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        return {str(fault["loc"][0]) for fault in faults if fault["loc"]}
    return set()
