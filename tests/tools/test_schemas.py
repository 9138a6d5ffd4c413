"""Tools in the shapes of OpenAI, Anthropic and MCP."""

from datetime import date
from typing import Annotated, Any

import jsonschema
import pytest
from pydantic import BaseModel, Field, SecretStr

from gatechart import tool
from gatechart.secrets import masked
from gatechart.tools import anthropic_tool, mcp_tool, openai_tool
from gatechart.tools.schemas import without_nulls


class Line(BaseModel):
    article: str
    count: Annotated[int, Field(ge=1, le=99)] = 1
    note: str | None = None


class Node(BaseModel):
    name: str
    children: list["Node"] = []


class Sent(BaseModel):
    number: str


@tool(repeat="safe")
def order(
    customer: Annotated[str, Field(description="Who orders.", min_length=3)],
    lines: list[Line],
    express: bool = False,
    due: date | None = None,
    first: Annotated[Line | None, Field(description="Comes first.")] = None,
) -> Sent:
    """Place an order."""
    raise NotImplementedError


@tool
def settle(amounts: dict[str, int]) -> int:
    """Settle accounts."""
    return sum(amounts.values())


@tool
def plant(tree: Node) -> str:
    """Plant a tree."""
    return tree.name


def test_openai_gets_a_strict_schema():
    told = openai_tool(order)
    assert told["type"] == "function"
    function = told["function"]
    assert (function["name"], function["description"], function["strict"]) == ("order", "Place an order.", True)
    parameters = function["parameters"]
    assert parameters["required"] == ["customer", "lines", "express", "due", "first"]
    assert parameters["properties"]["customer"] == {"type": "string", "description": "Who orders. (minLength: 3)"}
    assert parameters["properties"]["express"] == {
        "anyOf": [{"type": "boolean"}, {"type": "null"}],
        "description": "(default: False)",
    }
    line = parameters["$defs"]["Line"]
    assert (line["required"], line["additionalProperties"]) == (["article", "count", "note"], False)
    assert parameters["properties"]["first"]["description"] == "Comes first."


def objects(schema: Any):
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for each in schema.values():
            yield from objects(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from objects(each)


def test_every_object_of_a_strict_schema_is_closed_and_without_other_keywords():
    for parameters in (openai_tool(order)["function"]["parameters"], anthropic_tool(order)["input_schema"]):
        assert all(each["additionalProperties"] is False for each in objects(parameters))
        assert not {"default", "minLength", "format"} & _keywords(parameters) - {"format"}
        jsonschema.Draft202012Validator.check_schema(parameters)


def _keywords(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return set().union(*map(_keywords, schema)) if schema else set()
    if not isinstance(schema, dict):
        return set()
    inner = [{**schema.get("properties", {})}, {**schema.get("$defs", {})}]
    parts = [each for several in inner for each in several.values()] + [*schema.get("anyOf", []), schema.get("items")]
    return {key for key in schema if key != "properties"}.union(*map(_keywords, parts))


def test_anthropic_gets_a_strict_schema_in_which_what_is_optional_stays_so():
    told = anthropic_tool(order)
    assert (told["name"], told["strict"]) == ("order", True)
    assert told["input_schema"]["required"] == ["customer", "lines"]
    count = told["input_schema"]["$defs"]["Line"]["properties"]["count"]
    assert count["description"] == "(default: 1, maximum: 99, minimum: 1)"


def test_a_schema_that_cannot_be_strict_is_shown_as_it_is():
    assert openai_tool(settle)["function"]["strict"] is False
    assert openai_tool(settle)["function"]["parameters"] == settle.takes.schema
    assert "strict" not in anthropic_tool(settle)


def test_a_recursive_schema_is_strict_for_openai_alone():
    assert openai_tool(plant)["function"]["strict"] is True
    assert "strict" not in anthropic_tool(plant)


def test_a_tool_without_arguments_is_strict():
    made = tool(_nothing)
    assert openai_tool(made)["function"]["parameters"]["required"] == []
    assert anthropic_tool(made)["strict"] is True


def _nothing() -> None:
    """Do nothing."""


def test_mcp_gets_the_schemas_of_arguments_and_result():
    told = mcp_tool(order)
    assert told["inputSchema"] == order.takes.schema
    assert told["outputSchema"]["properties"] == {"number": {"title": "Number", "type": "string"}}
    assert told["annotations"] == {"idempotentHint": True}
    assert "outputSchema" not in mcp_tool(settle)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"customer": "ada", "express": None, "lines": []}, {"customer": "ada", "lines": []}),
        ({"customer": None, "lines": []}, {"customer": None, "lines": []}),
        ({"customer": "ada", "due": None}, {"customer": "ada", "due": None}),
        (
            {"lines": [{"article": "a", "count": None, "note": None}]},
            {"lines": [{"article": "a", "note": None}]},
        ),
        ({"first": {"article": "a", "count": None}}, {"first": {"article": "a"}}),
        ({"unknown": None}, {"unknown": None}),
    ],
)
def test_a_null_that_stands_for_an_argument_left_out_is_dropped(given, kept):
    assert without_nulls(order.takes.schema, given) == kept


class Card(BaseModel):
    number: SecretStr
    holder: str


def _pay(amount: int, card: Card, cards: list[Card], pin: SecretStr | None = None) -> None: ...


def test_secrets_are_masked_wherever_a_schema_calls_them_so():
    schema = tool(_pay).takes.schema
    card = {"number": "4111", "holder": "Ada"}
    hidden = card | {"number": "**********"}
    given = {"amount": 3, "card": card, "cards": [card], "pin": "0815"}
    assert masked(schema, given) == {"amount": 3, "card": hidden, "cards": [hidden], "pin": "**********"}
    assert masked(schema, {"pin": None}) == {"pin": None}
    assert given["card"] == card
