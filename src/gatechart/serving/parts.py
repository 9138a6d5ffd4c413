"""Lists that may be longer than one answer: as many of their entries as fit into its bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic_core import to_json

from gatechart.api import Call, Document, FindCall, HandoffsCall, HistoryCall, MailCall, Performer, perform
from gatechart.api.routes import PARTS

_FIRST: Final = 8  # entries that are read before anybody knows how large they are


def is_list(call: Call) -> bool:
    """Whether its answer is a list of which a part may be given."""
    return isinstance(call, FindCall | HandoffsCall | HistoryCall | MailCall)


async def answer_part(host: Performer, call: Call, most_bytes: int) -> bytes:
    """The JSON text of the answer, with no more entries than fit; one is given in any case.

    Its `next` is the `after` of the part behind it, null where that is all. Entries are read a few at a time, so that
    what does not fit is not read by the hundred either.
    """
    field, place = PARTS[type(call)]
    limit: int = call.limit  # type: ignore[union-attr, assignment]  # over HTTP it always has one
    texts: list[bytes] = []
    size, count, last = 0, _FIRST, None
    while len(texts) < limit:
        asked = min(count, limit - len(texts))
        entries = await _read(host, call, last, asked + 1)  # one more, which tells whether it is all
        for entry in entries[:asked]:
            text = _text(entry)
            size += len(text)
            if texts and size > most_bytes:
                return _joined(field, texts, last)
            texts.append(text)
            last = getattr(entry, place)
        if len(entries) <= asked:
            return _joined(field, texts, None)
        count = _how_many_more(size, len(texts), most_bytes)
    return _joined(field, texts, last)


async def _read(host: Performer, call: Call, last: Any, limit: int) -> tuple[Document, ...]:
    behind: Mapping[str, Any] = {} if last is None else {"after": last}
    field, _ = PARTS[type(call)]
    part = await perform(host, call.model_copy(update={"limit": limit, **behind}))
    return cast("tuple[Document, ...]", getattr(part, field))


def _text(entry: Document) -> bytes:
    return entry.__pydantic_serializer__.to_json(entry)


def _how_many_more(size: int, count: int, most_bytes: int) -> int:
    """How many entries to read next: what fits if they are as large as those before, and at most as many again."""
    fits = (most_bytes - size) * count // max(size, 1)
    return max(1, min(fits, count))


def _joined(field: str, texts: list[bytes], following: int | str | None) -> bytes:
    return b'{"%b":[%b],"next":%b}' % (field.encode(), b",".join(texts), to_json(following))
