"""Errors of models and of model loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gatechart.errors.root import DefinitionError, OutsideError


@dataclass(eq=False)
class ModelFailedError(OutsideError):
    """A model returned no answer, or one that cannot be read."""

    reported: ClassVar[tuple[str, ...]] = ("code",)

    problem: str
    # The kind of failure: context_length, too_many_strict_tools, quota, rate_limit, overloaded, server_error, timeout,
    # connection, authentication, permission, not_found, invalid_request, error_in_answer, invalid_answer, cut_off or
    # answer_too_large; empty for any other.
    code: str = ""
    is_permanent: bool = False  # whether the same request fails again
    status: int | None = None  # of the HTTP response, if there was one
    retry_after: str = ""  # the wait that the provider requests, as in Retry-After: seconds, or a date

    def __str__(self) -> str:
        kind = f" ({self.code})" if self.code else ""
        wait = f", Retry-After: {self.retry_after}" if self.retry_after else ""
        remedy = "change the request" if self.is_permanent else f"try again later{wait}"
        return f"the model returned no answer{kind}: {self.problem}; {remedy}, or check with its provider"


@dataclass(eq=False)
class BudgetUsedUpError(OutsideError):
    """A model loop has used up its budget of turns, tokens, cost or seconds."""

    what: str
    used: float
    limit: float

    def __str__(self) -> str:
        return (
            f"the model loop has used up its {self.what} ({self.used:g} of {self.limit:g}); "
            "raise the limit, or let `error.invoke.<id>` lead to a state that continues without the loop"
        )


@dataclass(eq=False)
class IncompleteAnswerError(OutsideError):
    """A model's answer was cut off, refused, filtered or empty, or ended for an unknown reason."""

    reported: ClassVar[tuple[str, ...]] = ("finish", "reason")

    finish: str  # a value of Finish: length, refused, filtered, empty or unknown
    reason: str = ""  # the provider's finish reason

    def __str__(self) -> str:
        word = f" ({self.reason})" if self.reason else ""
        return (
            f"the answer of the model is incomplete: {self.finish}{word}; enter the state again to get another answer, "
            "or let the loop accept this finish reason"
        )


@dataclass(eq=False)
class ToolNameTakenError(DefinitionError):
    """A model would be offered two tools of the same name."""

    name: str
    taken_by: str  # "the answer of ModelLoop(output=...)", "a transfer of the state"

    def __str__(self) -> str:
        return f"the tool {self.name!r} has the name of {self.taken_by}; give one of the two another name"
