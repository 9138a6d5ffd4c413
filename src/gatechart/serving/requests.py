"""Requests as commands: path, query and body, checked against the models in the OpenAPI document."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Annotated, Any, Final, TypeAlias, get_type_hints
from urllib.parse import parse_qsl, unquote

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    create_model,
)
from pydantic.fields import FieldInfo
from pydantic_core import from_json, to_json
from starlette.datastructures import Headers
from starlette.requests import Request

from gatechart.api import conditions
from gatechart.api.agents import EndInvokeCommand, StartCommand, StartOnCommand
from gatechart.api.alarms import MOST_NAMED, AlarmCommand
from gatechart.api.command import Command
from gatechart.api.commands import KINDS
from gatechart.api.directory import RATINGS, RateHandoffCommand
from gatechart.api.events import PostCommand
from gatechart.api.handoffs import HandoffCommand
from gatechart.api.route import MOST, Route
from gatechart.api.search import FindCommand
from gatechart.context import describe_fields, problems_of, told_as
from gatechart.errors.event import PayloadError
from gatechart.graph.definition import EntryPoint
from gatechart.graph.graph import AnyGraph
from gatechart.graph.handoff import MOST_FALLBACKS
from gatechart.handoff.packet import Time
from gatechart.serving.answers import NotServed
from gatechart.serving.body_parts import BestBody, FallbackBody, NeedsBody, NewText, ProfileBody, Seconds, Text
from gatechart.serving.connections import ServerLimits
from gatechart.values.alarms import ALARM_NAME, WATCHDOG_NAME
from gatechart.values.delays import DELAY_FORMS, PATTERN
from gatechart.values.names import HIGHEST_NUMBER, LONGEST_REASON, NO_NUL, RESERVED_PATTERN

_MOST_ERRORS: Final = 1_000  # a body with more errors is refused without converting its numbers
_NO_BODY: Final = b"{}"
_TEXT: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)  # the last string may be unterminated

_Words: TypeAlias = Annotated[
    str, StringConstraints(min_length=1, max_length=LONGEST_REASON, pattern=r"^[^\x00]*[^\x00\s][^\x00]*$")
]
"""A text that is not blank."""

_Delay: TypeAlias = Annotated[str, StringConstraints(pattern=rf"^{PATTERN}$")]
_Lasting: TypeAlias = Annotated[Seconds | _Delay | None, told_as(DELAY_FORMS)]

_MOMENT: Final[TypeAdapter[datetime]] = TypeAdapter(Time)


def _moment(given: object) -> datetime:
    """Parse a time that starts with a date: pydantic would read a number as seconds since 1970."""
    if not isinstance(given, str) or given[4:5] != "-":
        raise ValueError("it has no date")
    return _MOMENT.validate_strings(given)


_Due: TypeAlias = Annotated[
    Annotated[Time, BeforeValidator(_moment)] | Seconds | _Delay | None,
    told_as(f"a time, such as '2030-01-31T09:00:00Z', or a delay: {DELAY_FORMS}"),
]

_Conditions: TypeAlias = dict[str, conditions.Wanted]  # in a body they are not JSON text


def _as_sent(given: _Conditions | None) -> dict[str, Any] | None:
    """Return conditions as they were sent, so that they can be compared with an earlier alarm's."""
    return given and {
        field: wanted.model_dump(exclude_unset=True) if isinstance(wanted, conditions.Bounds) else wanted
        for field, wanted in given.items()
    }


_Event: TypeAlias = Annotated[NewText, Field(json_schema_extra={"not": {"pattern": RESERVED_PATTERN}})]
"""The name of an event that is not reserved for the framework."""

_Alarm: TypeAlias = Annotated[
    str,
    StringConstraints(max_length=200, pattern=ALARM_NAME),
    Field(json_schema_extra={"not": {"pattern": WATCHDOG_NAME}}),
]
"""The name of an alarm that is not reserved for the framework."""

