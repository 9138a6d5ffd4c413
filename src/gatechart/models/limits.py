"""Limits of a model loop: its budget, and the compaction of a transcript that grows too long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue
from pydantic_core import to_json

from gatechart.errors.models import BudgetUsedUpError
from gatechart.handoff.media import AnyPart
from gatechart.handoff.packet import MediaPart, TextPart
from gatechart.models.model import Usage

_INSTRUCTIONS: Final = (
    "Summarize the conversation so far for the agent that continues it: what was asked, what is known, what was done "
    "and with which results, what is still open. Keep names, numbers and identifiers exactly. Answer with the summary."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits of a loop in one entry of its state. None: no limit."""

    tokens: int | None = None  # read and written
    cost: float | None = None  # in the currency of the model's prices
    seconds: float | None = None  # since the start of the loop, with the time between processes

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


MOST_BYTES: Final = 100_000
"""Maximum bytes (UTF-8) of a call's result for the model, in a loop without compaction: about 25,000 tokens."""

_LEAST_BYTES: Final = 10_000


def cut_off(output: JsonValue, most_bytes: int) -> JsonValue:
    r"""Return the result of a call unchanged, or the beginning of its text with a note if it is too large.

    >>> cut_off("12345678", 4)
    '1234\n[Cut off here: the result has 8 bytes, and 4 at most are shown. Ask for less.]'
    """
    text = output if isinstance(output, str) else to_json(output).decode()
    written = text.encode(errors="replace")
    if len(written) <= most_bytes:
        return output
    sizes = f"the result has {len(written):,} bytes, and {most_bytes:,} at most are shown"
    return f"{written[:most_bytes].decode(errors='ignore')}\n[Cut off here: {sizes}. Ask for less.]"


def shortened(parts: Sequence[AnyPart], most_bytes: int) -> tuple[AnyPart, ...]:
    """Return the parts of a result with the texts cut off, if these are too large; the media stay."""
    text = "\n".join(each.text for each in parts if isinstance(each, TextPart))
    cut = cut_off(text, most_bytes)
    if cut == text:
        return tuple(parts)
    return (TextPart(text=str(cut)), *(each for each in parts if isinstance(each, MediaPart)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarize:
    """Replace the older part of a transcript by a summary that the model writes, before a long request."""

    at_tokens: int = (
        100_000  # of the next request: the number that the provider reported last, and an estimate of the rest
    )
    keep: int = 10  # newest messages that stay as they are; fewer if these alone have more than half of `at_tokens`
    instructions: str = _INSTRUCTIONS

    def __post_init__(self) -> None:
        for name, least in (("at_tokens", 1), ("keep", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"Summarize({name}={getattr(self, name)!r}): give {least} or more")


def usual_most_bytes(compaction: Summarize | None) -> int:
    """Return the default of `most_bytes`: the bytes of about a quarter of the tokens of `at_tokens`.

    >>> usual_most_bytes(Summarize(at_tokens=40_000)), usual_most_bytes(Summarize(at_tokens=2_000))
    (40000, 10000)
    """
    return MOST_BYTES if compaction is None else max(compaction.at_tokens, _LEAST_BYTES)
