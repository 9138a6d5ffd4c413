"""From a request to a call: path, query and body, each checked against the models that the OpenAPI document shows."""

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

from gatechart.api import BaseCall, StartOnCall
from gatechart.context import problems_of
from gatechart.serving.limits import ServerLimits
from gatechart.serving.numbers import whole_numbers
from gatechart.serving.operations import Operation
from gatechart.serving.problems import Refused

_NO_BODY: Final = b"{}"
_TEXT: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)  # the last one may have no end


async def read_call(operations: Sequence[Operation], request: Request, limits: ServerLimits) -> BaseCall:
    """The call that the request asks for. Raises Refused.

    operations: those of its method and path; where there are several, the body tells which one it is.
    """
    text = await _body(request, limits) if operations[0].way.has_body else b""
    operation = operations[0] if len(operations) == 1 else _chosen(operations, text)
    given = _located(operation, request.path_params)
    rest = _of_body(operation.rest, text) if operation.way.has_body else _of_query(operation.rest, request.url.query)
    return operation.call.model_construct(**given, **dict(rest))


async def _body(request: Request, limits: ServerLimits) -> bytes:
    """The body's bytes. Raises Refused where it is too large or too slow, or says that it is no JSON."""
    text = await _received(request, limits)
    if not text:
        return _NO_BODY
    _check_type(request.headers)
    if _count_values(text, limits.body_values) > limits.body_values:
        message = f"the body has more than {limits.body_values:,} values; send less at once"
        raise Refused(413, "TooLarge", message)
    return text


def _check_type(headers: Headers) -> None:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        message = f"the body is said to be {kind or 'of no type'!r}; send JSON, with `Content-Type: application/json`"
        raise Refused(415, "UnsupportedMediaType", message)
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise Refused(415, "UnsupportedMediaType", "the body is encoded; send it as it is")


async def _received(request: Request, limits: ServerLimits) -> bytes:
    said = request.headers.get("content-length", "0")
    if not said.isdigit() or int(said) > limits.body_bytes:
        raise _too_large(limits.body_bytes)
    try:
        async with asyncio.timeout(limits.body_s):
            return await _joined(request, limits.body_bytes)
    except TimeoutError:
        message = f"the body did not come within {limits.body_s:g} s; send it at once"
        raise Refused(408, "TooSlow", message, connection="close") from None


async def _joined(request: Request, most: int) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise _too_large(most)
        parts.append(part)
    return b"".join(parts)


def _count_values(text: bytes, most: int) -> int:
    """How many values JSON text holds, at most; exactly only where there could be more than `most`."""
    count = _marks(text)
    return count if count <= most else _marks(_TEXT.sub(b"", text))


def _marks(text: bytes) -> int:
    return sum(map(text.count, (b",", b"[", b"{")))


def _chosen(operations: Sequence[Operation], text: bytes) -> Operation:
    """Of the ways to start an agent, that on a trigger where there is one."""
    body = _parsed(text)
    is_trigger = isinstance(body, dict) and "trigger" in body
    return next(each for each in operations if (each.call is StartOnCall) is is_trigger)


def _parsed(text: bytes) -> Any:
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise Refused(400, "BadRequest", f"the body is no JSON: {error}") from None


def _located(operation: Operation, given: Mapping[str, str]) -> dict[str, Any]:
    """The parts of the path, as they were before they were quoted."""
    if not given:
        return {}
    try:
        plain = {name: unquote(text, errors="strict") for name, text in given.items()}
    except UnicodeDecodeError:
        raise Refused(400, "BadRequest", "the path is no UTF-8") from None
    return dict(_checked(operation.located.model_validate_strings, plain, "path"))


def _of_query(model: type[BaseModel], query: str) -> BaseModel:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError as error:
        raise Refused(400, "BadRequest", f"the query cannot be read: {error}") from None
    if len(given := dict(pairs)) < len(pairs):
        raise Refused(422, "BadRequest", "the query has a field twice; give each once")
    return _checked(model.model_validate_strings, given, "query")


def _of_body(model: type[BaseModel], text: bytes) -> BaseModel:
    if b"NaN" in text or b"Infinity" in text:
        _parsed(text)  # pydantic takes the numbers of that name, JSON has none
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
        raise Refused(400 if is_malformed else 422, "BadRequest", f"the {where} does not do: {problems}") from None
    return model


def _too_large(most: int) -> Refused:
    return Refused(413, "TooLarge", f"the body has more than {most:,} bytes; send less", connection="close")
