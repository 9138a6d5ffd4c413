"""Schemas from outside are checked as far as that is safe, and never refuse what they take."""

import json

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatechart import ToolBox
from gatechart.tools import ArgumentsMisfitError, Tool
from gatechart.tools.checkable import checkable


def takes(schema, arguments):
    made = Tool.from_mcp({"name": "t", "inputSchema": schema}, dict)
    return made.takes.read(arguments) == arguments


NODE = {"type": "object", "properties": {"name": {"type": "string"}, "children": {"$ref": "#/$defs/Nodes"}}}
RECURSIVE = {
    "type": "object",
    "properties": {"tree": {"$ref": "#/$defs/Node"}},
    "$defs": {"Node": NODE, "Nodes": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
}


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        pytest.param({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}, {}, id="draft 7"),
        pytest.param({"$id": "https://x.test/a", "$anchor": "a", "type": "object"}, {}, id="identifiers"),
        pytest.param({"type": "object", "x-order": [1], "markdownDescription": "*a*"}, {}, id="unknown keywords"),
        pytest.param(RECURSIVE, {"tree": {"name": "a", "children": [{"name": "b", "children": []}]}}, id="recursion"),
        pytest.param({"$ref": "#", "type": "object"}, {"a": 1}, id="a root that refers to itself"),
        pytest.param({"properties": {"a": {"$ref": "https://x.test/b"}}}, {"a": 1}, id="remote reference"),
        pytest.param({"properties": {"a": {"$ref": "#/$defs/lost"}}}, {"a": 1}, id="lost reference"),
        pytest.param(
            {"properties": {"a": {"type": "string"}, "b": {"$ref": "#/properties/a"}}}, {"b": "x"}, id="any pointer"
        ),
        pytest.param(
            {"definitions": {"a/b": {"type": "string"}}, "properties": {"a": {"$ref": "#/definitions/a~1b"}}},
            {"a": "x"},
            id="definitions with an escaped name",
        ),
        pytest.param(
            {"properties": {"a": {"oneOf": [{"type": "object"}, {"type": "string"}], "discriminator": {}}}},
            {"a": {"kind": "x"}},
            id="discriminator",
        ),
        pytest.param({"properties": {"a": {"type": "array", "uniqueItems": True}}}, {"a": [1, 2]}, id="unique items"),
        pytest.param(
            {"patternProperties": {"^x-": {}}, "additionalProperties": False}, {"x-a": 1}, id="pattern properties"
        ),
        pytest.param(
            {"unevaluatedProperties": False, "allOf": [{"properties": {"a": {}}}]}, {"a": 1}, id="unevaluated"
        ),
        pytest.param({"properties": {"a": {"pattern": "^(?!x)"}}}, {"a": "y"}, id="look-around"),
        pytest.param({"properties": {"a": {"type": "string", "nullable": True}}}, {"a": None}, id="nullable"),
        pytest.param({"properties": {"a": {"type": "any"}}}, {"a": 1}, id="a type that does not exist"),
        pytest.param({"properties": {"a": {"type": "string", "required": True}}}, {}, id="draft 3"),
        pytest.param({"properties": {"a": {"maximum": 3, "exclusiveMaximum": True}}}, {"a": 2}, id="draft 4"),
        pytest.param({"properties": {"a": {"items": [{"type": "string"}]}}}, {"a": ["x", 1]}, id="tuple of draft 7"),
        pytest.param({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, {"a": 1, "b": 2}, id="conditions"),
        pytest.param({"not": {"uniqueItems": True}}, {"a": 1}, id="a negation of what is not checked"),
        pytest.param({"properties": {"a": True, "b": {}}}, {"a": 1, "b": None}, id="boolean schemas"),
    ],
)
def test_a_schema_takes_what_it_describes_whatever_cannot_be_checked(schema, arguments):
    assert takes(schema, arguments)


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ({"$schema": "x", "properties": {"a": {"type": "string"}}}, {"a": 1}),
        ({"x-order": [], "required": ["a"]}, {}),
        (RECURSIVE, {"tree": {"name": 1}}),
        (RECURSIVE, {"tree": {"children": {}}}),
        ({"definitions": {"A": {"enum": ["x"]}}, "properties": {"a": {"$ref": "#/definitions/A"}}}, {"a": "y"}),
        ({"properties": {"a": {"oneOf": [{"type": "string"}, {"type": "integer"}]}}}, {"a": []}),
        ({"properties": {"a": False}}, {"a": 1}),
        ({"properties": {"a": {"nullable": True, "type": "string"}}}, {"a": 1}),
    ],
)
def test_what_can_be_checked_is_checked(schema, arguments):
    with pytest.raises(ArgumentsMisfitError):
        takes(schema, arguments)


def test_the_model_gets_the_whole_schema():
    schema = {"$schema": "x", "type": "object", "x-unit": "EUR", "properties": {"a": {"uniqueItems": True}}}
    made = Tool.from_mcp({"name": "t", "inputSchema": schema}, dict)
    assert ToolBox([made]).mcp()[0]["inputSchema"] == schema


def test_a_schema_that_grows_with_its_references_is_not_checked():
    definitions = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 8} for n in range(30)}
    assert takes({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions}, {"a": 1})


def test_a_schema_of_any_depth_is_read():
    schema = {"type": "object"}
    for _ in range(3_000):
        schema = {"type": "object", "properties": {"a": schema}}
    assert checkable(schema) in ({"type": "object"}, schema)


SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "ab"])
KEYS = st.sampled_from(["a", "b", "c"])
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3))


def schemas_over(inner):
    return st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(KEYS, inner, max_size=3),
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "b"]), inner, max_size=1),
            "additionalProperties": st.booleans() | inner,
            "required": st.lists(KEYS, max_size=2, unique=True),
            "items": inner,
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "contains": inner,
            "minContains": st.integers(0, 2),
            "maxContains": st.integers(0, 2),
            "propertyNames": inner,
            "uniqueItems": st.booleans(),
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "unevaluatedProperties": st.booleans(),
            "minProperties": st.integers(0, 2),
            "$ref": st.sampled_from(["#", "#/properties/a", "#/items"]),
        },
    )


LEAVES = st.booleans() | st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "integer", "object", "array", "null", ["string", "null"]]),
        "enum": st.lists(SCALARS, min_size=1, max_size=2, unique_by=repr),
        "minLength": st.integers(0, 2),
        "maximum": st.integers(-2, 2),
        "pattern": st.sampled_from(["^a", "^(?!a)", "b$"]),
        "x-note": st.just("n"),
    },
)
SCHEMAS = st.recursive(LEAVES, schemas_over, max_leaves=6)


@settings(deadline=None, derandomize=True, max_examples=600)
@given(SCHEMAS, st.lists(VALUES, max_size=6))
def test_nothing_that_a_schema_takes_is_refused(schema, values):
    validator, checked = jsonschema.Draft202012Validator(schema), jsonschema.Draft202012Validator(checkable(schema))
    jsonschema.Draft202012Validator.check_schema(json.loads(json.dumps(checkable(schema))))
    for value in values:
        try:
            is_taken = validator.is_valid(value)
        except (RecursionError, jsonschema.exceptions._WrappedReferencingError):  # that never end, or lead nowhere
            continue
        assert not is_taken or checked.is_valid(value)
