"""Parser of server-sent events."""

from __future__ import annotations

from collections.abc import AsyncIterator

from gatechart.values.frozen import value


@value
class Told:
    """One event: its name, its data, and the place in the stream after it."""

    kind: str = ""
    data: bytes = b""
    id: str = ""


async def told_events(parts: AsyncIterator[bytes]) -> AsyncIterator[Told]:
    """Yield the events in a stream of parts of any size. Heartbeats are skipped."""
    rest = b""
    async for part in parts:
        *blocks, rest = (rest + part).split(b"\n\n")
        for block in blocks:
            told = _told(block)
            if told != Told():
                yield told


def _told(block: bytes) -> Told:
    fields = dict(line.split(b": ", 1) for line in block.split(b"\n") if b": " in line)
    return Told(fields.get(b"event", b"").decode(), fields.get(b"data", b""), fields.get(b"id", b"").decode())
