"""Limits on the messages of an MCP server: bytes, brackets, values, depth, parts, tools and pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from gatechart.values.nesting import depth_exceeds

MOST_BYTES: Final = 1024 * 1024
"""Maximum size of a result's text, in bytes of UTF-8. A larger result is a failure of the call."""

MOST_MESSAGE_BYTES: Final = 8 * 1024 * 1024
"""Maximum size of one message of a server, in bytes: a page of its tools, or a result."""

MOST_BRACKETS: Final = 200_000
"""Maximum number of opening brackets and braces of a message, also inside texts. It bounds the time of parsing."""

MOST_VALUES: Final = 100_000
"""Maximum number of texts, numbers, objects and arrays of a message."""

MOST_DEPTH: Final = 64
"""Maximum nesting of objects and arrays of a message."""

MOST_PARTS: Final = 1_000
"""Maximum number of parts of a result."""

MOST_TOOLS: Final = 2_000
"""Maximum number of tools of a server, on all pages."""

MOST_PAGES: Final = 100
"""Maximum number of pages of a list of tools."""


class Meter:
    """Counts the bytes and brackets of one message. by_line: whether every line is a message."""

    def __init__(self, *, by_line: bool) -> None:
        self._by_line = by_line
        self._bytes = 0
        self._brackets = 0

    def problem(self, chunk: bytes) -> str:
        """Count a chunk. Return the limit that the message exceeds so far; "" for none."""
        pieces = chunk.split(b"\n") if self._by_line else [chunk]
        for number, piece in enumerate(pieces):
            if number:
                self._bytes = self._brackets = 0
            self._bytes += len(piece)
            self._brackets += piece.count(b"{") + piece.count(b"[")
            if self._bytes > MOST_MESSAGE_BYTES:
                return f"its answer has more than {MOST_MESSAGE_BYTES:,} bytes"
            if self._brackets > MOST_BRACKETS:
                return f"its answer has more than {MOST_BRACKETS:,} brackets"
        return ""


def problem_of(result: Mapping[str, Any]) -> str:
    """Return the limit that the result of a request exceeds; "" for none."""
    for name, most, noun in (("tools", MOST_TOOLS, "tools"), ("content", MOST_PARTS, "parts")):
        listed = result.get(name)
        if isinstance(listed, list) and len(listed) > most:
            return f"its answer has {len(listed):,} {noun}; the maximum is {most:,}"
    if depth_exceeds(result, MOST_DEPTH, MOST_VALUES):
        return f"its answer is nested more than {MOST_DEPTH} deep, or has more than {MOST_VALUES:,} values"
    return ""
