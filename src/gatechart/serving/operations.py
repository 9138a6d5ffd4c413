"""What can be asked over HTTP, in one table of which routes and OpenAPI are made: each verb's method, path, status."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Final, Literal, TypeAlias, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, create_model
from pydantic.fields import FieldInfo

from gatechart.graph.delays import PATTERN
from gatechart.handoff.parts import RungKind, Time
from gatechart.wire import (
    BaseCall,
    CancelHandoffCall,
    EraseCall,
    FindCall,
    HandoffCall,
    HandoffsCall,
    HistoryCall,
    MailCall,
    PostCall,
    ReadCall,
    RollbackCall,
    SendCall,
    SnapshotAtCall,
    StartCall,
    StartOnCall,
    StopCall,
)

MOST: Final = 1000  # entries of one answer

Text: TypeAlias = Annotated[str, StringConstraints(min_length=1, pattern=r"^[^\x00]*$")]
"""What every store can keep as a name or an id."""

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
    graph: Text
    entry_point: str = ""
    agent: str = ""


_NARROWER: Final[dict[str, Any]] = {  # than the calls have them, so that the schema says all that is checked
    "ladder": tuple[Annotated[Again | Target, Field(discriminator="kind")], ...] | None,
    "deadline": Time | _Seconds | _Delay | None,
    "limit": Annotated[int, Field(ge=1, le=MOST, description="how many at the most")],
}


@dataclass(frozen=True)
class Operation:
    """A verb over HTTP. Fields of its call that are no parts of the path are the query, or the body of a POST."""

    call: type[BaseCall]
    method: str
    path: str
    summary: str
    status: int = 200

    @property
    def verb(self) -> str:
        """The verb's name."""
        verb: str = self.call.model_fields["verb"].default
        return verb

    @property
    def has_body(self) -> bool:
        """Whether what is not in the path is in the body, rather than in the query."""
        return self.method == "POST"

    @property
    def in_path(self) -> tuple[str, ...]:
        """The fields that are parts of the path."""
        return tuple(re.findall(r"{(\w+)}", self.path))

    @cached_property
    def rest(self) -> type[BaseModel]:
        """The fields that are not."""
        return _part(self, [name for name in self.call.model_fields if name != "verb" and name not in self.in_path])

    @cached_property
    def located(self) -> type[BaseModel]:
        """The fields that are parts of the path."""
        return _part(self, self.in_path)


def _part(operation: Operation, names: Sequence[str]) -> type[BaseModel]:
    hints = get_type_hints(operation.call, include_extras=True)
    fields: dict[str, Any] = {name: (_narrowed(name, hints[name]), _field(operation, name)) for name in names}
    name = operation.call.__name__.removesuffix("Call")
    return create_model(name, __config__=ConfigDict(extra="forbid"), **fields)


def _field(operation: Operation, name: str) -> FieldInfo:
    """The field's default, without what else the call says of it."""
    declared = operation.call.model_fields[name]
    if name == "limit":
        return FieldInfo(default=min(declared.default or MOST, MOST))
    return FieldInfo() if declared.is_required() else FieldInfo(default=declared.default)


def _narrowed(name: str, hint: Any) -> Any:
    if name in _NARROWER:
        return _NARROWER[name]
    return {str: Text, str | None: Text | None}.get(hint, hint)


OPERATIONS: Final = (
    Operation(StartCall, "POST", "/agents", "A new agent, begun at an entry point or on a business trigger", 201),
    Operation(StartOnCall, "POST", "/agents", "A new agent, begun on a business trigger", 201),
    Operation(FindCall, "GET", "/agents", "Agents in the order they were started, a page at a time"),
    Operation(ReadCall, "GET", "/agents/{id}", "An agent as it was last committed"),
    Operation(EraseCall, "DELETE", "/agents/{id}", "Forgets an agent and its history for good", 204),
    Operation(SendCall, "POST", "/agents/{to}/events", "What became of an event, once its turn is committed"),
    Operation(PostCall, "POST", "/agents/{to}/mail", "Mail for an agent, durable when this returns", 202),
    Operation(HistoryCall, "GET", "/agents/{id}/history", "An agent's turns, oldest first"),
    Operation(SnapshotAtCall, "GET", "/agents/{id}/versions/{version}", "An agent as it was at one of its versions"),
    Operation(StopCall, "POST", "/agents/{id}/stop", "Ends an agent in the state it is in"),
    Operation(RollbackCall, "POST", "/agents/{id}/rollback", "Restores what an agent was, as a new version"),
    Operation(HandoffCall, "POST", "/agents/{id}/handoffs", "Has an agent hand on its work", 202),
    Operation(HandoffsCall, "GET", "/handoffs", "Handoffs in the order offered, a page at a time"),
    Operation(CancelHandoffCall, "POST", "/handoffs/{id}/cancel", "Withdraws a handoff", 202),
    Operation(MailCall, "GET", "/mail", "Mail in the order accepted, a page at a time"),
)
"""Every verb that has a call. `start_on` shares its path with `start`: its body has a trigger."""
