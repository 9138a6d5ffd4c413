"""Tools in the shapes of OpenAI, Anthropic and MCP, strict wherever a tool's schema can be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter

from gatechart.tools.definition import AnyTool
from gatechart.tools.naming import model_name

_SHARED: Final = ("type", "enum", "const", "title", "description", "properties", "required", "items", "anyOf", "$ref")
_OF_OPENAI: Final = ("pattern", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_FORMATS: Final = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
_TOLD: Final = ("minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "format", "default", "examples")
_NULL: Final = {"type": "null"}
_CLOSED: Final = {"additionalProperties": False}


@dataclass(frozen=True, slots=True)
class _Dialect:
    """The part of JSON Schema with which a model can be kept to a schema."""

    keywords: frozenset[str]
    formats: frozenset[str]
    requires_all: bool  # whether every property is required, so that an optional one can be null instead
    recursive: bool

    def keeps(self, keyword: str, value: Any) -> bool:
        if keyword == "format":
            return value in self.formats
        return keyword in self.keywords or (keyword == "minItems" and value in (0, 1))


# Sources: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas and
# https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations
_OPENAI: Final = _Dialect(
    frozenset((*_SHARED, *_OF_OPENAI, "minItems", "maxItems")), _FORMATS, requires_all=True, recursive=True
)
_ANTHROPIC: Final = _Dialect(frozenset(_SHARED), _FORMATS | {"uri"}, requires_all=False, recursive=False)


def openai_tool(tool: AnyTool) -> dict[str, Any]:
    """Return the tool in the shape of OpenAI's chat completions. `strict` is true if its schema can be strict."""
    schema = _strict(tool.takes.schema, _OPENAI)
    parameters = tool.takes.schema if schema is None else schema
    told = {"name": model_name(tool.name), "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": {**told, "strict": schema is not None}}


def anthropic_tool(tool: AnyTool) -> dict[str, Any]:
    """Return the tool in the shape of Anthropic's messages, with `strict` if its schema can be strict."""
    schema = _strict(tool.takes.schema, _ANTHROPIC)
    told = {"name": model_name(tool.name), "description": tool.description}
    return (
        {**told, "input_schema": tool.takes.schema}
        if schema is None
        else {**told, "input_schema": schema, "strict": True}
    )


def mcp_tool(tool: AnyTool) -> dict[str, Any]:
    """Return the tool in MCP's shape, with a schema of its result if that is an object."""
    told = {"name": model_name(tool.name), "title": tool.name, "description": tool.description}
    output = _output_schema(tool.returns)
    more = {"outputSchema": output} if output.get("type") == "object" else {}
    return {**told, "inputSchema": tool.takes.schema, **more, "annotations": {"idempotentHint": tool.repeat == "safe"}}


def without_nulls(schema: Mapping[str, Any], arguments: Any) -> Any:
    """Return arguments as a model gave them without the nulls that stand for an argument left out.

    A strict schema has every property required, so a model has null for what it leaves out.

    >>> without_nulls({"properties": {"order": {"type": "string"}, "note": {"type": "string"}}, "required": ["order"]},
    ...     {"order": "4711", "note": None})
    {'order': '4711'}
    """
    return _without_nulls(schema, schema, arguments)


def _without_nulls(root: Mapping[str, Any], schema: Any, value: Any) -> Any:
    schema = _resolved(root, schema)
    if isinstance(value, dict):
        named, needed = schema.get("properties", {}), schema.get("required", ())
        kept = {key: each for key, each in value.items() if each is not None or key in needed or key not in named}
        kept |= {key: None for key, each in value.items() if each is None and _takes_null(root, named.get(key))}
        return {key: _without_nulls(root, named.get(key), kept[key]) for key in value if key in kept}
    if isinstance(value, list):
        return [_without_nulls(root, schema.get("items"), each) for each in value]
    return value


def _resolved(root: Mapping[str, Any], schema: Any) -> Mapping[str, Any]:
    """Return a part of a schema; of a reference what it refers to, of alternatives the only one beside null."""
    if not isinstance(schema, Mapping):
        return {}
    if "$ref" in schema:
        return _resolved(root, root.get("$defs", {}).get(str(schema["$ref"]).removeprefix("#/$defs/")))
    several = [each for each in schema.get("anyOf", ()) if each != _NULL]
    return _resolved(root, several[0]) if len(several) == 1 else schema


def _takes_null(root: Mapping[str, Any], schema: Any) -> bool:
    if not isinstance(schema, Mapping):
        return True
    kinds = schema.get("type", ())
    nullable = kinds == "null" or (isinstance(kinds, list) and "null" in kinds) or None in schema.get("enum", ())
    if "$ref" in schema:
        return _takes_null(root, root.get("$defs", {}).get(str(schema["$ref"]).removeprefix("#/$defs/")))
    return nullable or any(_takes_null(root, each) for each in schema.get("anyOf", ()))


