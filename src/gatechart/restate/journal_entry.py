"""What a journaled run comes to, as the bytes that the engine keeps of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from pydantic_core import to_json

Order: TypeAlias = dict[str, Any]
"""What the object is to do, by its `do`:

deliver (mail, to)  ·  wake (number, after_s)  ·  call (running, steps)  ·  cancel (engine_id)  ·  project (after_s)  ·
postpone (argument, after_s)  ·  release (graph, handoff)  ·  forget  ·  unproject  ·  clear (first, last)  ·
drain (after_s)
"""

_EMPTY: Final = b""
_PARTS: Final = 4


@dataclass(slots=True)
class JournalEntry:
    """What is to be kept, what is to be done, and what is answered. A part that is None stays as it is."""

    state: bytes | None = None
    ids: bytes | None = None
    turns: list[tuple[int, bytes]] = field(default_factory=list)  # committed in this run, with their versions
    orders: list[Order] = field(default_factory=list)
    answer: Any = None  # JSON values
    following: str = ""  # the verb of the run that comes next in this invocation; none where empty
    wait_s: float = 0.0  # before it
    waits_for: int = 0  # the number of the mail whose next attempt that is; 0 in journals in which no wait can be ended
    place: dict[str, Any] | None = None  # a place that is to be asked for before this run is begun anew
    needs: list[int] = field(default_factory=list)  # mail whose payload is to be read before this run is begun anew
    payloads: list[tuple[int, bytes]] = field(default_factory=list)  # to be set aside, by the number of their mail
    cleared: list[int] = field(default_factory=list)  # mail whose payload need not be kept any more

    def packed(self) -> bytes:
        """As bytes: one line of JSON for each part, for JSON text has no line breaks of its own."""
        head = {
            "orders": self.orders,
            "answer": self.answer,
            "following": self.following,
            "wait_s": self.wait_s,
            "waits_for": self.waits_for,
            "place": self.place,
            "versions": [version for version, _ in self.turns],
        }
        # Only where there are any, so that most entries are as small as those of before payloads were set aside.
        numbers = [number for number, _ in self.payloads]
        head |= {name: of for name, of in (("needs", self.needs), ("cleared", self.cleared), ("large", numbers)) if of}
        texts = [text for _, text in (*self.turns, *self.payloads)]
        return b"\n".join((to_json(head, inf_nan_mode="constants"), self.state or _EMPTY, self.ids or _EMPTY, *texts))


def unpacked(text: bytes) -> JournalEntry:
    """What was packed."""
    head, state, ids, *texts = bytes(text).split(b"\n")
    told = json.loads(head)
    versions: list[int] = told.pop("versions")
    numbers: list[int] = told.pop("large", [])
    turns = list(zip(versions, texts[: len(versions)], strict=True))
    told["payloads"] = list(zip(numbers, texts[len(versions) :], strict=True))
    return JournalEntry(state or None, ids or None, turns, **told)