_EITHER: Final[dict[type[Command], dict[str, Any]]] = {
    AlarmCommand: {
        "oneOf": [
            {"required": ["to"], "properties": {"to": {"minItems": 1}, "graph": {"type": "null"}}},
            {"required": ["graph"], "properties": {"to": {"maxItems": 0}, "graph": {"type": "string"}}},
        ]
    },
    HandoffCommand: {
        "oneOf": [
            {
                "required": ["to", "at"],
                "properties": {"to": {"type": "string"}, "at": {"type": "string"}, "best": {"type": "null"}},
            },
            {
                "required": ["best"],
                "properties": {
                    "best": {"type": "object"},
                    **{name: {"type": "null"} for name in ("to", "at", "agent")},
                },
            },
        ]
    },
    RateHandoffCommand: {
        "anyOf": [{"required": [name], "properties": {name: {"not": {"type": "null"}}}} for name in RATINGS]
    },
    EndInvokeCommand: {
        "not": {
            "required": ["result", "error"],
            "properties": {"result": {"not": {"type": "null"}}, "error": {"type": "string"}},
        }
    },
}
"""Rules for combinations of a body's fields."""

_NARROWER: Final[dict[str, Any]] = {  # narrower than in the commands, so that the schema contains every check
    "fallbacks": Annotated[tuple[FallbackBody, ...], Field(max_length=MOST_FALLBACKS)] | None,
    "event": _Event,
    "name": Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=NO_NUL)],
    "every": _Lasting,
    "lasts": _Lasting,
    "best": BestBody,
    "needs": NeedsBody,
    "profile": ProfileBody,
    "deadline": _Due,
    "version": Annotated[int, Field(ge=1, lt=HIGHEST_NUMBER)],
}
_NARROWER_IN: Final[dict[type[Command], dict[str, Any]]] = {
    AlarmCommand: {
        "name": _Alarm,
        "to": Annotated[tuple[Text, ...], Field(max_length=MOST_NAMED)],
        "where": Annotated[_Conditions | None, AfterValidator(_as_sent)],
    }
}


@dataclass(frozen=True)
class HttpCall:
    """A call over HTTP."""

    call: type[Command]

    @property
    def verb(self) -> str:
        """The verb's name."""
        verb: str = self.call.model_fields["verb"].default
        return verb

    @property
    def route(self) -> Route:
        """The method and path of the call."""
        return self.call.route

    @cached_property
    def rest(self) -> type[BaseModel]:
        """The model of the query or the body: the fields outside the path."""
        names = [name for name in self.call.model_fields if name not in {"verb", *self.route.in_path}]
        return _part(self, "Body" if self.route.has_body else "Query", names)

    @property
    def needs_body(self) -> bool:
        """Whether the body is required."""
        is_required = any(field.is_required() for field in self.rest.model_fields.values())
        return is_required or not {"oneOf", "anyOf"}.isdisjoint(_EITHER.get(self.call, {}))

    @cached_property
    def located(self) -> type[BaseModel]:
        """The model of the path."""
        return _part(self, "Path", self.route.in_path)


def _part(operation: HttpCall, kind: str, names: Sequence[str]) -> type[BaseModel]:
    hints = get_type_hints(operation.call, include_extras=True)
    fields: dict[str, Any] = {
        name: (_narrowed(operation, name, hints[name]), _field(operation, name)) for name in names
    }
    name = operation.call.__name__.removesuffix("Command") + kind
    config = ConfigDict(extra="forbid", json_schema_extra=_EITHER.get(operation.call))
    return create_model(name, __config__=config, **fields)


def _field(operation: HttpCall, name: str) -> FieldInfo:
    """Return a field with only its default."""
    declared = operation.call.model_fields[name]
    if name == "limit":
        return FieldInfo(default=min(declared.default or MOST, MOST))
    return FieldInfo() if declared.is_required() else FieldInfo(default=declared.default)