class _NotStrictError(Exception):
    """The schema says what a strict one cannot."""


def _strict(schema: Mapping[str, Any], dialect: _Dialect) -> dict[str, Any] | None:
    """Return the schema as a strict one that lets through no less; None if there is none."""
    try:
        return _Strict(schema, dialect).whole()
    except _NotStrictError:
        return None


class _Strict:
    """The way from a schema to a strict one."""

    def __init__(self, root: Mapping[str, Any], dialect: _Dialect) -> None:
        self.root = root
        self.dialect = dialect
        self.definitions: Mapping[str, Any] = root.get("$defs", {})

    def whole(self) -> dict[str, Any]:
        """Return the whole schema. Raises _NotStrictError."""
        if not self.dialect.recursive and any(self.leads_back(name, name, ()) for name in self.definitions):
            raise _NotStrictError
        made = self.of({key: each for key, each in self.root.items() if key != "$defs"})
        definitions = {name: self.of(each) for name, each in self.definitions.items()}
        return made | ({"$defs": definitions} if definitions else {})

    def leads_back(self, name: str, to: str, via: tuple[str, ...]) -> bool:
        """Whether references lead from a definition to another, or back to itself."""
        found = set(_references(self.definitions.get(name)))
        return to in found or any(self.leads_back(each, to, (*via, each)) for each in found if each not in via)

    def of(self, schema: Any) -> dict[str, Any]:
        """Return a part of a strict schema."""
        schema = self.plain(schema)
        if "$ref" in schema:
            return {"$ref": schema["$ref"]}
        if not {"type", "anyOf", "enum", "const"} & schema.keys():
            raise _NotStrictError
        made = {key: each for key, each in schema.items() if self.dialect.keeps(key, each)}
        made |= {"anyOf": [self.of(each) for each in schema["anyOf"]]} if "anyOf" in schema else {}
        made |= {"items": self.of(schema["items"])} if "items" in schema else {}
        if schema.get("type") == "object":
            made |= self.object(schema)
        elif schema.get("type") == "array" and "items" not in schema:
            raise _NotStrictError
        return made | _remark(
            {key: each for key, each in schema.items() if key not in made and key not in _CLOSED}, made
        )

    def plain(self, schema: Any) -> dict[str, Any]:
        """Return a part with alternatives under one keyword, and a reference alone."""
        if not isinstance(schema, Mapping):
            raise _NotStrictError
        plain = dict(schema)
        plain.pop("discriminator", None)
        if "oneOf" in plain:
            plain["anyOf"] = plain.pop("oneOf")
        if len(plain.get("allOf", ())) == 1:
            (only,) = plain.pop("allOf")
            plain = {**only, **plain}
        if "$ref" in plain and len(plain) > 1:  # a reference has no description beside it
            name = str(plain.pop("$ref")).removeprefix("#/$defs/")
            if name not in self.definitions or self.leads_back(name, name, ()):
                raise _NotStrictError
            plain = {**self.plain(self.definitions[name]), **plain}
        return plain

    def object(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """Return the properties of an object, to which no others can be added."""
        if schema.get("additionalProperties") or ("properties" not in schema and "additionalProperties" not in schema):
            raise _NotStrictError
        needed = schema.get("required", ())
        named = {
            name: self.property(each, is_required=name in needed) for name, each in schema.get("properties", {}).items()
        }
        required = list(named) if self.dialect.requires_all else list(needed)
        return {"properties": named, "required": required, **_CLOSED}

    def property(self, schema: Any, *, is_required: bool) -> dict[str, Any]:
        """Return a property; an optional one can be null where every one is required."""
        made = self.of(schema)
        if is_required or not self.dialect.requires_all or _takes_null(self.root, made):
            return made
        described = {"description": made.pop("description")} if "description" in made else {}
        return {"anyOf": [made, _NULL], **described}


def _remark(left_out: Mapping[str, Any], made: Mapping[str, Any]) -> dict[str, Any]:
    """Return a description that tells what no keyword says. Raises _NotStrictError for what cannot be told so."""
    if any(keyword not in (*_TOLD, *_OF_OPENAI, "writeOnly") for keyword in left_out):
        raise _NotStrictError
    kept = {keyword: each for keyword, each in left_out.items() if keyword != "writeOnly" and each is not None}
    told = ", ".join(f"{keyword}: {each}" for keyword, each in kept.items())
    return {"description": f"{made.get('description', '')} ({told})".strip()} if told else {}


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"].removeprefix("#/$defs/")
        for each in schema.values():
            yield from _references(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from _references(each)


def _output_schema(kind: Any) -> dict[str, Any]:
    try:
        return TypeAdapter(kind).json_schema(mode="serialization")
    except (PydanticSchemaGenerationError, PydanticUserError):
        return {}
