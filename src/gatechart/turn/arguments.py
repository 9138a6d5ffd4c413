"""Checks of arguments: ids, names, keys, reasons, times, numbers and payloads must fit every store.

Every input passes here, so all homes of agents refuse the same values. An id that is only looked up may exceed the
limits, because the agent may be older than they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from math import isfinite
from typing import Any, Final

from pydantic import BaseModel, RootModel, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from gatechart.context import describe_fields, problems_of, values_of
from gatechart.errors.event import NoHandoffError, PayloadError, ReservedEventError, UnknownAgentError
from gatechart.errors.failures import contained
from gatechart.errors.operation import UnknownMailError
from gatechart.graph.definition import EntryPoint
from gatechart.secrets import has_secrets, is_secret, marked
from gatechart.values.agents import Event
from gatechart.values.delays import DELAY_FORMS, Delay, seconds_of
from gatechart.values.handoffs import Mode, Reason
from gatechart.values.look_alikes import CLEAR, unclear
from gatechart.values.names import (
    HIGHEST_NUMBER,
    LONGEST_NAME,
    LONGEST_REASON,
    AgentId,
    EventName,
    Name,
    Payload,
    in_utc,
    is_count,
    is_reserved,
    name_of,
    unkept,
)
from gatechart.values.secrets import MASK, SECRET, revealed

DEEPEST: Final = 150
"""Maximum nesting of objects and arrays in a payload. Readers go down 200 levels, and documents add some around it."""

_ANY: Final[TypeAdapter[Any]] = TypeAdapter(Any)
_NON_JSON: Final = (b"null", b"NaN", b"Infinity")
"""Text that pydantic may write for numbers that JSON does not have."""

_MASK: Final = MASK.encode()
_DEEPEST_READ: Final = 200  # maximum nesting that pydantic reads
_EXPECTED: Final = "a mapping or pydantic model of JSON values under text names"
_LONGEST_EXCERPT: Final = 60  # characters of a refused text shown in the error
_CACHED_NAMES: Final = 1_024  # names of events whose check is cached


def checked_id(given: str | None, what: str = "id") -> str | None:
    """Return the id unchanged. Raises PayloadError unless it is None or a text that every store can keep.

    what: the name of the value in the error.
    """
    return None if given is None else checked_key(given, what)


def checked_new_id(given: str | None, what: str = "id") -> str | None:
    """Return the id of something new unchanged; people read and compare it. Raises PayloadError as `checked_id` does.

    It is also refused if readers may mistake it for another: see `unclear`. What exists already can keep such an id.
    """
    problem = "" if checked_id(given, what) is None else unclear(given or "")
    if not problem:
        return given
    raise PayloadError(what, (f"{_excerpt(given)}: {problem}",), CLEAR)


def checked_key(key: str, what: str = "key") -> str:
    """Return the id, name or key unchanged. Raises PayloadError if it is not a text that every store can keep."""
    if _is_plain(key):
        return key
    problem = unkept(key, LONGEST_NAME) or ("" if key else "it is empty")
    if not problem:
        return key
    expected = f"a text of 1 to {LONGEST_NAME} characters, without NUL and lone surrogates"
    raise PayloadError(what, (f"{_excerpt(key)}: {problem}",), expected)


def checked_name(event: Name) -> EventName:
    """Return the name of an event that senders other than the framework may use. All their events pass here.

    Raises PayloadError if it is not a text that every store can keep, ReservedEventError if the name is reserved.
    """
    return _checked_name(event) if type(event) is str else _checked_name(raised_name(event))


@lru_cache(_CACHED_NAMES)  # senders use the same few names
def _checked_name(event: str) -> EventName:
    name = raised_name(event)
    if is_reserved(name):
        raise ReservedEventError(name)
    return name


def checked_event(event: Name, payload: Any, event_id: str | None, now: datetime) -> Event:
    """Build an event that an outside sender sends now. Raises PayloadError and ReservedEventError."""
    name = checked_name(event)
    return Event(name, plain_payload(payload, name), now, checked_id(event_id))


def _is_plain(text: object) -> bool:
    """Check cheaply that every store can keep the text even as an id or name. True for nearly all texts."""
    return type(text) is str and 0 < len(text) <= LONGEST_NAME and text.isascii() and "\0" not in text


def raised_name(event: Name) -> EventName:
    """Return the name of an event that a turn raises for itself; reserved names are allowed. Raises PayloadError."""
    return checked_key(event if type(event) is str else name_of(event), "event")


def checked_words(text: str, what: str = "reason") -> str:
    """Return a text for people unchanged; it may be empty. Raises PayloadError if no store could keep it."""
    problem = "" if text == "" or _is_plain(text) else unkept(text, LONGEST_REASON)
    if not problem:
        return text
    expected = f"a text of at most {LONGEST_REASON:,} characters, without NUL and lone surrogates"
    raise PayloadError(what, (f"{_excerpt(text)}: {problem}",), expected)


def _safe_repr(value: object) -> str:
    """Return the value's repr. Python refuses to write integers of thousands of digits."""
    try:
        return repr(value)
    except ValueError:
        return "a number of too many digits"


