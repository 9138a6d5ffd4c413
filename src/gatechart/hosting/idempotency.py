"""Idempotency: repeated calls with the same id take effect only once."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final, TypeAlias

from gatechart.context import canonical_json
from gatechart.errors.event import EventIdReusedError
from gatechart.ports import Store
from gatechart.values.agents import Event
from gatechart.values.handoffs import HandoffQuery, HandoffRecord, HandoffStatus
from gatechart.values.names import HIGHEST_NUMBER, AgentId
from gatechart.values.queries import HistoryEntry

AppliedIds: TypeAlias = AbstractSet[int]  # hashes of the ids of all events that an agent has applied
MOST_APPLIED_IDS: Final = 128  # kept in memory per agent: a few kilobytes


def with_id(applied: AppliedIds | None, event_id: str | None) -> AppliedIds | None:
    """Add an id and return the ids; None if the ids are not all known, or are too many to keep.

    >>> with_id(with_id(frozenset(), "a"), None) == {hash("a")}, with_id(None, "a")
    (True, None)
    """
    if applied is None or event_id is None:
        return applied
    return applied | {hash(event_id)} if len(applied) < MOST_APPLIED_IDS else None


def may_be_applied(applied: AppliedIds | None, event_id: str) -> bool:
    """Return whether the agent may have applied the event with this id, so that the store must be queried."""
    return applied is None or hash(event_id) in applied


async def turn_of(store: Store, agent_id: AgentId, event: Event) -> HistoryEntry | None:
    """Return the turn that applied this event under its id; None if the agent did not apply it, or it has no id.

    Raises EventIdReusedError if the id belongs to another event.
    """
    entry = None if event.id is None else await store.applied(agent_id, event.id)
    if entry is None or event.id is None:
        return None
    if entry.event.name != event.name or canonical_json(entry.event.payload) != canonical_json(event.payload):
        raise EventIdReusedError(agent_id, event.id, entry.event.name)
    return entry


async def request_of(store: Store, turn: HistoryEntry) -> str:
    """Return the request id of the handoff offered in a turn: the id of its first attempt."""
    records = await store.handoffs(HandoffQuery(source=turn.agent_id, limit=HIGHEST_NUMBER))
    return next(record.request for record in records if record.changes[0].time == turn.event.time)


async def is_withdrawn(store: Store, record: HandoffRecord, reason: str, idempotency_key: str) -> bool:
    """Return whether this call withdrew a handoff that is now closed."""
    if record.status is HandoffStatus.CANCELLED and record.changes[-1].details == reason:
        return True
    return await store.applied(record.target, idempotency_key) is not None
