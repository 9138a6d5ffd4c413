"""What a model loop may use, and what becomes of a transcript that grows too long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gatechart.errors import BudgetUsedUpError
from gatechart.models.model import Usage

_INSTRUCTIONS: Final = (
    "Summarize the conversation so far for whoever goes on with it: what was asked, what is known, what was done "
    "and with which results, what is still open. Keep names, numbers and identifiers exactly. Answer with the summary."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a loop may use in one entry of its state. What is None has no limit."""

    tokens: int | None = None  # read and written
    cost: float | None = None  # in the currency of the model's prices
    seconds: float | None = None  # from the first turn on

    def __post_init__(self) -> None:
        for name in ("tokens", "cost", "seconds"):
            limit = getattr(self, name)
            if limit is not None and not limit > 0:
                raise ValueError(f"Budget({name}={limit!r}) allows nothing; give a number above 0")

    def check(self, usage: Usage, seconds: float) -> None:
        """Raise BudgetUsedUpError if one of the limits is reached."""
        for what, used, limit in (
            ("tokens", usage.tokens, self.tokens),
            ("cost", usage.cost, self.cost),
            ("seconds", seconds, self.seconds),
        ):
            if limit is not None and used >= limit:
                raise BudgetUsedUpError(what, used, limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarize:
    """Replace the older part of a transcript by a summary that the model writes, once a turn takes so many tokens."""

    at_tokens: int = 100_000  # of one turn, with all that the model was told for it
    keep: int = 10  # newest messages that stay as they are
    instructions: str = _INSTRUCTIONS

    def __post_init__(self) -> None:
        for name, least in (("at_tokens", 1), ("keep", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"Summarize({name}={getattr(self, name)!r}): give {least} or more")
