"""Strict schemas within the limits of providers. Providers enforce them on the arguments that their models write.

A strict schema accepts everything that the tool's own schema accepts. Constraints that it cannot express are added to
the descriptions, for the model, and checked in the call.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from gatechart.tools.checkable import at_pointer, is_well_formed
from gatechart.tools.definition import AnyTool

_SHARED: Final = ("type", "enum", "const", "title", "description", "properties", "required", "items", "anyOf", "$ref")
_OF_OPENAI: Final = ("pattern", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_FORMATS: Final = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
_STRUCTURE: Final = frozenset({"$schema", "$id", "id", "$anchor", "$defs", "definitions", "discriminator", "writeOnly"})
# A closed schema without these keywords would refuse valid arguments.
_INEXPRESSIBLE: Final = frozenset(
    {
        *("allOf", "not", "if", "then", "else", "dependentSchemas", "dependencies", "patternProperties"),
        *(
            "prefixItems",
            "additionalItems",
            "unevaluatedProperties",
            "unevaluatedItems",
            "$dynamicRef",
            "$recursiveRef",
        ),
    }
)
_NULL: Final = {"type": "null"}
_CLOSED: Final = {"additionalProperties": False}
_LONGEST_REMARK: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictSize:
    """The size of one strict schema, or of all strict schemas of a request, as providers measure it."""

    tools: int = 0
    optional: int = 0  # properties that are not required
    unions: int = 0  # parts with alternatives, or with several types
    properties: int = 0
    depth: int = 0  # of nested objects
    enum_values: int = 0
    characters: int = 0  # of names and enumeration values

    def __add__(self, other: StrictSize) -> StrictSize:
        sums = {field.name: getattr(self, field.name) + getattr(other, field.name) for field in fields(self)}
        return StrictSize(**sums | {"depth": max(self.depth, other.depth)})

    def fits(self, most: StrictSize) -> bool:
        """Return whether no size exceeds its limit. A limit of 0 means no limit."""
        limits = ((getattr(self, field.name), getattr(most, field.name)) for field in fields(self))
        return all(not limit or size <= limit for size, limit in limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictDialect:
    """The keywords of JSON Schema that a provider enforces, and its limits."""

    keywords: frozenset[str]
    formats: frozenset[str]
    requires_all: bool  # whether every property is required, so that an omitted one is null instead
    recursive: bool
    of_schema: StrictSize  # limits of one schema
    of_request: StrictSize  # limits of all strict schemas of a request together

    def keeps(self, keyword: str, value: Any) -> bool:
        """Return whether the provider enforces a keyword with this value."""
        if keyword == "format":
            return value in self.formats
        if not is_well_formed(keyword, value):  # older drafts, or a pattern that only some regex engines support
            return False
        return keyword in self.keywords or (keyword == "minItems" and value in (0, 1))


# Source, as of November 2026: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
OPENAI: Final = StrictDialect(
    keywords=frozenset((*_SHARED, *_OF_OPENAI, "minItems", "maxItems")),
    formats=_FORMATS,
    requires_all=True,
    recursive=True,
    of_schema=StrictSize(properties=5_000, depth=10, enum_values=1_000, characters=120_000),
    of_request=StrictSize(),
)
# Source, as of November 2026: https://platform.claude.com/docs/en/build-with-claude/structured-outputs, "JSON Schema
# limitations". The limits of a request also apply to each schema.
ANTHROPIC: Final = StrictDialect(
    keywords=frozenset(_SHARED),
    formats=_FORMATS | {"uri"},
    requires_all=False,
    recursive=False,
    of_schema=StrictSize(optional=24, unions=16),
    of_request=StrictSize(tools=20, optional=24, unions=16),
)


def strict_schemas(
    tools: Iterable[AnyTool], dialect: StrictDialect, strict: bool | None = None
) -> dict[str, dict[str, Any]]:
    """Return the strict schemas of one request's tools, by tool name. Tools without one are omitted.

    A tool is strict if its schema can be, until the provider's limits are reached. Tools with `strict=True` come first,
    then tools with effects, then tools that are safe to repeat. strict: the default for tools without a setting.
    """
    wanted = [tool for tool in tools if (tool.strict if tool.strict is not None else strict is not False)]
    chosen: dict[str, dict[str, Any]] = {}
    used = StrictSize()
    for tool in sorted(wanted, key=lambda tool: (tool.strict is not True, tool.repeat == "safe")):
        schema = strict_schema(tool.takes.schema, dialect)
        size = None if schema is None else used + replace(size_of(schema), tools=1)
        if schema is not None and size is not None and size.fits(dialect.of_request):
            chosen[tool.name], used = schema, size
    return chosen


def strict_schema(schema: Mapping[str, Any], dialect: StrictDialect) -> dict[str, Any] | None:
    """Return a strict schema that accepts everything that `schema` accepts; None if none exists within the limits."""
    try:
        strict = _Strict(schema, dialect).whole()
    except (_NotStrictError, RecursionError):
        return None
    return strict if size_of(strict).fits(dialect.of_schema) else None


def size_of(schema: Mapping[str, Any]) -> StrictSize:
    """Measure one strict schema as providers do; `tools` is 0."""
    total = sum((_own_size(part) for part in _parts(schema)), StrictSize())
    return replace(total, depth=_depth(schema, schema, ()))


def _own_size(part: Mapping[str, Any]) -> StrictSize:
    named, values = part.get("properties", {}), part.get("enum", ())
    required = part.get("required", ())
    texts = (*named, *(value for value in values if isinstance(value, str)))
    return StrictSize(
        optional=sum(name not in required for name in named),
        unions=int("anyOf" in part or isinstance(part.get("type"), list)),
        properties=len(named),
        enum_values=len(values),
        characters=sum(map(len, texts)),
    )


def _parts(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Yield all parts of a strict schema, and each definition once."""
    if isinstance(schema, Mapping):
        yield schema
        several = (*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), *schema.get("anyOf", ()))
        for part in (*several, schema.get("items")):
            yield from _parts(part)


