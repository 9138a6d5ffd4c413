"""Arguments of tools: read as a function's annotations or a JSON Schema say, and written for records."""

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
    """What a tool takes."""

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON Schema of the arguments, an object."""
        ...

    def read(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the arguments as the tool takes them. Raises ArgumentsMisfitError."""
        ...

    def written(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return arguments that were read as JSON values, with their secrets. Raises ArgumentsMisfitError."""
        ...

    def faults(self, place: str) -> Iterator[Fault]:
        """Yield what keeps these from being arguments of a tool. place: of the tool, for the faults."""
        ...


@dataclass(frozen=True)
class Signature:
    """The arguments that a function's annotations describe."""

    parameters: tuple[inspect.Parameter, ...]  # with their annotations resolved

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        kinds = {each.name: _kind(each) for each in self.parameters}
        made = TypedDict("Arguments", kinds)  # type: ignore[misc]  # its defaults stay with the function
        made.__pydantic_config__ = _CLOSED  # type: ignore[attr-defined]
        return TypeAdapter[Any](made)

    @cached_property
    def schema(self) -> Mapping[str, Any]:
        """See Takes."""
        schema = self._adapter.json_schema()
        properties = {name: _untitled(each) for name, each in schema.get("properties", {}).items()}
        for each in self.parameters:
            if each.default is not each.empty:
                properties[each.name] |= _default(each.default)
        return {key: each for key, each in schema.items() if key != "title"} | {"properties": properties}

    def read(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """See Takes."""
        try:
            with contained():
                found: Mapping[str, Any] = self._adapter.validate_python(given)
        except ValidationError as error:
            raise ArgumentsMisfitError(*problems_of(error)) from error
        except Exception as error:  # of a validator
            raise ArgumentsMisfitError(f"reading them raised {type(error).__name__}") from error
        return found

    def written(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """See Takes."""
        try:
            text = self._adapter.dump_json(dict(arguments), round_trip=True)
            found: Mapping[str, Any] = revealed(marked(arguments, from_json(text)))
        except (PydanticSerializationError, ValueError) as error:
            raise ArgumentsMisfitError(f"they cannot be written as JSON: {error}") from error
        return found

    def faults(self, place: str) -> Iterator[Fault]:
        """See Takes."""
        found = tuple(self._parameter_faults(place))
        yield from found or self._annotation_faults(place)

    def _parameter_faults(self, place: str) -> Iterator[Fault]:
        for each in self.parameters:
            here = f"{place}, argument {each.name!r}"
            if each.kind not in _NAMED:
                yield Fault(here, "it has no single name", "list each argument by its name")
            elif each.annotation is each.empty:
                yield Fault(here, "it has no annotation", "say of which type it is, as in `order: str`")

    def _annotation_faults(self, place: str) -> Iterator[Fault]:
        try:
            _ = self.schema
        except (PydanticSchemaGenerationError, PydanticUserError) as error:
            problem = str(error).partition("\n")[0]
            yield Fault(place, f"its arguments cannot be read: {problem}", "annotate them with JSON types or models")


@dataclass(frozen=True)
class Described:
    """The arguments that a JSON Schema from outside describes. What cannot be checked safely is left to the server."""

    json_schema: JsonSchema

    @cached_property
    def schema(self) -> Mapping[str, Any]:
        """See Takes. The whole schema, as written."""
        found: Mapping[str, Any] = self.json_schema.plain
        return found

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
        yield from (Fault(place, *each) for each in self._checked.faults())
        if not isinstance(self.schema, Mapping):
            yield Fault(place, "its schema is not an object", "describe the arguments by a JSON Schema of an object")

    def written(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """See Takes."""
        try:
            found: Mapping[str, Any] = from_json(to_json(arguments))
        except (PydanticSerializationError, ValueError) as error:
            raise ArgumentsMisfitError(f"they cannot be written as JSON: {error}") from error
        return found


def _kind(parameter: inspect.Parameter) -> Any:
    is_required = parameter.default is parameter.empty
    return Required[parameter.annotation] if is_required else NotRequired[parameter.annotation]


def _untitled(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Drop the title that pydantic makes of a name, of which a model learns nothing."""
    return {key: each for key, each in schema.items() if key != "title"}


def _default(value: Any) -> dict[str, Any]:
    try:
        return {"default": from_json(to_json(value))}
    except (PydanticSerializationError, ValueError):
        return {}
