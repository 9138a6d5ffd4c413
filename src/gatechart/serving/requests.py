"""Requests as calls: path, query and body, each checked against the models that the OpenAPI document shows."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qsl, unquote

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json, to_json
from starlette.datastructures import Headers
from starlette.requests import Request

from gatechart.api import BaseCommand, StartCommand, StartOnCommand
from gatechart.context import describe_fields, problems_of
from gatechart.errors import PayloadError
from gatechart.graph import AnyGraph, EntryPoint
from gatechart.serving.connections import ServerLimits
from gatechart.serving.operations import Operation
from gatechart.serving.problems import Refused

_NO_BODY: Final = b"{}"
_TEXT: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)  # the last string may be unterminated


async def read_call(operations: Sequence[Operation], request: Request, limits: ServerLimits) -> BaseCommand:
    """Read the call that a request makes. Raises Refused.

    operations: those of its method and path; if there are several, the body tells which one is meant.
    """
    text = await _body(request, limits) if operations[0].route.has_body else b""
    operation = operations[0] if len(operations) == 1 else _chosen(operations, text)
    given = _located(operation, request.path_params)
    rest = _of_body(operation.rest, text) if operation.route.has_body else _of_query(operation.rest, request.url.query)
    return operation.call.model_construct(**given, **dict(rest))


async def _body(request: Request, limits: ServerLimits) -> bytes:
    """Read the body. Raises Refused if it is too large, too slow, or declared as something other than JSON."""
    text = await _received(request, limits)
    if not text:
        return _NO_BODY
    _check_type(request.headers)
    if _count_values(text, limits.body_values) > limits.body_values:
        message = f"the body has more than {limits.body_values:,} values; send fewer at once"
        raise Refused(413, "TooLarge", message)
    return text


def _check_type(headers: Headers) -> None:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        found = f"the content type is {kind!r}" if kind else "the body has no content type"
        message = f"{found}; send JSON, with `Content-Type: application/json`"
        raise Refused(415, "UnsupportedMediaType", message)
    encoding = headers.get("content-encoding", "identity").lower()
    if encoding != "identity":
        raise Refused(415, "UnsupportedMediaType", f"the body is encoded as {encoding!r}; send it without encoding")


async def _received(request: Request, limits: ServerLimits) -> bytes:
    length = request.headers.get("content-length", "0")
    if not length.isdigit() or int(length) > limits.body_bytes:
        raise _too_large(limits.body_bytes)
    try:
        async with asyncio.timeout(limits.body_s):
            return await _joined(request, limits.body_bytes)
    except TimeoutError:
        message = f"the body did not arrive within {limits.body_s:g} s; send it without pausing"
        raise Refused(408, "TooSlow", message, connection="close") from None


async def _joined(request: Request, most: int) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise _too_large(most)
        parts.append(part)
    return b"".join(parts)


def _too_large(most: int) -> Refused:
    return Refused(413, "TooLarge", f"the body has more than {most:,} bytes; send less", connection="close")


def _count_values(text: bytes, most: int) -> int:
    """Bound the number of values in a JSON text; the count is exact only if there could be more than `most`."""
    count = _marks(text)
    return count if count <= most else _marks(_TEXT.sub(b"", text))


def _marks(text: bytes) -> int:
    return sum(map(text.count, (b",", b"[", b"{")))


def _chosen(operations: Sequence[Operation], text: bytes) -> Operation:
    """Choose between the two ways to start an agent: on a trigger, if the body has one."""
    body = _parsed(text)
    is_trigger = isinstance(body, dict) and "trigger" in body
    return next(each for each in operations if (each.call is StartOnCommand) is is_trigger)


def _parsed(text: bytes) -> Any:
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise Refused(400, "BadRequest", f"the body is not valid JSON: {error}") from None


def _located(operation: Operation, given: Mapping[str, str]) -> dict[str, Any]:
    """Decode and check the fields of the path."""
    if not given:
        return {}
    try:
        plain = {name: unquote(text, errors="strict") for name, text in given.items()}
    except UnicodeDecodeError:
        raise Refused(400, "BadRequest", "the path is not valid UTF-8") from None
    return dict(_checked(operation.located.model_validate_strings, plain, "path"))


def _of_query(model: type[BaseModel], query: str) -> BaseModel:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError as error:
        raise Refused(400, "BadRequest", f"the query is invalid: {error}") from None
    if len(given := dict(pairs)) < len(pairs):
        raise Refused(422, "BadRequest", "the query repeats a field; give each field once")
    return _checked(model.model_validate_strings, given, "query")


def _of_body(model: type[BaseModel], text: bytes) -> BaseModel:
    if b"NaN" in text or b"Infinity" in text:
        _parsed(text)  # pydantic accepts these numbers, JSON has none
    try:
        return model.model_validate_json(text, strict=True)
    except ValidationError as error:
        if '"type":"int_type"' in error.json(include_url=False, include_context=False, include_input=False):
            text = to_json(whole_numbers(from_json(text)))
    return _checked(model.model_validate_json, text, "body")


def _checked(validate: Any, given: Any, where: str) -> BaseModel:
    try:
        model: BaseModel = validate(given, strict=True)
    except ValidationError as error:
        is_malformed = error.error_count() == 1 and error.errors()[0]["type"] == "json_invalid"
        problems = "; ".join(problems_of(error))
        raise Refused(400 if is_malformed else 422, "BadRequest", f"the {where} is invalid: {problems}") from None
    return model


def whole_numbers(value: Any) -> Any:
    """Convert floats without a fraction to integers: 5.0 is an integer in JSON Schema, but not in strict pydantic.

    >>> whole_numbers({"a": [5.0, 5.5, True, "5.0", 1e400]})
    {'a': [5, 5.5, True, '5.0', inf]}
    """
    match value:
        case dict():
            return {name: whole_numbers(each) for name, each in value.items()}
        case list():
            return [whole_numbers(each) for each in value]
        case float() if value.is_integer():
            return int(value)
    return value


def check_payload(graphs: Sequence[AnyGraph], call: BaseCommand) -> None:
    """Raise PayloadError if a start's payload does not match the entry point's schema, taken strictly.

    A runtime converts "5" to a number; over HTTP the schema of the OpenAPI document holds as it is. If there is no such
    entry point, nothing is raised here: the runtime has the better error.
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