def checked_due(due: datetime | None) -> datetime | None:
    """Return the time in UTC. Raises PayloadError if it has no time zone or is out of range in UTC."""
    if due is None:
        return None
    if not isinstance(due, datetime) or due.tzinfo is None or due.utcoffset() is None:
        raise PayloadError("due", (f"it is {_safe_repr(due)}",), "a datetime with a time zone, or None")
    return checked_moment(due, "due")


def checked_delay(delay: Delay, what: str) -> float:
    """Return the delay in seconds. Raises PayloadError."""
    seconds = seconds_of(delay)
    if seconds is None:
        raise PayloadError(what, (f"{delay!r} is not a duration",), DELAY_FORMS)
    return seconds


def checked_moment(moment: datetime, what: str) -> datetime:
    """Return the aware time in UTC. Raises PayloadError if it is out of range in UTC."""
    try:
        return in_utc(moment)
    except ValueError as error:
        raise PayloadError(what, (str(error),), "a moment between the years 1 and 9999 UTC") from None


def known_id(agent_id: AgentId) -> AgentId:
    """Return the id of an agent to look up, unchanged. Raises UnknownAgentError for an id that no agent can have."""
    if _is_plain(agent_id) or (agent_id and not unkept(agent_id)):
        return agent_id
    raise UnknownAgentError(agent_id)


def known_handoff(handoff_id: str) -> str:
    """Return the id of a handoff to look up, unchanged. Raises NoHandoffError if no handoff can have it."""
    if unkept(handoff_id):
        raise NoHandoffError(handoff_id, None)
    return handoff_id


def known_number(number: int) -> int:
    """Return the number of mail to look up, as given. Raises UnknownMailError if no mail can have it."""
    if is_count(number):
        return number
    raise UnknownMailError(number)


def sought_id(given: str | None, what: str = "id") -> str | None:
    """Return an id to look up, unchanged. Raises PayloadError for an id that nothing can have."""
    problem = "" if given is None else unkept(given)
    if problem:
        raise PayloadError(what, (f"{_excerpt(given)}: {problem}",), "a text without NUL and lone surrogates, or None")
    return given


def checked_addressee(agent_id: AgentId) -> AgentId:
    """Return the id of an agent that may not exist yet. Raises UnknownAgentError; PayloadError if it is too long."""
    return agent_id if _is_plain(agent_id) else checked_key(known_id(agent_id), "agent id")


def checked_mode(mode: Mode | str) -> Mode:
    """Return the mode. Raises PayloadError if there is no such mode."""
    if isinstance(mode, Mode) or mode in list(Mode):
        return Mode(mode)
    raise PayloadError("handoff", (f"its mode is {mode!r}",), " or ".join(repr(member.value) for member in Mode))