def _narrowed(operation: HttpCall, name: str, hint: Any) -> Any:
    if name == "limit":
        return Annotated[int, Field(ge=1 if operation.call is FindCommand else 0, le=MOST)]
    narrower = _NARROWER | _NARROWER_IN.get(operation.call, {})
    if name in narrower:
        return narrower[name]
    if name == "reason" and hint is str:
        return _Words
    # The path of a writing command names an existing object, except that mail may wait for a future agent.
    exists = name in operation.route.in_path and operation.call is not PostCommand
    text: Any = NewText if operation.call.writes and not exists else Text
    return {str: text, str | None: text | None}.get(hint, hint)


OPERATIONS: Final = tuple(map(HttpCall, KINDS))
"""The operation of every command. `start_on` shares the path of `start`, but its body has a trigger."""


async def read_call(operations: Sequence[HttpCall], request: Request, limits: ServerLimits) -> Command:
    """Read the command of a request. Raises NotServed.

    operations: all with its method and path; if there are several, the body selects one.
    """
    text = await _body(request, limits) if operations[0].route.has_body else b""
    operation = operations[0] if len(operations) == 1 else _chosen(operations, text)
    given = _located(operation, request.path_params)
    rest = _of_body(operation.rest, text) if operation.route.has_body else _of_query(operation.rest, request.url.query)
    return operation.call.model_construct(**given, **dict(rest))


async def _body(request: Request, limits: ServerLimits) -> bytes:
    """Read the body. Raises NotServed if it is too large, too slow, or declared as something other than JSON."""
    text = await _received(request, limits)
    if not text:
        return _NO_BODY
    _check_type(request.headers)
    if _count_values(text, limits.body_values) > limits.body_values:
        message = f"the body has more than {limits.body_values:,} values; send fewer values at once"
        raise NotServed(413, "TooLarge", message)
    return text


def _check_type(headers: Headers) -> None:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        problem = f"the content type is {kind!r}" if kind else "the body has no content type"
        message = f"{problem}; send JSON, with `Content-Type: application/json`"
        raise NotServed(415, "UnsupportedMediaType", message)
    encoding = headers.get("content-encoding", "identity").lower()
    if encoding != "identity":
        raise NotServed(415, "UnsupportedMediaType", f"the body is encoded as {encoding!r}; send it without encoding")


async def _received(request: Request, limits: ServerLimits) -> bytes:
    length = request.headers.get("content-length", "0")
    if not length.isdigit() or int(length) > limits.body_bytes:
        raise _too_large(limits.body_bytes)
    try:
        async with asyncio.timeout(limits.body_s):
            return await _joined(request, limits.body_bytes)
    except TimeoutError:
        message = f"the body did not arrive within {limits.body_s:g} s; send it without pausing"
        raise NotServed(408, "TooSlow", message, connection="close") from None


async def _joined(request: Request, most: int) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise _too_large(most)
        parts.append(part)
    return b"".join(parts)


def _too_large(most: int) -> NotServed:
    return NotServed(413, "TooLarge", f"the body has more than {most:,} bytes; send less", connection="close")


def _count_values(text: bytes, most: int) -> int:
    """Return an upper bound of the number of values in a JSON text, refined only if it exceeds `most`."""
    count = _marks(text)
    return count if count <= most else _marks(_TEXT.sub(b"", text))


def _marks(text: bytes) -> int:
    return sum(map(text.count, (b",", b"[", b"{")))


def _chosen(operations: Sequence[HttpCall], text: bytes) -> HttpCall:
    """Choose between the two operations that start an agent: on a trigger, if the body has one."""
    body = _parsed(text)
    is_trigger = isinstance(body, dict) and "trigger" in body
    return next(operation for operation in operations if (operation.call is StartOnCommand) is is_trigger)


def _parsed(text: bytes) -> Any:
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise NotServed(400, "BadRequest", f"the body is not valid JSON: {error}") from None


def _located(operation: HttpCall, given: Mapping[str, str]) -> dict[str, Any]:
    """Decode and check the fields of the path."""
    return dict(_checked(operation.located.model_validate_strings, decoded(given), "path")) if given else {}


