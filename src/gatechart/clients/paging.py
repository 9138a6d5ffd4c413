"""Answers that are longer than a server gives at once: asked for part by part."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from gatechart.api import Call, Document
from gatechart.api.routes import MOST, PARTS

D = TypeVar("D", bound=Document)


def is_paged(call: Call) -> bool:
    """Whether a server may give less at once than it asks for."""
    return type(call) in PARTS


async def paged(ask: Callable[[Any, type[D]], Awaitable[D]], call: Call, answer: type[D]) -> D:
    """The whole answer, of as many parts as it takes."""
    field, _ = PARTS[type(call)]
    left: int | None = getattr(call, "limit", None)
    found: list[Any] = []
    while True:
        most = MOST if left is None else min(left, MOST)
        part: Any = await ask(call.model_copy(update={"limit": most}), answer)
        entries = getattr(part, field)
        found += entries
        left = None if left is None else left - len(entries)
        if part.next is None or left == 0:
            return part.model_copy(update={field: tuple(found)})  # type: ignore[no-any-return]
        call = call.model_copy(update={"after": part.next})
