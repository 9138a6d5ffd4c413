"""Errors of tools: invalid definitions, failed calls, reused call ids."""

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
        return f"the services are {self.given}, without tools; add an attribute or item `tools` that holds a tool box"


@dataclass(eq=False)
class CallReusedError(EventError):
    """A call reuses the id of another call of the invocation, with another tool or arguments. Nothing was called."""

    agent_id: str
    invoke: str
    call_id: str
    tool: str  # of the recorded call

    def __str__(self) -> str:
        return (
            f"{self.invoke!r} of agent {self.agent_id!r} has called {self.tool!r} with the id {self.call_id!r}, and "
            "makes a different call with that id now; repeat a call unchanged, or give a new call a new call_id"
        )


@dataclass(eq=False)
class ToolFailedError(OutsideError):
    """A tool call returned no value."""

    private: ClassVar[tuple[str, ...]] = ("message",)

    tool: str
    kind: str
    message: str
    attempts: int
    retry_at: datetime | None = None  # when the breaker that refused the call allows one again, if one did

    def __str__(self) -> str:
        tries = f" after {self.attempts} attempt{'s' * (self.attempts != 1)}" if self.attempts else ""
        details = f": {self.message}" if self.message else ""
        return f"the tool {self.tool!r} returned no value ({self.kind}{tries}){details}; {self._remedy}"

    @property
    def _remedy(self) -> str:
        return "check the service that the tool calls, or let the result's `failure` decide how to continue"


class OutcomeUnknownError(ToolFailedError):
    """It is unknown whether a tool that must not be repeated has acted."""

    @property
    def _remedy(self) -> str:
        return "find out whether the tool has acted, and only then call it again, or let a person decide"
