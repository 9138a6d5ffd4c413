"""What can be asked over HTTP, in one table of which the routes and the OpenAPI document are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Final, Literal, TypeAlias, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, create_model
from pydantic.fields import FieldInfo

from gatechart.api import (
    BaseCall,
    CancelHandoffCall,
    EndInvokeCall,
    EraseCall,
    FindCall,
    FireTimerCall,
    HandoffCall,
    HandoffsCall,
    HistoryCall,
    MailCall,
    PostCall,
    ReadCall,
    RetryCall,
    RollbackCall,
    SendCall,
    SnapshotAtCall,
    StartCall,
    StartOnCall,
    StopCall,
)
from gatechart.api.routes import MOST, ROUTES, Route
from gatechart.graph.delays import PATTERN
from gatechart.handoff.packet import RungKind, Time
from gatechart.values import LONGEST_NAME, LONGEST_REASON, RESERVED_PATTERN

Text: TypeAlias = Annotated[str, StringConstraints(min_length=1, pattern=r"^[^\x00]*$")]
"""What an id can be that is looked up: one that was accepted before ids were bounded is found, however long."""

NewText: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_NAME, pattern=r"^[^\x00]*$")]
"""What every store can keep as a name or an id."""

_Words: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_REASON, pattern=r"^[^\x00]*$")]

_Delay: TypeAlias = Annotated[str, StringConstraints(pattern=rf"^{PATTERN}$")]
_Seconds: TypeAlias = Annotated[float, Field(ge=0, le=36525 * 86400, allow_inf_nan=False)]


class Again(BaseModel):
    """Offer to the same target again, a while later."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal[RungKind.AGAIN]
    attempts: Annotated[int, Field(ge=1, lt=2**31)] = 3
    first_s: _Seconds = 1.0
    factor: Annotated[float, Field(ge=1, le=1000, allow_inf_nan=False)] = 2.0
    most_s: _Seconds = 60.0


class Target(BaseModel):
    """Offer to another graph, or to a person's, at an entry point: to a new agent, or to a living one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal[RungKind.OTHER, RungKind.PERSON]
    graph: NewText
    entry_point: Annotated[str, StringConstraints(max_length=LONGEST_NAME)] = ""
    agent: Annotated[str, StringConstraints(max_length=LONGEST_NAME)] = ""


_Event: TypeAlias = Annotated[NewText, Field(json_schema_extra={"not": {"pattern": RESERVED_PATTERN}})]
"""The name of an event that is not the framework's own."""

_EITHER: Final[dict[type[BaseCall], dict[str, Any]]] = {
    EndInvokeCall: {
        "not": {
            "required": ["result", "error"],
            "properties": {"result": {"not": {"type": "null"}}, "error": {"type": "string"}},
        }
    }
}
"""What a body must not hold together."""

_NARROWER: Final[dict[str, Any]] = {  # than the calls have them, so that the schema says all that is checked
    "ladder": tuple[Annotated[Again | Target, Field(discriminator="kind")], ...] | None,
    "event": _Event,
    "deadline": Time | _Seconds | _Delay | None,
    "version": Annotated[int, Field(ge=1, lt=2**62)],
}


_LOOKED_UP: Final[dict[type[BaseCall], str]] = {  # of calls that write: the field that says what is there already
    SendCall: "to",
    StopCall: "id",
    RollbackCall: "id",
    HandoffCall: "id",
    CancelHandoffCall: "id",
    EndInvokeCall: "id",
    EraseCall: "id",
}


@dataclass(frozen=True)
class Operation:
    """A verb over HTTP."""

    call: type[BaseCall]
    summary: str

    @property
    def verb(self) -> str:
        """The verb's name."""
        verb: str = self.call.model_fields["verb"].default
        return verb

    @property
    def way(self) -> Route:
        """Where it is asked for."""
        return ROUTES[self.call]

    @cached_property
    def rest(self) -> type[BaseModel]:
        """The fields that are no parts of the path."""
        return _part(self, [name for name in self.call.model_fields if name not in {"verb", *self.way.in_path}])

    @cached_property
    def located(self) -> type[BaseModel]:
        """The fields that are."""
        return _part(self, self.way.in_path)


def _part(operation: Operation, names: Sequence[str]) -> type[BaseModel]:
    hints = get_type_hints(operation.call, include_extras=True)
    fields: dict[str, Any] = {
        name: (_narrowed(operation, name, hints[name]), _field(operation, name)) for name in names
    }
    name = operation.call.__name__.removesuffix("Call")
    config = ConfigDict(extra="forbid", json_schema_extra=_EITHER.get(operation.call))
    return create_model(name, __config__=config, **fields)


def _field(operation: Operation, name: str) -> FieldInfo:
    """The field's default, without what else the call says of it."""
    declared = operation.call.model_fields[name]
    if name == "limit":
        return FieldInfo(default=min(declared.default or MOST, MOST))
    return FieldInfo() if declared.is_required() else FieldInfo(default=declared.default)


def _narrowed(operation: Operation, name: str, hint: Any) -> Any:
    if name == "limit":
        return Annotated[int, Field(ge=1 if operation.call is FindCall else 0, le=MOST)]
    if name in _NARROWER:
        return _NARROWER[name]
    if name == "reason" and hint is str:
        return _Words
    text: Any = NewText if operation.call.writes and name != _LOOKED_UP.get(operation.call) else Text
    return {str: text, str | None: text | None}.get(hint, hint)


OPERATIONS: Final = (
    Operation(StartCall, "A new agent, begun at an entry point or on a business trigger"),
    Operation(StartOnCall, "A new agent, begun on a business trigger"),
    Operation(FindCall, "Agents in the order they were started, a page at a time"),
    Operation(ReadCall, "An agent as it was last committed"),
    Operation(EraseCall, "Forgets an agent and its history for good"),
    Operation(SendCall, "What became of an event, once its turn is committed"),
    Operation(PostCall, "Mail for an agent, durable when this returns"),
    Operation(RetryCall, "Deliver refused or dead mail once more, or end the wait of mail that failed"),
    Operation(HistoryCall, "An agent's turns, oldest first"),
    Operation(SnapshotAtCall, "An agent as it was at one of its versions"),
    Operation(StopCall, "Ends an agent in the state it is in"),
    Operation(RollbackCall, "Restores what an agent was, as a new version"),
    Operation(HandoffCall, "Has an agent hand on its work"),
    Operation(HandoffsCall, "Handoffs in the order offered, a page at a time"),
    Operation(CancelHandoffCall, "Withdraws a handoff"),
    Operation(MailCall, "Mail in the order accepted, a page at a time"),
    Operation(FireTimerCall, "Deliver a timer now, with a reason"),
    Operation(EndInvokeCall, "End a running invoke with a result or an error, with a reason"),
)
"""Every verb that has a call. `start_on` shares its path with `start`: its body has a trigger."""
