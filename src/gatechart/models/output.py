"""Structured answers of a model: the answer tool, and the problems of an answer that does not fit."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter
from typing import Any, Final

from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError
from pydantic_core import to_json

from gatechart.context import problems_of
from gatechart.errors.event import PayloadError
from gatechart.errors.failures import contained, failure_in, message_of
from gatechart.graph.payload_schema import JsonSchema
from gatechart.secrets import marked
from gatechart.tools.arguments import Described, Signature, Takes
from gatechart.tools.checkable import at_pointer
from gatechart.tools.definition import AnyTool, Tool
from gatechart.tools.schemas import without_nulls
from gatechart.turn.arguments import plain_payload

logger = logging.getLogger(__name__)

ANSWER: Final = "answer"
"""Name of the tool that a model calls to give a structured answer."""

Check = Callable[[Any], str | None]
"""Returns the problem of an answer, for the model; nothing if it is right. Must be plain, fast and without effects."""


class Output:
    """The expected answer of a loop: text or a value of a type, and the checks that it must pass.

    A type whose schema is an object with properties is the arguments of the tool `answer`; any other is its one
    argument `answer`. Every type that a tool's argument can have will do.
    """

    def __init__(self, kind: Any, checks: Iterable[Check]) -> None:
        """kind: the type of the answer; None for text."""
        self.kind = kind
        self._checks = tuple(checks)
        self._adapter = None if kind is None else TypeAdapter[Any](kind)
        self._is_whole = self._adapter is not None and _is_whole(kind, self._adapter)
        self.tool = None if self._adapter is None else _answer_tool(kind, self._adapter, is_whole=self._is_whole)

    def read(self, arguments: Mapping[str, Any]) -> tuple[JsonValue, str]:
        """Return the answer in a call of the tool, as JSON value, and its problem; "" if it fits."""
        assert self.tool is not None
        assert self._adapter is not None
        given = without_nulls(self.tool.takes.schema, arguments)
        try:
            with contained():
                answer = self._adapter.validate_json(to_json(given if self._is_whole else given.get(ANSWER)))
                told = marked(answer, self._adapter.dump_python(answer, mode="json"))
                plain_payload({ANSWER: told}, ANSWER)
        except ValidationError as error:
            return None, "; ".join(problems_of(error))
        except PayloadError as error:
            return None, "; ".join(error.problems)
        except Exception as error:  # from a validator or a serializer
            return None, f"reading it raised {type(failure_in(error)).__name__}: {message_of(failure_in(error))}"
        return told, self._problem(answer)

    def read_text(self, text: str) -> tuple[JsonValue, str]:
        """Return the answer in a text, and its problem; "" if it fits."""
        if self.tool is not None:
            return None, f"give the answer by calling the tool {ANSWER!r}"
        return text, self._problem(text)

    def _problem(self, answer: Any) -> str:
        for check in self._checks:
            try:
                with contained():
                    problem = check(answer)
            except Exception as error:
                raised = failure_in(error)
                logger.warning("a check of a model's answer raised", exc_info=error)
                problem = f"a check of it raised {type(raised).__name__}: {message_of(raised)}"
            if problem:
                return str(problem)
        return ""


def _is_whole(kind: Any, adapter: TypeAdapter[Any]) -> bool:
    """Return whether an answer is the arguments of the tool, not one of them."""
    if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
        return False
    schema = _object_of(adapter.json_schema())
    return schema.get("type") == "object" and "properties" in schema


def _object_of(schema: dict[str, Any]) -> dict[str, Any]:
    """Resolve the reference at the root of a schema; recursive models have one there."""
    if "$ref" not in schema:
        return schema
    return {**at_pointer(schema, schema["$ref"]), **{key: part for key, part in schema.items() if key != "$ref"}}


def _answer_tool(kind: Any, adapter: TypeAdapter[Any], *, is_whole: bool) -> AnyTool:
    described = (kind.__doc__ or "").strip() if is_whole else ""
    takes: Takes
    if is_whole:
        takes = Described(JsonSchema(json.dumps(_object_of(adapter.json_schema()))))
    else:
        takes = Signature((Parameter(ANSWER, Parameter.KEYWORD_ONLY, annotation=kind),))
    return Tool(ANSWER, f"Give the final answer. {described}".strip(), _never_called, takes, repeat="safe")


def _never_called(**_: Any) -> None:
    raise AssertionError("the loop reads the arguments itself")
