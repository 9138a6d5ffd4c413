"""Bounds on the answers of models, which come from outside like anything else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from pydantic import JsonValue
from pydantic_core import to_json

from gatechart.models.failures import too_large
from gatechart.values.nesting import depth_exceeds

ByteString: TypeAlias = bytes  # which is the name of a bound, too

EVENTS: Final = 8
"""How many times as many bytes a stream may have: each piece of text is wrapped in an event of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerBounds:
    """What one answer of a model may have at most. A larger one is a ModelFailedError, `answer_too_large`."""

    bytes: int = 8 * 1024 * 1024  # of the body, decompressed; of a stream eight times as many
    calls: int = 128
    arguments_bytes: int = 1024 * 1024  # of one call
    parts: int = 10_000  # of the content, or its blocks
    depth: int = 64  # of nested objects and arrays
    values: int = 100_000  # texts, numbers, objects and arrays in all

    def __post_init__(self) -> None:
        for name in ("bytes", "calls", "arguments_bytes", "parts", "depth", "values"):
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

    def check_json(self, text: ByteString) -> None:
        """Raise ModelFailedError if JSON text has too many brackets to be parsed quickly.

        Those within texts count, too, so five times as many as values are allowed.
        """
        if text.count(b"[") + text.count(b"{") > 5 * self.values:
            raise too_large(f"it has more than {self.values:,} values")

    def check_arguments(self, given: JsonValue) -> None:
        """Raise ModelFailedError if the arguments of a call, as JSON text or value, have more bytes."""
        size = len(given) if isinstance(given, str) else len(to_json(given, fallback=str))
        if size > self.arguments_bytes:
            problem = f"the arguments of a call have {size:,} bytes, and {self.arguments_bytes:,} at most are read"
            raise too_large(problem)

    def check_shape(self, message: JsonValue) -> None:
        """Raise ModelFailedError if a message is nested deeper, or has more values."""
        if depth_exceeds(message, self.depth, self.values):
            raise too_large(f"it is nested more than {self.depth} deep, or has more than {self.values:,} values")


USUAL_BOUNDS: Final = AnswerBounds()