def decoded(given: Mapping[str, str]) -> dict[str, str]:
    """Percent-decode the fields of a path. Raises NotServed if they are not UTF-8."""
    try:
        return {name: unquote(text, errors="strict") for name, text in given.items()}
    except UnicodeDecodeError:
        raise NotServed(400, "BadRequest", "the path is not valid UTF-8") from None


class _OfChanges(BaseModel):
    """The query of the stream of turns."""

    model_config = ConfigDict(extra="forbid")

    framework: bool | None = None


def wants_framework(query: str) -> bool:
    """Return whether a reader also wants turns of framework agents. Raises NotServed."""
    return bool(dict(_of_query(_OfChanges, query))["framework"])


def _of_query(model: type[BaseModel], query: str) -> BaseModel:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError as error:
        raise NotServed(400, "BadRequest", f"the query is invalid: {error}") from None
    if len(given := dict(pairs)) < len(pairs):
        raise NotServed(422, "BadRequest", "the query repeats a field; give each field once")
    return _checked(model.model_validate_strings, given, "query")


def _of_body(model: type[BaseModel], text: bytes) -> BaseModel:
    if b"NaN" in text or b"Infinity" in text:
        _parsed(text)  # pydantic accepts these numbers, but JSON does not
    try:
        return model.model_validate_json(text, strict=True)
    except ValidationError as error:
        # Floats in place of integers are a mistake of a few values, not of thousands.
        is_listed = error.error_count() <= _MOST_ERRORS
        if not is_listed or '"type":"int_type"' not in error.json(include_url=False, include_input=False):
            raise _refused(error, "body") from None
    return _checked(model.model_validate_json, to_json(whole_numbers(from_json(text))), "body")


def _checked(validate: Any, given: Any, where: str) -> BaseModel:
    try:
        model: BaseModel = validate(given, strict=True)
    except ValidationError as error:
        raise _refused(error, where) from None
    return model


def _refused(error: ValidationError, where: str) -> NotServed:
    is_malformed = error.error_count() == 1 and error.errors()[0]["type"] == "json_invalid"
    problems = "; ".join(problems_of(error))
    return NotServed(400 if is_malformed else 422, "BadRequest", f"the {where} is invalid: {problems}")


def whole_numbers(value: Any) -> Any:
    """Convert floats without a fraction to integers: 5.0 is an integer in JSON Schema, but not in strict pydantic.

    >>> whole_numbers({"a": [5.0, 5.5, True, "5.0", 1e400]})
    {'a': [5, 5.5, True, '5.0', inf]}
    """
    match value:
        case dict():
            return {name: whole_numbers(item) for name, item in value.items()}
        case list():
            return [whole_numbers(item) for item in value]
        case float() if value.is_integer():
            return int(value)
    return value


def check_payload(graphs: Sequence[AnyGraph], call: Command) -> None:
    """Raise PayloadError if the payload of a start does not match the entry point's schema in strict mode.

    A runtime converts "5" to a number; over HTTP the schema of the OpenAPI document applies strictly. If there is no
    such entry point, this raises nothing: the runtime raises a better error.
    """
    if not isinstance(call, StartCommand | StartOnCommand) or call.payload is None:
        return
    for graph, entry in _entry_points(graphs, call):
        if entry.takes is not None:
            try:
                text = to_json(whole_numbers(call.payload))
                entry.takes.model_validate_json(text, strict=True, by_alias=True, by_name=True)
            except ValidationError as error:
                expected = f"{entry.takes.__name__}({describe_fields(entry.takes)})"
                raise PayloadError(
                    f"entry point {entry.name!r} of {graph.name!r}", problems_of(error), expected
                ) from error


def _entry_points(
    graphs: Sequence[AnyGraph], call: StartCommand | StartOnCommand
) -> Sequence[tuple[AnyGraph, EntryPoint]]:
    found = [(graph, entry) for graph in graphs for entry in graph.entry_points.values()]
    if isinstance(call, StartCommand):
        return [(graph, entry) for graph, entry in found if (graph.name, entry.name) == (call.graph, call.at)]
    opened = [(graph, entry) for graph, entry in found if call.trigger in entry.opens_on]
    return opened if len(opened) == 1 else ()
