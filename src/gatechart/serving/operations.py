"""Operations of the HTTP interface: each call with the models that check its path, query and body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Final, Literal, TypeAlias, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, create_model
from pydantic.fields import FieldInfo

from gatechart.api import (
    BaseCommand,
    CancelHandoffCommand,
    DiscardCommand,
    EndInvokeCommand,
    EraseCommand,
    FindCommand,
    FireTimerCommand,
    HandoffCommand,
    HandoffsCommand,
    HistoryCommand,
    MailCommand,
    PostCommand,
    ReadCommand,
    RetryCommand,
    RollbackCommand,
    SendCommand,
    SnapshotAtCommand,
    StartCommand,
    StartOnCommand,
    StopCommand,
)
from gatechart.api.routes import MOST, ROUTES, Route
from gatechart.handoff.packet import FallbackKind, Time
from gatechart.values import HIGHEST_NUMBER, LONGEST_NAME, LONGEST_REASON, PATTERN, RESERVED_PATTERN

Text: TypeAlias = Annotated[str, StringConstraints(min_length=1, pattern=r"^[^\x00]*$")]
"""An id to look up. It may be longer than a new one, as ids were not always bounded."""

NewText: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_NAME, pattern=r"^[^\x00]*$")]
"""A new name or id, which every store can keep."""

_Words: TypeAlias = Annotated[
    str, StringConstraints(min_length=1, max_length=LONGEST_REASON, pattern=r"^[^\x00]*[^\x00\s][^\x00]*$")
]
"""A text that says something."""

_Delay: TypeAlias = Annotated[str, StringConstraints(pattern=rf"^{PATTERN}$")]
_Seconds: TypeAlias = Annotated[float, Field(ge=0, le=36525 * 86400, allow_inf_nan=False)]


class SameTarget(BaseModel):
    """Offer again to the same target, after a wait."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal[FallbackKind.SAME_TARGET]
    attempts: Annotated[int, Field(ge=1, lt=2**31)] = 3
    first_s: _Seconds = 1.0
    factor: Annotated[float, Field(ge=1, le=1000, allow_inf_nan=False)] = 2.0
    most_s: _Seconds = 60.0


class Target(BaseModel):
    """Offer to another graph, or to a human's, at an entry point: to a new agent or a living one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal[FallbackKind.OTHER_GRAPH, FallbackKind.HUMAN]
    graph: NewText
    entry_point: Annotated[str, StringConstraints(max_length=LONGEST_NAME)] = ""
    agent: Annotated[str, StringConstraints(max_length=LONGEST_NAME)] = ""


_Event: TypeAlias = Annotated[NewText, Field(json_schema_extra={"not": {"pattern": RESERVED_PATTERN}})]
"""The name of an event that is not the framework's own."""

_EITHER: Final[dict[type[BaseCommand], dict[str, Any]]] = {
    EndInvokeCommand: {
        "not": {
            "required": ["result", "error"],
            "properties": {"result": {"not": {"type": "null"}}, "error": {"type": "string"}},
        }
    }
}
"""What a body must not have together."""

_NARROWER: Final[dict[str, Any]] = {  # than in the calls, so that the schema says all that is checked
    "fallbacks": tuple[Annotated[SameTarget | Target, Field(discriminator="kind")], ...] | None,
    "event": _Event,
    "deadline": Time | _Seconds | _Delay | None,
    "version": Annotated[int, Field(ge=1, lt=HIGHEST_NUMBER)],
}


_LOOKED_UP: Final[dict[type[BaseCommand], str]] = {  # of calls that write: the field that names something that exists
    SendCommand: "to",
    StopCommand: "agent_id",
    RollbackCommand: "agent_id",
    HandoffCommand: "agent_id",
    CancelHandoffCommand: "handoff_id",
    EndInvokeCommand: "agent_id",
    EraseCommand: "agent_id",
}


@dataclass(frozen=True)
class Operation:
    """A call over HTTP."""

    call: type[BaseCommand]
    summary: str

    @property
    def verb(self) -> str:
        """The verb's name."""
        verb: str = self.call.model_fields["verb"].default
        return verb

    @property
    def route(self) -> Route:
        """The method and path of the call."""
        return ROUTES[self.call]

    @cached_property
    def rest(self) -> type[BaseModel]:
        """The model of the query or the body: the fields that are not in the path."""
        names = [name for name in self.call.model_fields if name not in {"verb", *self.route.in_path}]
        return _part(self, "Body" if self.route.has_body else "Query", names)

    @cached_property
    def located(self) -> type[BaseModel]:
        """The model of the path."""
        return _part(self, "Path", self.route.in_path)


def _part(operation: Operation, kind: str, names: Sequence[str]) -> type[BaseModel]:
    hints = get_type_hints(operation.call, include_extras=True)
    fields: dict[str, Any] = {
        name: (_narrowed(operation, name, hints[name]), _field(operation, name)) for name in names
    }
    name = operation.call.__name__.removesuffix("Command") + kind
    config = ConfigDict(extra="forbid", json_schema_extra=_EITHER.get(operation.call))
    return create_model(name, __config__=config, **fields)


def _field(operation: Operation, name: str) -> FieldInfo:
    """Reduce a field to its default."""
    declared = operation.call.model_fields[name]
    if name == "limit":
        return FieldInfo(default=min(declared.default or MOST, MOST))
    return FieldInfo() if declared.is_required() else FieldInfo(default=declared.default)


def _narrowed(operation: Operation, name: str, hint: Any) -> Any:
    if name == "limit":
        return Annotated[int, Field(ge=1 if operation.call is FindCommand else 0, le=MOST)]
    if name in _NARROWER:
        return _NARROWER[name]
    if name == "reason" and hint is str:
        return _Words
    text: Any = NewText if operation.call.writes and name != _LOOKED_UP.get(operation.call) else Text
    return {str: text, str | None: text | None}.get(hint, hint)


OPERATIONS: Final = (
    Operation(StartCommand, "Start an agent at an entry point, or on a business trigger"),
    Operation(StartOnCommand, "Start an agent on a business trigger"),
    Operation(FindCommand, "List agents in the order they were started, a page at a time"),
    Operation(ReadCommand, "Read an agent as last committed"),
    Operation(EraseCommand, "Erase an agent and its history for good"),
    Operation(SendCommand, "Send an event and wait until its turn is committed"),
    Operation(PostCommand, "Post mail to an agent; it is durable when this returns"),
    Operation(RetryCommand, "Deliver refused or dead mail again, or retry failed mail now"),
    Operation(DiscardCommand, "Delete refused, dead or unreadable mail"),
    Operation(HistoryCommand, "List an agent's turns, oldest first"),
    Operation(SnapshotAtCommand, "Read an agent as it was at an earlier version"),
    Operation(StopCommand, "Stop an agent in its current state"),
    Operation(RollbackCommand, "Restore an earlier version of an agent, as a new version"),
    Operation(HandoffCommand, "Hand an agent's work to another agent"),
    Operation(HandoffsCommand, "List handoffs in the order offered, a page at a time"),
    Operation(CancelHandoffCommand, "Withdraw a handoff"),
    Operation(MailCommand, "List mail in the order accepted, a page at a time"),
    Operation(FireTimerCommand, "Fire a timer now, for a reason that is recorded"),
    Operation(EndInvokeCommand, "End a running invoke with a result or an error, for a reason that is recorded"),
)
"""Every call. `start_on` shares its path with `start`: its body has a trigger."""
