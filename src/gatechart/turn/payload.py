"""What senders bring, made plain: JSON values under names, checked where an entry point has a schema for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel, RootModel, ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from gatechart.context import describe_fields, problems_of, values_of
from gatechart.errors import PayloadError
from gatechart.graph import EntryPoint
from gatechart.values import Event, EventName, Payload

_AS_IN_A_CONTEXT: Final[Any] = {"inf_nan_mode": "strings", "bytes_mode": "base64"}


def plain_payload(payload: Any, event: EventName) -> Payload:
    """The payload as JSON values, a copy of its own: what a store would give back.

    payload: None, a mapping with text keys, or a pydantic model. Raises PayloadError.
    """
    if payload is None:
        return {}
    taker, expected = f"event {event!r}", "a mapping or pydantic model of JSON values under text names"
    if isinstance(payload, Mapping):
        payload = dict(payload)
        for name in payload:
            if not isinstance(name, str):
                raise PayloadError(taker, (f"{name!r} is no text",), expected)
    elif not isinstance(payload, BaseModel):
        raise PayloadError(taker, (f"it is a {type(payload).__name__}",), expected)
    try:
        plain: Payload = from_json(to_json(payload, by_alias=False, fallback=_mapping, **_AS_IN_A_CONTEXT))
    except (PydanticSerializationError, ValueError) as error:
        raise PayloadError(taker, (str(error),), expected) from error
    return plain


def own_copy(event: Event) -> Event:
    """The event with a payload of its own, so that nobody who writes into it changes what happened."""
    payload = from_json(to_json(event.payload)) if event.payload else {}
    return Event(event.name, payload, event.time, event.id, event.sender)


def _mapping(value: object) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise PydanticSerializationError(f"Unable to serialize unknown type: {type(value)}")


def fit_payload(graph: str, entry: EntryPoint, payload: Any) -> BaseModel | None:
    """The payload as the entry point's schema has it; None where it takes none. Raises PayloadError."""
    if entry.takes is None and (payload is None or payload == {}):
        return None
    taker = f"entry point {entry.name!r} of {graph!r}"
    if entry.takes is None:
        raise PayloadError(taker, ("it takes no payload",), "none; declare takes= on the entry point to bring one")
    try:
        return entry.takes.model_validate(
            _values(payload), by_alias=True, by_name=True, from_attributes=isinstance(payload, BaseModel)
        )
    except ValidationError as error:
        expected = f"{entry.takes.__name__}({describe_fields(entry.takes)})"
        raise PayloadError(taker, problems_of(error), expected) from error


def _values(payload: Any) -> Any:
    """What is to be validated: a copy of a model's values, for a model itself would be taken as valid."""
    if isinstance(payload, RootModel):
        return payload.root
    if isinstance(payload, BaseModel):
        return values_of(payload.model_copy(deep=True))
    return {} if payload is None else payload