def checked_reason(reason: Reason | str) -> Reason:
    """Return the reason. Raises PayloadError if there is no such reason."""
    if isinstance(reason, Reason) or reason in list(Reason):
        return Reason(reason)
    raise PayloadError("handoff", (f"its reason is {reason!r}",), " or ".join(repr(member.value) for member in Reason))


def check_targets(targets: Sequence[str], what: str = "fallbacks") -> None:
    """Raise PayloadError if a nonempty name or id is not a text that every store can keep."""
    for target in targets:
        if target != "":
            checked_key(target, what)


def check_part(call: str, after: int, limit: int | None) -> None:
    """Raise PayloadError unless `after` and `limit` describe a part of a history."""
    if not is_count(after) or not (limit is None or is_count(limit)):
        raise PayloadError(
            call, (f"after is {_safe_repr(after)}, limit is {_safe_repr(limit)}",), "whole numbers from 0 on"
        )


def check_version(call: str, version: int) -> None:
    """Raise PayloadError if the version is outside every store's range."""
    if not isinstance(version, int) or abs(version) >= HIGHEST_NUMBER:
        raise PayloadError(call, (f"version is {_safe_repr(version)}",), "a version from the history, a whole number")


def check_limit(call: str, limit: int) -> None:
    """Raise PayloadError if the limit is not a possible page size."""
    if not is_count(limit) or limit == 0:
        raise PayloadError(call, (f"limit is {_safe_repr(limit)}",), "a whole number of 1 or more")


def checked_operator_reason(reason: str) -> str:
    """Return the reason. Raises PayloadError if it is blank or is a text that not every store can keep."""
    if checked_words(reason).strip():
        return reason
    raise PayloadError("reason", (f"{reason!r} is blank",), "a text with the reason, for the history")


def checked_ending(invoke: str, result: Any, error: str | None) -> tuple[str, Payload]:
    """Return the kind and payload of the event that reports how an operator ended an invoke. Raises PayloadError."""
    if error is None:
        return "done", plain_payload({"result": result}, f"done.invoke.{invoke}")
    if result is not None:
        raise PayloadError("end_invoke", ("it has both a result and an error",), "one of them")
    payload = {"type": "OperatorError", "message": error, "traceback": "", "attempts": 0}
    return "error", plain_payload(payload, f"error.invoke.{invoke}")


def _excerpt(text: object) -> str:
    """Return the text as the error shows it."""
    text_repr = repr(text)
    return text_repr if len(text_repr) <= _LONGEST_EXCERPT else f"{text_repr[:_LONGEST_EXCERPT]}…"


def plain_payload(payload: Any, event: EventName, *, is_finite: bool = False) -> Payload:
    """Return a copy of the payload as JSON values, as a store would load it.

    payload: None, a mapping with text keys, or a pydantic model. Its secrets, as of type `SecretStr`, are marked.
    is_finite: whether the caller knows that all numbers are finite. The search for others takes longer than the rest,
        and a null in the text triggers it. Every packet has a null.
    Raises PayloadError, also for too deep nesting, and for infinite numbers and NaN, which a store would change.
    """
    if payload is None:
        return {}
    problem = _payload_problem(payload)
    try:
        plain: Payload = {} if problem else _plain(payload, is_finite=is_finite)
    except (PydanticSerializationError, ValueError) as error:
        raise PayloadError(_event_label(event), (str(error),), _EXPECTED) from error
    if SECRET in plain:  # a payload is an object, even where its secrets are masked
        problem = (
            f"{SECRET!r} is at its top level, where names belong; name the secret, as in {{'pin': {{{SECRET!r}: ...}}}}"
        )
    if problem:
        raise PayloadError(_event_label(event), (problem,), _EXPECTED)
    return plain


