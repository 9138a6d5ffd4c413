"""Paging: lists longer than one answer of the server, fetched page by page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from gatechart.api import Command
from gatechart.api.routes import MOST, PARTS


def is_paged(command: Command) -> bool:
    """Return whether the server may return less at once than the command asks for."""
    return type(command) in PARTS


async def paged(ask: Callable[[Any], Awaitable[Any]], command: Command) -> Any:
    """Return the whole answer, fetched in as many pages as needed."""
    field, _ = PARTS[type(command)]
    left: int | None = getattr(command, "limit", None)
    found: list[Any] = []
    while True:
        most = MOST if left is None else min(left, MOST)
        part = await ask(command.model_copy(update={"limit": most}))
        entries = getattr(part, field)
        found += entries
        left = None if left is None else left - len(entries)
        if part.next is None or left == 0:
            return part.model_copy(update={field: tuple(found)})
        command = command.model_copy(update={"after": part.next})
