"""Pages of lists, bounded in bytes as well as in entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic_core import to_json

from gatechart.api import (
    AgentHome,
    Command,
    Document,
    FindCommand,
    HandoffsCommand,
    HistoryCommand,
    MailCommand,
    perform,
)
from gatechart.api.routes import PARTS

_FIRST: Final = 8  # entries to read before their size is known


def is_list(call: Command) -> bool:
    """Whether the call is answered with a list, a page at a time."""
    return isinstance(call, FindCommand | HandoffsCommand | HistoryCommand | MailCommand)


async def answer_page(host: AgentHome, call: Command, most_bytes: int) -> bytes:
    """Return the JSON of a page with as many entries as fit, and at least one if there is any.

    Its `next` is the `after` of the next page, null on the last one. Entries are read a few at a time, so that a page
    of large entries does not read hundreds of them in vain.
    """
    field, key = PARTS[type(call)]
    limit: int = call.limit  # type: ignore[union-attr, assignment]  # over HTTP it always has one
    texts: list[bytes] = []
    size, count, last = 0, _FIRST, None
    while len(texts) < limit:
        asked = min(count, limit - len(texts))
        entries = await _read(host, call, last, asked + 1)  # one more than needed tells whether this is the last page
        for entry in entries[:asked]:
            text = _text(entry)
            size += len(text)
            if texts and size > most_bytes:
                return _page(field, texts, last)
            texts.append(text)
            last = getattr(entry, key)
        if len(entries) <= asked:
            return _page(field, texts, None)
        count = _how_many_more(size, len(texts), most_bytes)
    return _page(field, texts, last)


async def _read(host: AgentHome, call: Command, last: Any, limit: int) -> tuple[Document, ...]:
    behind: Mapping[str, Any] = {} if last is None else {"after": last}
    field, _ = PARTS[type(call)]
    part = await perform(host, call.model_copy(update={"limit": limit, **behind}))
    return cast("tuple[Document, ...]", getattr(part, field))


def _text(entry: Document) -> bytes:
    return entry.__pydantic_serializer__.to_json(entry)


def _how_many_more(size: int, count: int, most_bytes: int) -> int:
    """How many entries to read next: as many as fit if they are as large as those so far, at most doubling."""
    fits = (most_bytes - size) * count // max(size, 1)
    return max(1, min(fits, count))


def _page(field: str, texts: list[bytes], following: int | str | None) -> bytes:
    return b'{"%b":[%b],"next":%b}' % (field.encode(), b",".join(texts), to_json(following))