def _payload_problem(payload: Any) -> str:
    """Return why the type or the keys of a payload are invalid; empty if they are valid."""
    if isinstance(payload, Mapping):
        return next((f"the name {name!r} is not a text" for name in payload if not isinstance(name, str)), "")
    return "" if isinstance(payload, BaseModel) else f"it is a {type(payload).__name__}"


def _plain(payload: Any, *, is_finite: bool) -> Payload:
    given = dict(payload) if isinstance(payload, Mapping) else payload
    text = to_json(given, by_alias=False, fallback=_mapping, bytes_mode="base64", inf_nan_mode="constants")
    _check_depth(text)
    if not is_finite and any(sign in text for sign in _NON_JSON):
        check_finite(given)
    plain: Payload = from_json(text)
    return marked(given, plain, "base64") if _MASK in text else plain


def check_finite_payload(payload: Any, event: EventName) -> None:
    """Raise PayloadError if a number in the payload is infinite or NaN."""
    try:
        check_finite(payload)
    except ValueError as error:
        raise PayloadError(_event_label(event), (str(error),), _EXPECTED) from error


def check_finite(value: Any) -> None:
    """Raise ValueError if a number is infinite or NaN; the error contains its path.

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


def _event_label(event: EventName) -> str:
    return f"event {event!r}"


def _check_depth(text: bytes) -> None:
    """Raise ValueError for too deep nesting. Extra levels around the text make the parser's own limit apply."""
    if text.count(b"{") + text.count(b"[") <= DEEPEST:
        return
    around = _DEEPEST_READ - DEEPEST
    try:
        from_json(b"[" * around + text + b"]" * around)
    except ValueError:
        raise ValueError(f"objects and arrays are nested more than {DEEPEST} deep; nest them less deeply") from None


def _odd_numbers(value: Any) -> Iterator[tuple[str, float]]:
    """Yield the paths and values of numbers that JSON does not have."""
    python = _ANY.dump_python(value, warnings=False)
    text = to_json(python, inf_nan_mode="constants", bytes_mode="base64", fallback=repr)
    if b"Infinity" in text or b"NaN" in text:  # possibly only inside a text
        yield from _walk_odd_numbers(python, "")


def _walk_odd_numbers(value: Any, place: str) -> Iterator[tuple[str, float]]:
    within: Iterable[tuple[Any, Any]] = ()
    match value:
        case Mapping():
            within = value.items()
        case list() | tuple() | set() | frozenset():
            within = enumerate(value)
        case float() if not isfinite(value):
            yield place, value
    for name, item in within:
        yield from _walk_odd_numbers(item, f"{place}.{name}" if place else f"{name}")


def _mapping(value: object) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if is_secret(value):
        return MASK
    raise PydanticSerializationError(f"Unable to serialize unknown type: {type(value)}")


def fit_payload(graph: str, entry: EntryPoint, payload: Any) -> BaseModel | None:
    """Validate the payload against the entry point's schema; return None if there is none. Raises PayloadError."""
    if entry.takes is None and (payload is None or payload == {}):
        return None
    taker = f"entry point {entry.name!r} of {graph!r}"
    if entry.takes is None:
        raise PayloadError(taker, ("it takes no payload",), "none; declare takes= on the entry point to pass one")
    try:
        with contained():
            return entry.takes.model_validate(
                _values_to_validate(entry.takes, payload),
                by_alias=True,
                by_name=True,
                from_attributes=isinstance(payload, BaseModel),
            )
    except ValidationError as error:
        expected = f"{entry.takes.__name__}({describe_fields(entry.takes)})"
        raise PayloadError(taker, problems_of(error), expected) from error


def _values_to_validate(taker: type[BaseModel], payload: Any) -> Any:
    """Return the values to validate: a copy of a model's values, because a model itself would pass unchecked."""
    if isinstance(payload, RootModel):
        return payload.root
    if isinstance(payload, BaseModel):
        return values_of(payload.model_copy(deep=True))
    if payload is None:
        return {}
    return revealed(payload) if has_secrets(taker) else payload
