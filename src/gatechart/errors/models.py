"""Errors of models and of loops that ask them."""

from __future__ import annotations

from dataclasses import dataclass

from gatechart.errors.root import OutsideError


@dataclass(eq=False)
class ModelFailedError(OutsideError):
    """A model gave no answer, or one that nobody can read."""

    problem: str

    def __str__(self) -> str:
        return f"the model gave no answer: {self.problem}; ask it again, or see to its provider"


@dataclass(eq=False)
class BudgetUsedUpError(OutsideError):
    """A model loop has used up what it was given: turns, tokens, cost or seconds."""

    what: str
    used: float
    limit: float

    def __str__(self) -> str:
        return (
            f"the model loop has used up its {self.what} ({self.used:g} of {self.limit:g}); "
            "give it more, or let `error.invoke.<id>` lead to somebody who goes on without it"
        )
