"""Schemas are strict wherever they can be, within the limits of providers."""

from decimal import Decimal
from typing import Annotated, Literal

import jsonschema
import pytest
from pydantic import BaseModel, Field

from gatechart import ToolBox, tool
from gatechart.tools import Tool, anthropic_tools, openai_tools
from gatechart.tools.naming import model_name
from gatechart.tools.schemas import without_nulls
from gatechart.tools.strict import ANTHROPIC, OPENAI, StrictSize, size_of, strict_schema

DIALECTS = pytest.mark.parametrize("dialect", [OPENAI, ANTHROPIC], ids=["openai", "anthropic"])


def described(properties, **more):
    return {"type": "object", "properties": properties, "required": list(properties), **more}


@DIALECTS
@pytest.mark.parametrize(
    "schema",
    [
        described({"a": {"type": "string"}}, **{"$schema": "http://json-schema.org/draft-07/schema#"}),
        described({"a": {"type": "string", "x-widget": "date"}}, additionalProperties=False),
        described({"a": {"type": "string", "deprecated": True, "$comment": "old"}}),
        described({"a": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}}),
        described({"a": {"type": "integer", "minimum": 1, "exclusiveMinimum": False}}),
        described({"a": {"type": ["object", "null"], "properties": {"b": {"type": "string"}}}}),
        described({"a": {"type": "string", "nullable": True}}),
        described({"a": {"$ref": "#/definitions/A"}}, definitions={"A": {"type": "string"}}),
        described({"a": {"type": "string"}, "b": {"$ref": "#/properties/a"}}),
        described({"a": {"oneOf": [{"type": "string"}, {"type": "integer"}]}}),
        {"type": "object", "properties": {}},
        {"$schema": "x", "type": "object", "properties": {}, "additionalProperties": False},
    ],
)
def test_annotations_unknown_keywords_and_older_drafts_leave_a_schema_strict(schema, dialect):
    made = strict_schema(schema, dialect)
    assert made is not None
    assert made["additionalProperties"] is False
    jsonschema.Draft202012Validator.check_schema(made)
    assert "x-widget" not in str(made.keys())


@DIALECTS
@pytest.mark.parametrize(
    "schema",
    [
        described({"a": {"type": "object"}}),
        described({"a": {"type": "object", "additionalProperties": {"type": "string"}}}),
        described({"a": {"type": "array"}}),
        described({"a": {}}),
        described({"a": {"type": "any"}}),
        described({"a": {"type": "string"}}, patternProperties={"^x": {}}),
        described({"a": {"type": "string"}}, anyOf=[{"required": ["a"]}]),
        described({"a": {"allOf": [{"type": "string"}, {"minLength": 1}]}}),
        described({"a": {"$ref": "https://x.test/a"}}),
        described({"a": {"enum": [{"b": 1}]}}),
        {"anyOf": [described({"a": {"type": "string"}}), described({"b": {"type": "string"}})]},
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["b"]},
    ],
)
def test_a_schema_that_a_strict_one_would_narrow_is_not_strict(schema, dialect):
    assert strict_schema(schema, dialect) is None


def test_what_a_strict_schema_cannot_say_is_told_in_the_description():
    schema = described({"a": {"type": "string", "description": "Code.", "minLength": 3, "x-unit": "EUR"}})
    made = strict_schema(schema, OPENAI)
    assert made["properties"]["a"] == {"type": "string", "description": "Code. (minLength: 3, x-unit: EUR)"}


@DIALECTS
def test_a_pattern_with_look_around_goes_into_the_description(dialect):
    # Schemas of Decimal that pydantic before 2.14 writes have such a pattern.
    pattern = r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$"
    made = strict_schema(
        described({"price": {"anyOf": [{"type": "number"}, {"type": "string", "pattern": pattern}]}}), dialect
    )
    _, text = made["properties"]["price"]["anyOf"]
    assert text == {"type": "string", "description": f"(pattern: {pattern})"}
    plain = strict_schema(described({"code": {"type": "string", "pattern": "^[A-Z]+$"}}), OPENAI)
    assert plain["properties"]["code"]["pattern"] == "^[A-Z]+$"


def test_a_tool_with_a_decimal_is_strict():
    @tool
    def pay(amount: Decimal) -> str:
        """Pay."""
        return str(amount)

    assert openai_tools([pay])[0]["function"]["strict"] is True
    assert anthropic_tools([pay])[0]["strict"] is True


class Node(BaseModel):
    name: str
    children: list["Node"] = []


def test_the_root_of_a_recursive_schema_is_an_object():
    made = strict_schema(Node.model_json_schema(), OPENAI)
    assert made["type"] == "object"
    assert made["properties"]["children"]["anyOf"][0]["items"] == {"$ref": "#/$defs/Node"}
    assert strict_schema(Node.model_json_schema(), ANTHROPIC) is None


def described_tool(name, schema, **options):
    return Tool.from_mcp({"name": name, "inputSchema": schema}, dict, **options)


def optional(count):
    return {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(count)}}


def unions(count):
    return described({f"p{n}": {"type": ["string", "null"]} for n in range(count)})


def strict_names(shapes):
    return [each["name"] for each in shapes if each.get("strict")]


