"""The results of tool calls: a value or a failure, and what it took."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Generic, cast

from typing_extensions import TypeVar

from gatechart.errors.tools import OutcomeUnknownError, ToolFailedError

T_co = TypeVar("T_co", covariant=True, default=Any)


class FailureKind(StrEnum):
    """Why a call has no value."""

    RAISED = "raised"  # the tool raised an exception
    TIMED_OUT = "timed out"  # an attempt took longer than its timeout_s; the tool may be called again
    OUTCOME_UNKNOWN = "outcome unknown"  # nobody can tell whether a tool that must not be repeated has acted
    TOTAL_LIMIT = "total limit"  # the call as a whole would have taken longer than its total_s
    BREAKER_OPEN = "breaker open"  # the circuit breaker lets no call through; the tool was not called
    BULKHEAD_FULL = "bulkhead full"  # as many calls as are allowed at once are under way; the tool was not called
    RATE_LIMITED = "rate limited"  # the rate would have been exceeded for too long; the tool was not called
    INVALID_ARGUMENTS = "invalid arguments"  # the arguments do not fit the tool, which was not called
    UNKNOWN_TOOL = "unknown tool"  # the tool box has no tool of this name


@dataclass(frozen=True, slots=True)
class ToolFailure:
    """Why a call has no value, in the words of the tool that was tried last."""

    kind: FailureKind
    message: str
    type: str = ""  # the class of the exception, if the tool raised one
    retry_at: datetime | None = (
        None  # when the circuit breaker that refused the call lets one through, if that is known
    )

    @property
    def is_refusal(self) -> bool:
        """Whether a circuit breaker refused the call, or its next attempt."""
        return self.kind is FailureKind.BREAKER_OPEN


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult(Generic[T_co]):
    """The result of a tool call: the tool's value, or a failure, and what it took to get there.

    >>> ToolResult(tool="lookup_order", call_id="c1", value={"status": "shipped"}).unwrap()
    {'status': 'shipped'}
    """

    tool: str  # that was asked for
    call_id: str
    value: T_co | None = None
    failure: ToolFailure | None = None
    answered_by: str = ""  # the tool that gave the value: the one that was asked for, or an alternative
    attempts: int = 0  # calls of tools, alternatives among them
    waited_s: float = 0.0  # between them
    breaker: str = ""  # the state of the last tool's circuit breaker; empty if it has none
    undo: str = ""  # the tool that takes the call back, if there is one

    @property
    def ok(self) -> bool:
        """Whether there is a value."""
        return self.failure is None

    def unwrap(self) -> T_co:
        """Return the value. Raises ToolFailedError; OutcomeUnknownError if nobody can tell whether the tool acted."""
        if self.failure is None:
            return cast("T_co", self.value)
        kind = OutcomeUnknownError if self.failure.kind is FailureKind.OUTCOME_UNKNOWN else ToolFailedError
        raise kind(self.tool, self.failure.kind.value, self.failure.message, self.attempts, self.failure.retry_at)
