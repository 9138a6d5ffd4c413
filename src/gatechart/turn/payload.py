"""What senders bring, made plain: JSON values under names, checked where an entry point has a schema for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import isfinite
from typing import Any, Final, Literal

from pydantic import BaseModel, RootModel, ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from gatechart.context import describe_fields, problems_of, values_of
from gatechart.errors import PayloadError, contained
from gatechart.graph import EntryPoint
from gatechart.values import Event, EventName, Payload

DEEPEST: Final = 150
"""How many objects and arrays of a payload may lie in each other. A reader goes down 200, and documents lie around."""

_READ: Final = 200  # deep, by pydantic
_EXPECTED: Final = "a mapping or pydantic model of JSON values under text names"


def plain_payload(payload: Any, event: EventName) -> Payload:
    """The payload as JSON values, a copy of its own: what a store would give back.

    payload: None, a mapping with text keys, or a pydantic model. Raises PayloadError, where it is too deep, too.
    """
    return _plain(payload, event, "strings")


def finite_payload(payload: Any, event: EventName) -> Payload:
    """As `plain_payload`, for one that travels as JSON: Raises PayloadError for numbers that JSON does not have, too.

    Elsewhere they become texts, which the fields of a context take for numbers again.
    """
    plain = _plain(payload, event, "constants")
    try:
        check_finite(plain)
    except ValueError as error:
        raise PayloadError(_taker(event), (str(error),), _EXPECTED) from error
    return plain


def check_finite(plain: Payload) -> None:
    """Raises ValueError where a number is infinite or none; it names its place.

    >>> check_finite({"a": [1.0, {"b": 1e400}]})
    Traceback (most recent call last):
    ValueError: a.1.b is inf, and JSON has no such number
    """
    text = to_json(plain, inf_nan_mode="constants")
    if b"Infinity" in text or b"NaN" in text:  # in a text, perhaps
        for place, number in _odd_numbers(plain, ""):
            raise ValueError(f"{place} is {number}, and JSON has no such number")


def _plain(payload: Any, event: EventName, inf_nan_mode: Literal["strings", "constants"]) -> Payload:
    if payload is None:
        return {}
    if isinstance(payload, Mapping):
        payload = dict(payload)
        for name in payload:
            if not isinstance(name, str):
                raise PayloadError(_taker(event), (f"{name!r} is no text",), _EXPECTED)
    elif not isinstance(payload, BaseModel):
        raise PayloadError(_taker(event), (f"it is a {type(payload).__name__}",), _EXPECTED)
    try:
        text = to_json(payload, by_alias=False, fallback=_mapping, bytes_mode="base64", inf_nan_mode=inf_nan_mode)
        _check_depth(text)
        plain: Payload = from_json(text)
    except (PydanticSerializationError, ValueError) as error:
        raise PayloadError(_taker(event), (str(error),), _EXPECTED) from error
    return plain


def _taker(event: EventName) -> str:
    return f"event {event!r}"


def _check_depth(text: bytes) -> None:
    """Raises ValueError for what is too deep, which the parser finds once so much lies around it that it gives up."""
    if text.count(b"{") + text.count(b"[") <= DEEPEST:
        return
    around = _READ - DEEPEST
    try:
        from_json(b"[" * around + text + b"]" * around)
    except ValueError:
        raise ValueError(f"more than {DEEPEST} objects and arrays lie in each other; bring less depth") from None


def _odd_numbers(value: Any, place: str) -> Iterator[tuple[str, float]]:
    """The places and values of numbers that JSON does not have."""
    within: Iterable[tuple[Any, Any]] = ()
    match value:
        case dict():
            within = value.items()
        case list():
            within = enumerate(value)
        case float() if not isfinite(value):
            yield place, value
    for name, each in within:
        yield from _odd_numbers(each, f"{place}.{name}" if place else f"{name}")


def own_copy(event: Event) -> Event:
    """The event with a payload of its own, so that nobody who writes into it changes what happened."""
    payload = from_json(to_json(event.payload)) if event.payload else {}
    return Event(event.name, payload, event.time, event.id, event.sender, event.operator_reason)


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
        with contained():
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
