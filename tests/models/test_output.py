"""The answer of a model can have every type that an argument of a tool can have."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel
from typing_extensions import TypedDict

from gatechart.models.output import ANSWER, Output
from gatechart.tools import anthropic_tool, openai_tool


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    trick: str | None = None


class Node(BaseModel):
    name: str
    children: list["Node"] = []


class Names(RootModel[list[str]]):
    pass


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    day: date
    amount: Decimal


@dataclass
class Point:
    x: int
    y: int = 0


class Named(TypedDict):
    name: str


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]

CASES = [
    pytest.param(Cat, {"kind": "cat", "lives": None}, {"kind": "cat", "lives": 9}, id="model"),
    pytest.param(
        Node,
        {"name": "a", "children": [{"name": "b", "children": None}]},
        {"name": "a", "children": [{"name": "b", "children": []}]},
        id="recursive model",
    ),
    pytest.param(Strict, {"day": "2030-01-02", "amount": "1.5"}, {"day": "2030-01-02", "amount": "1.5"}, id="strict"),
    pytest.param(Pet, {ANSWER: {"kind": "dog", "trick": "sit"}}, {"kind": "dog", "trick": "sit"}, id="union"),
    pytest.param(list[Pet], {ANSWER: [{"kind": "cat", "lives": None}]}, [{"kind": "cat", "lives": 9}], id="unions"),
    pytest.param(set[int], {ANSWER: [1, 1]}, [1], id="set"),
    pytest.param(frozenset[str], {ANSWER: ["a"]}, ["a"], id="frozen set"),
    pytest.param(tuple[int, str], {ANSWER: [1, "a"]}, [1, "a"], id="tuple"),
    pytest.param(Names, {ANSWER: ["a"]}, ["a"], id="root model"),
    pytest.param(dict[str, int], {ANSWER: {"a": 1}}, {"a": 1}, id="mapping"),
    pytest.param(Point, {ANSWER: {"x": 1, "y": None}}, {"x": 1, "y": 0}, id="dataclass"),
    pytest.param(Named, {ANSWER: {"name": "a"}}, {"name": "a"}, id="typed dictionary"),
    pytest.param(Literal["yes", "no"], {ANSWER: "no"}, "no", id="literal"),
    pytest.param(int | None, {ANSWER: None}, None, id="optional"),
    pytest.param(bool, {ANSWER: True}, True, id="scalar"),
    pytest.param(Decimal, {ANSWER: "1.5"}, "1.5", id="decimal"),
    pytest.param(Any, {ANSWER: [1, {"a": None}]}, [1, {"a": None}], id="anything"),
]


@pytest.mark.parametrize(("kind", "given", "answer"), CASES)
def test_an_answer_of_any_type_is_read(kind, given, answer):
    output = Output(kind, ())
    assert output.read(given) == (answer, "")


@pytest.mark.parametrize("kind", [case.values[0] for case in CASES])
def test_every_provider_gets_an_object_as_the_arguments_of_the_answer(kind):
    tool = Output(kind, ()).tool
    assert openai_tool(tool)["function"]["parameters"]["type"] == "object"
    assert anthropic_tool(tool)["input_schema"]["type"] == "object"


def test_an_answer_that_does_not_fit_says_why():
    assert "kind" in Output(Pet, ()).read({ANSWER: {"kind": "fish"}})[1]
    assert Output(int, ()).read({})[1]
    assert "name" in Output(Node, ()).read({"children": []})[1]
