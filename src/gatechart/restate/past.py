"""The past of an agent in a store, as a digest that can be compared with another store's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, Final

from pydantic import TypeAdapter

from gatechart.context import canonical_json
from gatechart.errors import UnknownAgentError
from gatechart.ports import Store
from gatechart.restate.kept import SNAPSHOT, plain
from gatechart.values import AgentId, HandoffQuery, HandoffRecord, HistoryEntry

PAGE: Final = 500

_ENTRY: Final = TypeAdapter(HistoryEntry)
_HANDOFF: Final = TypeAdapter(HandoffRecord)


async def past_of(store: Store, agent_id: AgentId, after: int) -> dict[str, Any]:
    """How many turns above a version the store has, and a digest of them, the newest snapshot and the handoffs."""
    digest, turns, last = sha256(), 0, after
    try:
        newest = await store.load(agent_id)
    except UnknownAgentError:
        return {"turns": 0, "digest": ""}
    while found := await store.history(agent_id, after=last, limit=PAGE):
        for entry in found:
            digest.update(_told(entry, is_first=entry.version == after + 1))
        turns, last = turns + len(found), found[-1].version
    digest.update(canonical_json(plain(SNAPSHOT, newest)).encode(errors="replace"))
    for each in sorted(await handoffs_of(store, agent_id), key=lambda each: each.id):
        digest.update(canonical_json(plain(_HANDOFF, replace(each, number=0))).encode(errors="replace"))
    return {"turns": turns, "digest": digest.hexdigest()}


async def handoffs_of(store: Store, agent_id: AgentId) -> Sequence[HandoffRecord]:
    """All handoffs that the agent asked for, in the order offered."""
    found: list[HandoffRecord] = []
    while page := await store.handoffs(HandoffQuery(source=agent_id, after=found[-1].number if found else 0)):
        found += page
    return found


def _told(entry: HistoryEntry, *, is_first: bool) -> bytes:
    """An entry as bytes. What differs from the turn before is not known of the first."""
    told = plain(_ENTRY, replace(entry, changed={}, appended={}) if is_first else entry)
    del told["source"]  # the target of the turn before, where that is known
    return canonical_json(told).encode(errors="replace")
