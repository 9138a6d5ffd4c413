"""Bounds on the answers of models, which come from outside like anything else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from gatechart.models.arguments import depth_exceeds
from gatechart.models.failures import too_large

EVENTS: Final = 4
"""How many times as many bytes a stream may have: each piece of text is wrapped in an event of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerBounds:
    """What one answer of a model may have at most. A larger one is a ModelFailedError, `answer_too_large`."""

    bytes: int = 16 * 1024 * 1024  # of the body, decompressed; of a stream four times as many
    calls: int = 128
    arguments_bytes: int = 1024 * 1024  # of one call
    parts: int = 10_000  # of the content, or its blocks
    depth: int = 64  # of nested objects and arrays

    def __post_init__(self) -> None:
        for name in ("bytes", "calls", "arguments_bytes", "parts", "depth"):
            if getattr(self, name) < 1:
                raise ValueError(f"AnswerBounds({name}={getattr(self, name)!r}): give 1 or more")

    def check_calls(self, number: int) -> None:
        """Raise ModelFailedError if there are more calls."""
        if number > self.calls:
            raise too_large(f"it has {number:,} calls, and {self.calls:,} at most are read")

    def check_parts(self, number: int) -> None:
        """Raise ModelFailedError if there are more parts or blocks."""
        if number > self.parts:
            raise too_large(f"it has {number:,} parts, and {self.parts:,} at most are read")

    def check_bytes(self, number: int) -> None:
        """Raise ModelFailedError if an answer has more bytes."""
        if number > self.bytes:
            raise too_large(f"it has more than {self.bytes:,} bytes")

    def check_arguments(self, texts: Sequence[object]) -> None:
        """Raise ModelFailedError if the JSON text of a call's arguments has more characters than bytes are allowed."""
        for text in texts:
            if isinstance(text, str) and len(text) > self.arguments_bytes:
                problem = f"the arguments of a call have {len(text):,} characters"
                raise too_large(f"{problem}, and {self.arguments_bytes:,} bytes at most are read")

    def check_depth(self, message: JsonValue) -> None:
        """Raise ModelFailedError if a message is nested deeper."""
        if depth_exceeds(message, self.depth):
            raise too_large(f"it is nested more than {self.depth} deep")


USUAL_BOUNDS: Final = AnswerBounds()
