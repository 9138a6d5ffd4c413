"""Answers that are longer than a server gives at once: asked for part by part."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from gatechart.wire import Call, Document, FindCall, HandoffsCall, HistoryCall, MailCall
from gatechart.wire.ways import MOST

D = TypeVar("D", bound=Document)

_PARTS: Final = {  # the field of the answer, and what of its last entry the next part begins behind
    FindCall: ("agents", "agent_id"),
    HistoryCall: ("history", "version"),
    MailCall: ("mail", "number"),
    HandoffsCall: ("handoffs", "number"),
}


def is_paged(call: Call) -> bool:
    """Whether it asks for more than a server gives at once."""
    return isinstance(call, FindCall | HistoryCall | MailCall | HandoffsCall) and (
        call.limit is None or call.limit > MOST
    )


async def paged(ask: Callable[[Any, type[D]], Awaitable[D]], call: Call, answer: type[D]) -> D:
    """The whole answer, of as many parts as it takes."""
    field, behind = _PARTS[type(call)]
    left: int | None = getattr(call, "limit", None)
    found: list[Any] = []
    while True:
        most = MOST if left is None else min(left, MOST)
        part = await ask(call.model_copy(update={"limit": most}), answer)
        entries = getattr(part, field)
        found += entries
        left = None if left is None else left - len(entries)
        if len(entries) < most or left == 0:
            return part.model_copy(update={field: tuple(found)})
        call = call.model_copy(update={"after": getattr(entries[-1], behind)})
