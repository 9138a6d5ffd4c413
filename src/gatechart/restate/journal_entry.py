"""Results of journaled runs, as the bytes that the engine keeps."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from pydantic_core import to_json

Order: TypeAlias = dict[str, Any]
"""An order to the object, by its `do`:
deliver (mail, to)  ·  wake (number, after_s)  ·  call (running, steps)  ·  cancel (engine_id)  ·  project (after_s)  ·
postpone (argument, after_s)  ·  release (graph, handoff)  ·  forget  ·  unproject  ·  clear (first, last)  ·
drain (after_s)
"""

_EMPTY: Final = b""
_PARTS: Final = 4


@dataclass(slots=True)
class JournalEntry:
    """The result of a run: what to store, what to do, and what to answer. A part that is None is unchanged."""

    state: bytes | None = None
    ids: bytes | None = None
    turns: list[tuple[int, bytes]] = field(default_factory=list)  # turns committed in this run, with their versions
    orders: list[Order] = field(default_factory=list)
    answer: Any = None  # JSON values
    following: str = ""  # verb of the next run in this invocation; empty for none
    wait_s: float = 0.0  # pause before the next run
    waits_for: int = 0  # mail whose next attempt is awaited, by number; 0 in journals of older releases
    place: dict[str, Any] | None = None  # slot to reserve before this run is repeated
    needs: list[int] = field(default_factory=list)  # mail whose payload must be read before this run is repeated
    payloads: list[tuple[int, bytes]] = field(
        default_factory=list
    )  # payloads to set aside, by the number of their mail
    cleared: list[int] = field(default_factory=list)  # mail whose payload can be deleted

    def packed(self) -> bytes:
        """Pack the entry as bytes: one line of JSON per part, because JSON text has no line breaks."""
        head = {
            "orders": self.orders,
            "answer": self.answer,
            "following": self.following,
            "wait_s": self.wait_s,
            "waits_for": self.waits_for,
            "place": self.place,
            "versions": [version for version, _ in self.turns],
        }
        # Only when present, so that most entries stay as small as they were before payloads could be set aside.
        numbers = [number for number, _ in self.payloads]
        head |= {name: of for name, of in (("needs", self.needs), ("cleared", self.cleared), ("large", numbers)) if of}
        texts = [text for _, text in (*self.turns, *self.payloads)]
        return b"\n".join((to_json(head, inf_nan_mode="constants"), self.state or _EMPTY, self.ids or _EMPTY, *texts))


def unpacked(text: bytes) -> JournalEntry:
    """Unpack an entry."""
    head, state, ids, *texts = bytes(text).split(b"\n")
    told = json.loads(head)
    versions: list[int] = told.pop("versions")
    numbers: list[int] = told.pop("large", [])
    turns = list(zip(versions, texts[: len(versions)], strict=True))
    told["payloads"] = list(zip(numbers, texts[len(versions) :], strict=True))
    return JournalEntry(state or None, ids or None, turns, **told)