def test_anthropic_gets_at_most_twenty_strict_tools_those_that_act_first():
    readers = [described_tool(f"read{n}", described({}), repeat="safe") for n in range(15)]
    writers = [described_tool(f"write{n}", described({})) for n in range(15)]
    shapes = anthropic_tools([*readers, *writers])
    assert strict_names(shapes) == [*(f"read{n}" for n in range(5)), *(f"write{n}" for n in range(15))]
    assert len(shapes) == 30
    assert all(each["function"]["strict"] for each in openai_tools([*readers, *writers]))


@pytest.mark.parametrize(("schemas", "most"), [(optional, 24), (unions, 16)])
def test_anthropic_limits_optional_and_union_parameters_of_one_schema_and_of_a_request(schemas, most):
    assert strict_schema(schemas(most), ANTHROPIC) is not None
    assert strict_schema(schemas(most + 1), ANTHROPIC) is None
    several = [described_tool("a", schemas(most - 2)), described_tool("b", schemas(3)), described_tool("c", schemas(2))]
    assert strict_names(anthropic_tools(several)) == ["a", "c"]


def test_openai_limits_the_depth_and_the_size_of_one_schema():
    def nested(depth):
        schema = described({"a": {"type": "string"}})
        for _ in range(depth - 1):
            schema = described({"a": schema})
        return schema

    assert strict_schema(nested(10), OPENAI) is not None
    assert strict_schema(nested(11), OPENAI) is None
    assert strict_schema(described({"a": {"enum": [f"v{n}" for n in range(1_001)]}}), OPENAI) is None
    assert strict_schema(described({f"p{n}": {"type": "string"} for n in range(5_001)}), OPENAI) is None


def test_the_size_of_a_schema_counts_each_definition_once():
    schema = described({"a": {"$ref": "#/$defs/A"}, "b": {"$ref": "#/$defs/A"}}, **{"$defs": {"A": optional(2)}})
    assert size_of(schema) == StrictSize(optional=2, properties=4, depth=2, characters=6)


def test_a_tool_the_loop_and_the_model_say_whether_to_be_strict():
    free = described_tool("free", described({}))
    always = described_tool("always", described({}), strict=True)
    never = described_tool("never", described({}), strict=False)
    tools = [free, always, never]
    assert strict_names(anthropic_tools(tools)) == ["free", "always"]
    assert strict_names(anthropic_tools(tools, strict=False)) == ["always"]
    assert strict_names(anthropic_tools(tools, strict=True)) == ["free", "always"]


def test_a_tool_that_asks_to_be_strict_goes_before_the_others():
    many = [described_tool(f"write{n}", described({})) for n in range(20)]
    wanted = described_tool("read", described({}), repeat="safe", strict=True)
    assert strict_names(anthropic_tools([*many, wanted]))[-2:] == ["write18", "read"]


DEFINITION = {
    "name": "weather.get",
    "title": "Weather",
    "description": "Get the weather.",
    "inputSchema": described({"city": {"type": "string"}}),
    "outputSchema": described({"degrees": {"type": "number"}}),
    "annotations": {"readOnlyHint": True, "openWorldHint": True, "idempotentHint": True},
}


def test_a_definition_of_mcp_comes_back_with_its_title_hints_output_and_dotted_name():
    assert ToolBox([Tool.from_mcp(DEFINITION, dict)]).mcp() == [DEFINITION]


def test_a_tool_comes_back_from_the_shape_of_openai_with_its_name_and_title():
    first = Tool.from_mcp(DEFINITION, dict)
    (shape,) = ToolBox([first]).openai()
    assert shape["function"]["name"] == model_name("weather.get")
    again = Tool.from_openai(shape, first)
    assert (again.name, again.title, again.hints) == ("weather.get", "Weather", DEFINITION["annotations"])
    assert ToolBox([again]).mcp()[0]["outputSchema"] == DEFINITION["outputSchema"]


def test_a_title_that_is_not_the_tools_name_stays_a_title():
    schema = described({"a": {"type": "string"}}, title="Arguments")
    made = Tool.from_openai({"name": "t", "parameters": schema}, dict)
    assert (made.name, made.takes.schema["title"]) == ("t", "Arguments")


def test_hints_of_a_function_reach_clients_of_mcp():
    @tool(repeat="safe", title="Look up", hints={"readOnlyHint": True})
    def look_up(order: str) -> str:
        """Look an order up."""
        return order

    (shape,) = ToolBox([look_up]).mcp()
    assert (shape["title"], shape["annotations"]) == ("Look up", {"idempotentHint": True, "readOnlyHint": True})


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    trick: str = "sit"


def test_a_null_in_one_of_several_alternatives_stands_for_what_is_left_out():
    @tool
    def adopt(pet: Annotated[Cat | Dog, Field(discriminator="kind")], others: list[Cat | Dog] = []) -> str:  # noqa: B006
        """Adopt a pet."""
        return pet.kind

    given = {"pet": {"kind": "dog", "trick": None}, "others": [{"kind": "cat", "lives": None}]}
    assert without_nulls(adopt.takes.schema, given) == {"pet": {"kind": "dog"}, "others": [{"kind": "cat"}]}
