"""The results of tool calls: a value or a failure, with attempts and waits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Generic, cast

from typing_extensions import TypeVar

from gatechart.errors.tools import OutcomeUnknownError, ToolFailedError

T_co = TypeVar("T_co", covariant=True, default=Any)


class FailureKind(StrEnum):
    """The reason why a call has no value."""

    RAISED = "raised"  # the tool raised an exception
    TIMED_OUT = "timed out"  # an attempt took longer than its timeout_s; the tool may be called again
    OUTCOME_UNKNOWN = "outcome unknown"  # a tool that must not be repeated may or may not have acted
    TOTAL_LIMIT = "total limit"  # the whole call would have taken longer than its total_s
    BREAKER_OPEN = "breaker open"  # the circuit breaker refused the call; the tool was not called
    BULKHEAD_FULL = "bulkhead full"  # the maximum number of calls is running; the tool was not called
    RATE_LIMITED = "rate limited"  # the wait for the rate would have been too long; the tool was not called
    INVALID_ARGUMENTS = "invalid arguments"  # the arguments do not fit the tool, which was not called
    UNKNOWN_TOOL = "unknown tool"  # the tool box has no tool of this name


@dataclass(frozen=True, slots=True)
class ToolFailure:
    """The reason why a call has no value, reported by the last tool."""

    kind: FailureKind
    message: str
    type: str = ""  # the class of the exception, if the tool raised one
    retry_at: datetime | None = None  # when the circuit breaker that refused the call allows one, if known

    @property
    def is_refusal(self) -> bool:
        """Whether a circuit breaker refused the call, or its next attempt."""
        return self.kind is FailureKind.BREAKER_OPEN


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult(Generic[T_co]):
    """The result of a tool call: the tool's value or a failure, with attempts and waits.

    >>> ToolResult(tool="lookup_order", call_id="c1", value={"status": "shipped"}).unwrap()
    {'status': 'shipped'}
    """

    tool: str  # the requested tool
    call_id: str
    value: T_co | None = None
    failure: ToolFailure | None = None
    answered_by: str = ""  # the tool that returned the value: the requested one, or an alternative
    attempts: int = 0  # calls of tools, including alternatives
    waited_s: float = 0.0  # between attempts
    breaker: str = ""  # the state of the last tool's circuit breaker; empty without one
    undo: str = ""  # the tool that undoes the call; empty without one

    @property
    def ok(self) -> bool:
        """Whether there is a value."""
        return self.failure is None

    def unwrap(self) -> T_co:
        """Return the value. Raises ToolFailedError, or OutcomeUnknownError if the tool may have acted."""
        if self.failure is None:
            return cast("T_co", self.value)
        error_type = OutcomeUnknownError if self.failure.kind is FailureKind.OUTCOME_UNKNOWN else ToolFailedError
        raise error_type(self.tool, self.failure.kind.value, self.failure.message, self.attempts, self.failure.retry_at)
