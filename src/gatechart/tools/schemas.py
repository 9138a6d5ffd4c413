"""Tools in the shapes of OpenAI, Anthropic and MCP. Schemas are strict if they and the provider's limits allow it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter

from gatechart.tools.checkable import at_pointer
from gatechart.tools.definition import AnyTool
from gatechart.tools.naming import mcp_name, model_name
from gatechart.tools.strict import ANTHROPIC, OPENAI, strict_schemas, takes_null


def openai_tools(tools: Iterable[AnyTool], *, strict: bool | None = None) -> list[dict[str, Any]]:
    """Return the tools of one request in the shape of OpenAI's chat completions. `strict`: see `strict_schemas`.

    A name that OpenAI does not accept is kept as the title of the parameters. `Tool.from_openai` reads it there.
    """
    listed = tuple(tools)
    schemas = strict_schemas(listed, OPENAI, strict)
    return [_openai_tool(tool, schemas.get(tool.name)) for tool in listed]


def anthropic_tools(tools: Iterable[AnyTool], *, strict: bool | None = None) -> list[dict[str, Any]]:
    """Return the tools of one request in the shape of Anthropic's messages. `strict`: see `strict_schemas`."""
    listed = tuple(tools)
    schemas = strict_schemas(listed, ANTHROPIC, strict)
    return [_anthropic_tool(tool, schemas.get(tool.name)) for tool in listed]


def openai_tool(tool: AnyTool) -> dict[str, Any]:
    """Return one tool in the shape of OpenAI's chat completions. `strict` is true if its schema can be strict."""
    (shape,) = openai_tools([tool])
    return shape


def anthropic_tool(tool: AnyTool) -> dict[str, Any]:
    """Return one tool in the shape of Anthropic's messages, with `strict` if its schema can be strict."""
    (shape,) = anthropic_tools([tool])
    return shape


def mcp_tool(tool: AnyTool) -> dict[str, Any]:
    """Return the tool in MCP's shape, with its title and hints, and its output schema if the result is an object."""
    output = tool.output_schema or _output_schema(tool.returns)
    more = {"outputSchema": output} if output.get("type") == "object" else {}
    return {
        "name": mcp_name(tool.name),
        "title": tool.title or tool.name,
        "description": tool.description,
        "inputSchema": tool.takes.schema,
        **more,
        "annotations": {"idempotentHint": tool.repeat == "safe", **tool.hints},
    }


def _openai_tool(tool: AnyTool, strict: Mapping[str, Any] | None) -> dict[str, Any]:
    name = model_name(tool.name)
    title = {} if name == tool.name else {"title": tool.name}
    parameters = {**(tool.takes.schema if strict is None else strict), **title}
    function = {"name": name, "description": tool.description, "parameters": parameters, "strict": strict is not None}
    return {"type": "function", "function": function}


def _anthropic_tool(tool: AnyTool, strict: Mapping[str, Any] | None) -> dict[str, Any]:
    shape = {"name": model_name(tool.name), "description": tool.description}
    if strict is None:
        return {**shape, "input_schema": tool.takes.schema}
    return {**shape, "input_schema": strict, "strict": True}


def without_nulls(schema: Mapping[str, Any], arguments: Any) -> Any:
    """Return a model's arguments without the nulls that represent omitted arguments.

    A strict schema requires every property, so a model writes null for an omitted one.

    >>> without_nulls({"properties": {"order": {"type": "string"}, "note": {"type": "string"}}, "required": ["order"]},
    ...     {"order": "4711", "note": None})
    {'order': '4711'}
    """
    return _without_nulls(schema, schema, arguments)


def _without_nulls(root: Mapping[str, Any], schema: Any, value: Any) -> Any:
    schema = _resolved(root, schema, value)
    if isinstance(value, dict):
        named, needed = schema.get("properties", {}), schema.get("required", ())
        kept = {
            key: part
            for key, part in value.items()
            if part is not None or key in needed or key not in named or takes_null(root, named[key])
        }
        return {key: _without_nulls(root, named.get(key), part) for key, part in kept.items()}
    if isinstance(value, list):
        return [_without_nulls(root, schema.get("items"), part) for part in value]
    return value


def _resolved(root: Mapping[str, Any], schema: Any, value: Any, via: tuple[str, ...] = ()) -> Mapping[str, Any]:
    """Return the schema of a value: the target of a reference, or the first alternative that fits the value."""
    if not isinstance(schema, Mapping):
        return {}
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return {} if reference in via else _resolved(root, at_pointer(root, reference), value, (*via, reference))
    several = [_resolved(root, part, value, via) for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ()))]
    several = [part for part in several if part.get("type") != "null"]
    if len(several) < 2:
        return several[0] if several else schema
    return next((part for part in several if _can_be(part, value)), {})


def _can_be(schema: Mapping[str, Any], value: Any) -> bool:
    """Return whether a value has the shape and the constants of a schema."""
    if not isinstance(value, dict):
        return isinstance(value, list) == (schema.get("type") == "array")
    named = schema.get("properties", {})
    if not named or not set(schema.get("required", ())) <= value.keys():
        return False
    return all(_has_constant(part, value[name]) for name, part in named.items() if name in value)


def _has_constant(schema: Any, value: Any) -> bool:
    if not isinstance(schema, Mapping):
        return True
    return value == schema.get("const", value) and value in schema.get("enum", (value,))


def _output_schema(result_type: Any) -> dict[str, Any]:
    try:
        return TypeAdapter(result_type).json_schema(mode="serialization")
    except (PydanticSchemaGenerationError, PydanticUserError):
        return {}
