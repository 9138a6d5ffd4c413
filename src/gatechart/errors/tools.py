"""Errors of tools: wrong definitions, calls that failed, calls under an identity that is taken."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from gatechart.errors.definition import Fault
from gatechart.errors.root import DefinitionError, EventError, OutsideError


@dataclass(eq=False)
class InvalidToolError(DefinitionError):
    """The definition of a tool, or of a tool box, has faults; all of them are listed."""

    faults: tuple[Fault, ...]

    def __str__(self) -> str:
        return "\n".join(["these tools have faults", *(f"  - {fault}" for fault in self.faults)])


@dataclass(eq=False)
class NoToolBoxError(DefinitionError):
    """An invoke called a tool, but the services of the runtime hold no tool box."""

    given: str

    def __str__(self) -> str:
        return (
            f"the services are {self.given}, without tools; give them an attribute or an item `tools`, which is a "
            "tool box"
        )


@dataclass(eq=False)
class CallReusedError(EventError):
    """A call has the id of another call of the invocation, with another tool or other arguments. Nothing was called."""

    agent_id: str
    invoke: str
    call_id: str
    tool: str  # of the recorded call

    def __str__(self) -> str:
        return (
            f"{self.invoke!r} of agent {self.agent_id!r} has called {self.tool!r} as {self.call_id!r}, and asks "
            "something else under that id now; repeat a call unchanged, or give a new one a call_id of its own"
        )


@dataclass(eq=False)
class ToolFailedError(OutsideError):
    """A call of a tool has no value."""

    private: ClassVar[tuple[str, ...]] = ("message",)

    tool: str
    kind: str
    message: str
    attempts: int
    retry_at: datetime | None = None  # when the circuit breaker that refused the call lets one through, if it did

    def __str__(self) -> str:
        tries = f" after {self.attempts} attempt{'s' * (self.attempts != 1)}" if self.attempts else ""
        said = f": {self.message}" if self.message else ""
        return f"the tool {self.tool!r} gave no value ({self.kind}{tries}){said}; {self._remedy}"

    @property
    def _remedy(self) -> str:
        return "see to what it calls, or let `failure` of the result decide how to go on"


class OutcomeUnknownError(ToolFailedError):
    """Nobody can tell whether a tool that must not be repeated has acted."""

    @property
    def _remedy(self) -> str:
        return "find out whether it has acted before it is called again, or let a person decide"
