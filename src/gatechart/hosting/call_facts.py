"""Facts about calls for the trail of an agent that may roll back past them: their arguments and how to undo them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from gatechart.secrets import hidden, marked, marked_by
from gatechart.tools.arguments import ArgumentsMisfitError
from gatechart.tools.definition import AnyTool
from gatechart.tools.toolbox import ToolBox
from gatechart.values.names import Payload
from gatechart.values.secrets import revealed


def shown(tool: AnyTool, read: Mapping[str, Any], written: Payload) -> Payload:
    """Return the arguments of a call as JSON values. Masks each secret that its type or the schema declares."""
    masked: Payload = hidden(kept(tool, read, written))
    return masked


def kept(tool: AnyTool, read: Mapping[str, Any], written: Payload) -> Payload:
    """Return the arguments of a call as JSON values, with each secret marked."""
    arguments: Payload = marked_by(tool.takes.schema, marked(read, written))
    return arguments


def undo_of(
    box: ToolBox, tool: AnyTool, read: Mapping[str, Any], value: str | None, digest: Callable[[Payload], str]
) -> Payload | None:
    """Return the call that undoes a call: its tool, its arguments and their digest; None if there is none.

    Looks up its arguments by name: in the result, if that is an object, and then among the arguments of the call. A
    result that is not an object becomes the argument of a tool that takes only one. read: arguments of the call.
    value: its result, as JSON text.
    """
    other = box.get(tool.undo) if tool.undo else None
    if other is None:
        return None
    result = json.loads(value or "null")
    arguments = _picked(other, kept(tool, read, tool.takes.written(read)), result)
    try:
        undo_arguments = other.takes.read(revealed(arguments))
    except ArgumentsMisfitError:
        return None
    stored = marked_by(other.takes.schema, arguments)
    masked = shown(other, undo_arguments, other.takes.written(undo_arguments))
    return {"tool": other.name, "arguments": stored, "digest": digest(masked)}


def _picked(other: AnyTool, arguments: Payload, result: Any) -> Payload:
    names = tuple(other.takes.schema.get("properties", ()))
    known = {**arguments, **result} if isinstance(result, Mapping) else arguments
    if len(names) == 1 and names[0] not in known and not isinstance(result, Mapping):
        return {names[0]: result}
    return {name: known[name] for name in names if name in known}
