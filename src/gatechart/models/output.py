"""The answer of a model in a shape: the tool by which it gives it, and what is wrong with one that does not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError, create_model

from gatechart.context import problems_of
from gatechart.secrets import marked
from gatechart.tools import AnyTool, Tool, without_nulls

ANSWER: Final = "answer"
"""The tool by which a model gives an answer in a shape."""

Check = Callable[[Any], str | None]
"""Says what is wrong with an answer, for the model; nothing if it is right. Plain, fast, and without effects."""


class Output:
    """What a loop wants as its answer: text, or a value of a type, that passes the checks."""

    def __init__(self, kind: Any, checks: Iterable[Check]) -> None:
        """kind: the type of the answer; None for text."""
        self.kind = kind
        self._checks = tuple(checks)
        self.tool = None if kind is None else _answer_tool(kind)

    def read(self, arguments: Mapping[str, Any]) -> tuple[JsonValue, str]:
        """Return the answer that a call of the tool gives, as JSON value, and what is wrong with it; "" if it fits."""
        assert self.tool is not None
        given = without_nulls(self.tool.takes.schema, arguments)
        given = given if _is_model(self.kind) else given.get(ANSWER)
        adapter = TypeAdapter[Any](self.kind)
        try:
            answer = adapter.validate_python(given)
        except ValidationError as error:
            return None, "; ".join(problems_of(error))
        return marked(answer, adapter.dump_python(answer, mode="json")), self._problem(answer)

    def read_text(self, text: str) -> tuple[JsonValue, str]:
        """Return the answer that a text gives, and what is wrong with it; "" if it fits."""
        if self.tool is not None:
            return None, f"give the answer by calling the tool {ANSWER!r}"
        return text, self._problem(text)

    def _problem(self, answer: Any) -> str:
        for check in self._checks:
            problem = check(answer)
            if problem:
                return problem
        return ""


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _answer_tool(kind: Any) -> AnyTool:
    shape: type[BaseModel] = kind if _is_model(kind) else create_model(ANSWER, answer=(kind, ...))
    described = (kind.__doc__ or "").strip() if _is_model(kind) else ""
    definition = {
        "name": ANSWER,
        "description": f"Give the final answer. {described}".strip(),
        "parameters": shape.model_json_schema(),
    }
    return Tool.from_openai(definition, _never_called, repeat="safe")


def _never_called(**_: Any) -> None:
    raise AssertionError("the loop reads the arguments itself")
