"""Arguments of tools: read by a function's annotations or a JSON Schema, and written for records."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NotRequired, Protocol, Required

from pydantic import ConfigDict, PydanticSchemaGenerationError, PydanticUserError, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json
from typing_extensions import TypedDict

from gatechart.context import problems_of
from gatechart.errors.definition import Fault
from gatechart.errors.failures import contained
from gatechart.graph.payload_schema import JsonSchema
from gatechart.secrets import marked, revealed
from gatechart.tools.checkable import checkable

_CLOSED: Final = ConfigDict(extra="forbid")
_NAMED: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class ArgumentsMisfitError(Exception):
    """The arguments do not fit. Never leaves this package."""

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))


class Takes(Protocol):
    """The arguments that a tool takes."""

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON Schema of the arguments, an object."""
        ...

    def read(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the arguments with the types that the tool takes. Raises ArgumentsMisfitError."""
        ...

    def written(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return arguments that `read` returned as JSON values, with their secrets. Raises ArgumentsMisfitError."""
        ...

    def faults(self, place: str) -> Iterator[Fault]:
        """Yield the faults that make these unusable as arguments of a tool. place: the tool, for the faults."""
        ...


@dataclass(frozen=True)
class Signature:
    """The arguments that a function's annotations describe."""

    parameters: tuple[inspect.Parameter, ...]  # with their annotations resolved

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        types = {parameter.name: _field_type(parameter) for parameter in self.parameters}
        arguments = TypedDict("Arguments", types)  # type: ignore[misc]  # its defaults stay with the function
        arguments.__pydantic_config__ = _CLOSED  # type: ignore[attr-defined]
        return TypeAdapter[Any](arguments)

    @cached_property
    def schema(self) -> Mapping[str, Any]:
        """See Takes."""
        schema = self._adapter.json_schema()
        properties = {name: _untitled(part) for name, part in schema.get("properties", {}).items()}
        for parameter in self.parameters:
            if parameter.default is not parameter.empty:
                properties[parameter.name] |= _default(parameter.default)
        return {key: part for key, part in schema.items() if key != "title"} | {"properties": properties}

    def read(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """See Takes."""
        try:
            with contained():
                arguments: Mapping[str, Any] = self._adapter.validate_python(given)
        except ValidationError as error:
            raise ArgumentsMisfitError(*problems_of(error)) from error
        except Exception as error:  # a validator of the application raised it
            raise ArgumentsMisfitError(f"reading them raised {type(error).__name__}") from error
        return arguments

    def written(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """See Takes."""
        try:
            text = self._adapter.dump_json(dict(arguments), round_trip=True)
            values: Mapping[str, Any] = revealed(marked(arguments, from_json(text)))
        except (PydanticSerializationError, ValueError) as error:
            raise ArgumentsMisfitError(f"they cannot be written as JSON: {error}") from error
        return values

    def faults(self, place: str) -> Iterator[Fault]:
        """See Takes."""
        parameter_faults = tuple(self._parameter_faults(place))
        yield from parameter_faults or self._annotation_faults(place)

    def _parameter_faults(self, place: str) -> Iterator[Fault]:
        for parameter in self.parameters:
            here = f"{place}, argument {parameter.name!r}"
            if parameter.kind not in _NAMED:
                yield Fault(here, "it has no single name", "list each argument by its name")
            elif parameter.annotation is parameter.empty:
                yield Fault(here, "it has no annotation", "annotate its type, as in `order: str`")

    def _annotation_faults(self, place: str) -> Iterator[Fault]:
        try:
            _ = self.schema
        except (PydanticSchemaGenerationError, PydanticUserError) as error:
            problem = str(error).partition("\n")[0]
            yield Fault(place, f"its arguments cannot be read: {problem}", "annotate them with JSON types or models")


@dataclass(frozen=True)
class Described:
    """The arguments that an outside JSON Schema describes. The server checks any part that is unsafe to check here."""

    json_schema: JsonSchema

    @cached_property
    def schema(self) -> Mapping[str, Any]:
        """See Takes. The whole schema, as written."""
        plain: Mapping[str, Any] = self.json_schema.plain
        return plain

    @cached_property
    def _checked(self) -> JsonSchema:
        return JsonSchema(json.dumps(checkable(self.schema)))

    def read(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """See Takes."""
        arguments = self.written(given)
        problems = self._checked.problems(arguments)
        if problems:
            raise ArgumentsMisfitError(*problems)
        return arguments

    def faults(self, place: str) -> Iterator[Fault]:
        """See Takes."""
        yield from (Fault(place, problem, remedy) for problem, remedy in self._checked.faults())
        if not isinstance(self.schema, Mapping):
            yield Fault(place, "its schema is not an object", "describe the arguments by a JSON Schema of an object")

    def written(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """See Takes."""
        try:
            values: Mapping[str, Any] = from_json(to_json(arguments))
        except (PydanticSerializationError, ValueError) as error:
            raise ArgumentsMisfitError(f"they cannot be written as JSON: {error}") from error
        return values


def _field_type(parameter: inspect.Parameter) -> Any:
    is_required = parameter.default is parameter.empty
    return Required[parameter.annotation] if is_required else NotRequired[parameter.annotation]


def _untitled(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Drop the title that pydantic derives from a name. It has no information for a model."""
    return {key: part for key, part in schema.items() if key != "title"}


def _default(value: Any) -> dict[str, Any]:
    try:
        return {"default": from_json(to_json(value))}
    except (PydanticSerializationError, ValueError):
        return {}