def _depth(root: Mapping[str, Any], schema: Any, via: tuple[str, ...]) -> int:
    """Return the maximum number of nested objects. A recursion counts once."""
    if not isinstance(schema, Mapping):
        return 0
    reference = schema.get("$ref")
    if reference is not None:
        return 0 if reference in via else _depth(root, at_pointer(root, reference), (*via, reference))
    inner = (*schema.get("properties", {}).values(), *schema.get("anyOf", ()), schema.get("items"))
    deepest = max((_depth(root, part, via) for part in inner), default=0)
    return deepest + (schema.get("type") == "object")


class _NotStrictError(Exception):
    """No strict schema accepts everything that the schema accepts."""


class _Strict:
    """Turns one schema into a strict one."""

    def __init__(self, root: Mapping[str, Any], dialect: StrictDialect) -> None:
        self.root = root
        self.dialect = dialect
        self.definitions: dict[str, str] = {}  # references by the names of the strict schema's definitions
        self.open: list[str] = []  # references whose definitions are still to be converted

    def whole(self) -> dict[str, Any]:
        """Return the whole schema. Raises _NotStrictError."""
        root = self.root
        if "$ref" in root:  # a recursive model; providers require an object at the root
            root = {**self.target(root["$ref"]), **{key: value for key, value in root.items() if key != "$ref"}}
        if root.get("type") != "object":
            raise _NotStrictError
        strict = self.of(root)
        converted: dict[str, dict[str, Any]] = {}
        while self.open:
            reference = self.open.pop()
            converted[self.definitions[reference]] = self.of(self.target(reference))
        if not self.dialect.recursive and any(_leads_back(converted, name, name, ()) for name in converted):
            raise _NotStrictError
        return strict | ({"$defs": converted} if converted else {})

    def target(self, reference: Any) -> Mapping[str, Any]:
        """Resolve a reference. Raises _NotStrictError."""
        part = at_pointer(self.root, reference) if isinstance(reference, str) else None
        if not isinstance(part, Mapping) or not part:
            raise _NotStrictError
        return part

    def referred(self, reference: str) -> dict[str, Any]:
        """Return a reference to a definition of the strict schema."""
        self.target(reference)
        if reference not in self.definitions:
            name = reference.rpartition("/")[2] or "root"
            while name in self.definitions.values():
                name += "_"
            self.definitions[reference] = name
            self.open.append(reference)
        return {"$ref": f"#/$defs/{self.definitions[reference]}"}

    def of(self, schema: Any) -> dict[str, Any]:
        """Return a part of a strict schema. Raises _NotStrictError."""
        schema = self.plain(schema)
        if "$ref" in schema:
            return self.referred(schema["$ref"])
        strict = {key: value for key, value in schema.items() if self.dialect.keeps(key, value)}
        if not {"type", "anyOf", "enum", "const"} & strict.keys() or _INEXPRESSIBLE & schema.keys():
            raise _NotStrictError
        if any(isinstance(value, list | Mapping) for value in strict.get("enum", ())):
            raise _NotStrictError
        strict |= {"anyOf": [self.of(part) for part in schema["anyOf"]]} if "anyOf" in schema else {}
        strict |= {"items": self.of(schema["items"])} if "items" in schema else {}
        if schema.get("type") == "object":
            strict |= self.object(schema)
        elif schema.get("type") == "array" and "items" not in schema:
            raise _NotStrictError
        return strict | _remark({key: value for key, value in schema.items() if key not in strict}, strict)

    def plain(self, schema: Any) -> dict[str, Any]:
        """Normalize a part: alternatives only under `anyOf`, one structured type, and no siblings of a reference."""
        if not isinstance(schema, Mapping):
            raise _NotStrictError
        plain = {key: value for key, value in schema.items() if key not in _STRUCTURE}
        if "oneOf" in plain and "anyOf" not in plain:
            plain["anyOf"] = plain.pop("oneOf")
        if len(plain.get("allOf", ())) == 1:
            (only,) = plain.pop("allOf")
            plain = {**only, **plain}
        if "$ref" in plain:
            return self.beside_reference(plain)
        if plain.pop("nullable", False) is True:
            return _alternatives(plain, [plain, _NULL])
        types = plain.get("type")
        if isinstance(types, list) and {"object", "array"} & set(map(str, types)):
            return _alternatives(plain, [_of_type(plain, type_name) for type_name in types])
        return plain

    def beside_reference(self, plain: dict[str, Any]) -> dict[str, Any]:
        """Return a reference without siblings, or its target merged with them. A strict reference has no siblings."""
        reference = plain["$ref"]
        if len(plain) == 1:
            return plain
        target = self.target(reference)
        if _refers_to(self.root, target, reference, ()):
            raise _NotStrictError
        return {**self.plain(target), **{key: value for key, value in plain.items() if key != "$ref"}}

    def object(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """Return the properties of a closed object."""
        if schema.get("additionalProperties") or ("properties" not in schema and "additionalProperties" not in schema):
            raise _NotStrictError
        needed = schema.get("required", ())
        properties = schema.get("properties", {})
        if "anyOf" in schema or not set(needed) <= set(properties):
            raise _NotStrictError
        named = {name: self.property(part, is_required=name in needed) for name, part in properties.items()}
        required = list(named) if self.dialect.requires_all else list(needed)
        return {"properties": named, "required": required, **_CLOSED}

    def property(self, schema: Any, *, is_required: bool) -> dict[str, Any]:
        """Return a property. An optional one also accepts null if the dialect requires every property."""
        strict = self.of(schema)
        if is_required or not self.dialect.requires_all or takes_null(self.root, schema):
            return strict
        described = {"description": strict.pop("description")} if "description" in strict else {}
        return {"anyOf": [strict, _NULL], **described}


def _alternatives(schema: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return alternatives with the title and the description of the whole."""
    described = {key: schema[key] for key in ("title", "description") if key in schema}
    return {
        "anyOf": [{key: value for key, value in part.items() if key not in described} for part in parts],
        **described,
    }


def _of_type(schema: Mapping[str, Any], type_name: Any) -> dict[str, Any]:
    """Return the keywords of a schema of several types that apply to one of them."""
    others = {"object": ("items",), "array": ("properties", "required", "additionalProperties")}
    omitted = others.get(str(type_name), (*others["object"], *others["array"]))
    return {key: value for key, value in schema.items() if key not in omitted} | {"type": type_name}


def _remark(omitted: Mapping[str, Any], strict: Mapping[str, Any]) -> dict[str, Any]:
    """Return a description that includes the omitted keywords. Raises _NotStrictError if it is too long."""
    kept = {key: value for key, value in omitted.items() if key not in ("additionalProperties", "nullable")}
    remark = ", ".join(f"{key}: {_text(value)}" for key, value in kept.items() if value is not None)
    if len(remark) > _LONGEST_REMARK:
        raise _NotStrictError
    return {"description": f"{strict.get('description', '')} ({remark})".strip()} if remark else {}


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | Mapping) else str(value)


def takes_null(root: Mapping[str, Any], schema: Any) -> bool:
    """Return whether a part of a schema accepts null."""
    return _takes_null(root, schema, ())


def _takes_null(root: Mapping[str, Any], schema: Any, via: tuple[str, ...]) -> bool:
    if not isinstance(schema, Mapping):
        return True
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return reference not in via and _takes_null(root, at_pointer(root, reference), (*via, reference))
    types = schema.get("type", ())
    is_nullable = types == "null" or (isinstance(types, list) and "null" in types) or schema.get("nullable") is True
    several = (*schema.get("anyOf", ()), *schema.get("oneOf", ()))
    return is_nullable or None in schema.get("enum", ()) or any(_takes_null(root, part, via) for part in several)


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"]
        for part in schema.values():
            yield from _references(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from _references(part)


def _refers_to(root: Mapping[str, Any], schema: Any, to: str, via: tuple[str, ...]) -> bool:
    """Return whether references lead from a part to `to`."""
    targets = set(_references(schema))
    return to in targets or any(
        _refers_to(root, at_pointer(root, target), to, (*via, target)) for target in targets if target not in via
    )


def _leads_back(definitions: Mapping[str, Any], name: str, to: str, via: tuple[str, ...]) -> bool:
    """Return whether references lead from a definition to another, or back to itself."""
    targets = {reference.removeprefix("#/$defs/") for reference in _references(definitions.get(name))}
    return to in targets or any(
        _leads_back(definitions, target, to, (*via, target)) for target in targets if target not in via
    )
