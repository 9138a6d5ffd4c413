"""Payloads from senders, reduced to JSON values, and checked against an entry point's schema."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import isfinite
from typing import Any, Final

from pydantic import BaseModel, RootModel, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from gatechart.context import describe_fields, problems_of, values_of
from gatechart.errors import PayloadError, contained
from gatechart.graph import EntryPoint
from gatechart.values import Event, EventName, Payload

DEEPEST: Final = 150
"""Maximum nesting of objects and arrays in a payload. Readers go down 200 levels, and documents add some around it."""

_ANY: Final[TypeAdapter[Any]] = TypeAdapter(Any)
_LOST: Final = (b"null", b"NaN", b"Infinity")
"""What JSON text may contain in place of numbers that JSON does not have."""

_READ: Final = 200  # maximum nesting that pydantic reads
_EXPECTED: Final = "a mapping or pydantic model of JSON values under text names"


def plain_payload(payload: Any, event: EventName) -> Payload:
    """Return the payload as JSON values, in a new copy: what a store would give back.

    payload: None, a mapping with text keys, or a pydantic model.
    Raises PayloadError, also for too deep nesting, and for numbers that JSON does not have, which would come back
    changed.
    """
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
        text = to_json(payload, by_alias=False, fallback=_mapping, bytes_mode="base64", inf_nan_mode="constants")
        _check_depth(text)
        if any(sign in text for sign in _LOST):
            check_finite(payload)
        plain: Payload = from_json(text)
    except (PydanticSerializationError, ValueError) as error:
        raise PayloadError(_taker(event), (str(error),), _EXPECTED) from error
    return plain


def check_finite(value: Any) -> None:
    """Raise ValueError if a number is infinite or NaN; the error names its place.

    value: JSON values, and models and dataclasses, which may write such numbers as null or as text.

    >>> check_finite({"a": [1.0, {"b": 1e400}]})
    Traceback (most recent call last):
    ValueError: a.1.b is inf, and JSON has no such number
    """
    for place, number in _odd_numbers(value):
        raise ValueError(f"{place or 'it'} is {number}, and JSON has no such number")


def check_numbers_kept(before: Any, after: Any) -> None:
    """Check like `check_finite`, but allow numbers in `before` that are still there in `after`."""
    odd = list(_odd_numbers(before))
    kept = Counter(str(number) for _, number in _odd_numbers(after))
    if Counter(str(number) for _, number in odd) - kept:
        check_finite(before)


def _taker(event: EventName) -> str:
    return f"event {event!r}"


def _check_depth(text: bytes) -> None:
    """Raise ValueError for too deep nesting. Parsing with extra levels around it uses the parser's own limit."""
    if text.count(b"{") + text.count(b"[") <= DEEPEST:
        return
    around = _READ - DEEPEST
    try:
        from_json(b"[" * around + text + b"]" * around)
    except ValueError:
        raise ValueError(f"more than {DEEPEST} objects and arrays lie in each other; bring less depth") from None


def _odd_numbers(value: Any) -> Iterator[tuple[str, float]]:
    """Yield the places and values of numbers that JSON does not have."""
    python = _ANY.dump_python(value, warnings=False)
    text = to_json(python, inf_nan_mode="constants", bytes_mode="base64", fallback=repr)
    if b"Infinity" in text or b"NaN" in text:  # possibly only inside a text
        yield from _odd(python, "")


def _odd(value: Any, place: str) -> Iterator[tuple[str, float]]:
    within: Iterable[tuple[Any, Any]] = ()
    match value:
        case Mapping():
            within = value.items()
        case list() | tuple() | set() | frozenset():
            within = enumerate(value)
        case float() if not isfinite(value):
            yield place, value
    for name, each in within:
        yield from _odd(each, f"{place}.{name}" if place else f"{name}")


def own_copy(event: Event) -> Event:
    """Copy the event with its payload, so that code that writes into the payload does not change the original."""
    payload = from_json(to_json(event.payload)) if event.payload else {}
    return Event(event.name, payload, event.time, event.id, event.sender, event.operator_reason)


def _mapping(value: object) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise PydanticSerializationError(f"Unable to serialize unknown type: {type(value)}")


def fit_payload(graph: str, entry: EntryPoint, payload: Any) -> BaseModel | None:
    """Validate the payload against the entry point's schema; return None if there is none. Raises PayloadError."""
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
    """Return the values to validate: a copy of a model's values, because a model itself would pass unchecked."""
    if isinstance(payload, RootModel):
        return payload.root
    if isinstance(payload, BaseModel):
        return values_of(payload.model_copy(deep=True))
    return {} if payload is None else payload
