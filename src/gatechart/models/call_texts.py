"""Calls and their results as texts: for the model, for people and for an agent's signals."""

from __future__ import annotations

from typing import Any

from pydantic import JsonValue, TypeAdapter
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from gatechart.handoff.packet import ToolCall
from gatechart.secrets import hidden
from gatechart.tools.definition import AnyTool
from gatechart.tools.results import ToolResult
from gatechart.tools.toolbox import ToolBox
from gatechart.values.trail import LONGEST_TOLD


def told_of(result: ToolResult[Any], tools: ToolBox) -> tuple[JsonValue, str]:
    """Return the value of a call for the model, with secrets masked, and its error; "" if it succeeded."""
    if result.failure is not None:
        return None, f"{result.failure.kind}: {result.failure.message}"
    return hidden(_jsonable(result, tools.get(result.answered_by))), ""


def _jsonable(result: ToolResult[Any], tool: AnyTool | None) -> Any:
    """Return the value of a call as a JSON value. Only the tool's type may know how to write it."""
    try:
        return to_jsonable_python(result.value)
    except (PydanticSerializationError, ValueError):
        return TypeAdapter[Any](Any if tool is None else tool.returns).dump_python(result.value, mode="json")


def call_line(call: ToolCall) -> str:
    """Return a call in one line, with its secrets masked."""
    return f"{call.name} {short_text(hidden(call.arguments))}"


def short_text(value: JsonValue) -> str:
    """Return the beginning of a JSON value's text."""
    return (value if isinstance(value, str) else to_json(value).decode())[:LONGEST_TOLD]


def masked_call(call: ToolCall) -> ToolCall:
    """Return a call with its secrets masked."""
    return call.model_copy(update={"arguments": hidden(call.arguments)})
