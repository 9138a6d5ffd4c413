"""Base classes of commands, the types of their fields, and the interface that executes them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, Any, ClassVar, Self, TypeAlias

from pydantic import AfterValidator, AllowInfNan, BaseModel, ConfigDict, Field, JsonValue, Strict

from gatechart.api.codec import Answer
from gatechart.api.route import Route
from gatechart.handoff.packet import Time
from gatechart.turn.arguments import check_finite
from gatechart.values.names import HIGHEST_NUMBER, Payload


def _finite(payload: Payload) -> Payload:
    check_finite(payload)
    return payload


def _finite_result(result: JsonValue) -> JsonValue:
    check_finite({"result": result})
    return result


Plain: TypeAlias = Annotated[dict[str, JsonValue], AfterValidator(_finite)]
Result: TypeAlias = Annotated[JsonValue, AfterValidator(_finite_result)]
Count: TypeAlias = Annotated[int, Field(ge=0, lt=HIGHEST_NUMBER)]
Limit: TypeAlias = Annotated[int, Field(ge=1, lt=HIGHEST_NUMBER)]
ScheduleName: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]
Moment: TypeAlias = Annotated[Time, Strict()]  # strict: otherwise pydantic reads a number as seconds since 1970
_Number: TypeAlias = Annotated[
    str, Field(pattern=r"^\s*[-+]?[0-9.]+\s*$")
]  # a number in text form, which is neither a time nor a delay
Deadline: TypeAlias = Annotated[
    _Number | Moment | Annotated[float, Strict(), AllowInfNan(False)] | str, Field(union_mode="left_to_right")
]
"""A time, a number of seconds, or a delay in text form, for example "10m"."""


class Command(BaseModel):
    """A verb with its arguments, for a home of agents to execute: a frozen value that is sent as JSON.

    answer: the JSON of its result. route: its HTTP method and path. writes: whether it changes anything.
    """

    # Each schema is built on first use: building all of them takes a tenth of the time to import gatechart.
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings", defer_build=True)

    answer: ClassVar[Answer[Any]]
    route: ClassVar[Route]
    writes: ClassVar[bool] = False
    verb: str


class WritingCommand(Command):
    """Base of commands that change something.

    Its sender may not know whether it arrived, so it can be repeated under the same `event_id` or `idempotency_key`
    without further effect.
    """

    writes: ClassVar[bool] = True

    def named(self, request: str) -> Self:
        """Return the command with this id, unless it has one, so that it is safe to repeat."""
        fields = type(self).model_fields
        field = "event_id" if "event_id" in fields else "idempotency_key"
        is_free = field in fields and getattr(self, field) is None
        return self.model_copy(update={field: request}) if is_free else self


class Executor(ABC):
    """Executes commands. Base of every part of `AgentHome`."""

    @abstractmethod
    async def execute(self, command: Command) -> Any:
        """Execute a command and return its result, a value. Raises the errors of the verb."""
        ...
