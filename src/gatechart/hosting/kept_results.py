"""Results of steps and calls as JSON texts that are read back with their original types."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pydantic import BaseModel, PydanticUserError, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from gatechart.context import problems_of
from gatechart.errors.failures import contained, message_of
from gatechart.errors.operation import StepResultError
from gatechart.secrets import describes_secrets, marked
from gatechart.turn.arguments import check_finite, check_numbers_kept
from gatechart.values.names import AgentId
from gatechart.values.secrets import MASK, SECRET, revealed_text


class KeptResult:
    """Writes and reads one result."""

    def __init__(self, agent_id: AgentId, name: str, result_type: Any) -> None:
        """name: of the step or call, for the error."""
        self._agent_id = agent_id
        self._name = name
        self._adapter = _adapter(result_type)

    def written(self, result: Any) -> str:
        """Return the result as JSON text, with its secrets marked. Raises StepResultError if it cannot be read back."""
        try:
            with contained():
                return self._text(result)
        except Exception as error:  # serializers and properties of the application may raise anything
            raise StepResultError(self._agent_id, self._name, _problems(error)) from error

    def _text(self, result: Any) -> str:
        adapter = _adapter(type(result)) if isinstance(result, BaseModel) else self._adapter
        text = adapter.dump_json(result, round_trip=True, warnings="error").decode()
        if MASK in text:
            text = to_json(marked(result, from_json(text)), inf_nan_mode="constants").decode()
        check_numbers_kept(result, self._read_back(text, result))
        return text

    def _read_back(self, text: str, result: Any) -> Any:
        try:
            return self.read(text)
        except ValidationError:
            check_finite(result)  # raises a better error than reading the null that a NaN is written as
            raise

    def read(self, text: str) -> Any:
        """Return the written result. If its type declares no secrets, secrets in the text stay marked."""
        if SECRET in text and describes_secrets(self._adapter.core_schema):
            text = revealed_text(text)
        return self._adapter.validate_json(text)


def _adapter(result_type: Any) -> TypeAdapter[Any]:
    # Only classes are cached: other types can be equal and yet differ, such as unions in another order.
    return _class_adapter(result_type) if isinstance(result_type, type) else _new_adapter(result_type)


@lru_cache(256)
def _class_adapter(result_type: type[Any]) -> TypeAdapter[Any]:
    return _new_adapter(result_type)


def _new_adapter(result_type: Any) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(result_type)
    except PydanticUserError:  # no schema, or none in this version of Python, as for typing.TypedDict before 3.12
        return TypeAdapter(Any)


def _problems(error: Exception) -> tuple[str, ...]:
    if isinstance(error, ValidationError | PydanticSerializationError):
        return problems_of(error)
    return (message_of(error) or type(error).__name__,)
