"""The departure of agents: a database's agents, in the form that an engine stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final

from pydantic import TypeAdapter

from gatechart.context import canonical_json
from gatechart.errors.event import UnknownAgentError
from gatechart.handoff.lifecycle import is_open
from gatechart.ports import Store
from gatechart.restate.migration.arrival import digest_of_agent
from gatechart.restate.state import (
    IDS,
    SNAPSHOT,
    STATE,
    AgentState,
    Applied,
    CommittedTurn,
    Ids,
    UnderWay,
    digest_of,
    plain,
)
from gatechart.stores.sql.export import Departing
from gatechart.values.agents import Snapshot, without_trail
from gatechart.values.handoffs import HandoffQuery, HandoffRecord
from gatechart.values.names import AgentId
from gatechart.values.queries import HistoryEntry

PAGE_BYTES: Final = 1_000_000  # approximate size of turns that travel together


@dataclass(frozen=True, slots=True)
class Luggage:
    """An agent in transit."""

    agent_id: AgentId
    state: AgentState
    ids: Ids
    digest: str

    def told(self) -> dict[str, Any]:
        """Return the agent in the form that the engine's object accepts."""
        return {"kept": plain(STATE, self.state), "ids": plain(IDS, self.ids)}

    def size(self) -> int:
        """Return the size in bytes of the state that accompanies each event of the agent."""
        return len(STATE.dump_json(self.state)) + len(IDS.dump_json(self.ids))

    def snapshot_size(self) -> int:
        """Return the size in bytes of the snapshot alone, which every turn writes."""
        return len(STATE.dump_json(AgentState(snapshot=self.state.snapshot)))


def packed(departing: Departing, keep: int) -> Luggage:
    """Convert an agent for the engine. keep: how many ended handoffs of the agent stay known."""
    snapshot = departing.snapshot
    over = [handoff for handoff, status in departing.offers if not is_open(status)]
    old = frozenset(over[:-keep])
    state = AgentState(
        snapshot=snapshot,
        mail=list(departing.mail),
        calls=[UnderWay(running, steps=dict(steps)) for running, steps in departing.calls],
        numbers=max((each.number for each in departing.mail), default=0) + 1,
        offers={handoff: status for handoff, status in departing.offers if handoff not in old},
        places=dict(departing.places),
        journals=list(departing.journals),
        projected=0 if snapshot is None else snapshot.version,
    )
    ids = {entry.event.id: _applied(entry) for entry in departing.applied if entry.event.id is not None}
    return Luggage(departing.agent_id, state, ids, digest_of_agent(state, ids))


def _applied(entry: HistoryEntry) -> Applied:
    return Applied(digest_of(entry.event.name, entry.event.payload), entry.event.name, entry.outcome)


def as_turns(
    committed: Sequence[tuple[Snapshot, HistoryEntry]], handoffs: Mapping[int, tuple[HandoffRecord, ...]]
) -> list[CommittedTurn]:
    """Convert turns for the projection. handoffs: the handoffs to send with them, by version."""
    return [
        CommittedTurn(
            snapshot,
            entry.event,
            entry.taken,
            entry.took_us,
            entry.guard_errors,
            entry.fired,
            handoffs.get(entry.version, ()),
        )
        for snapshot, entry in committed
    ]


PAGE: Final = 500

_ENTRY: Final = TypeAdapter(HistoryEntry)
_HANDOFF: Final = TypeAdapter(HandoffRecord)


async def past_of(store: Store, agent_id: AgentId, after: int) -> dict[str, Any]:
    """Count the store's turns above a version, and digest them with the newest snapshot and the handoffs."""
    digest, turns, last = sha256(), 0, after
    try:
        newest = await store.load(agent_id)
    except UnknownAgentError:
        return {"turns": 0, "digest": ""}
    while page := await store.history(agent_id, after=last, limit=PAGE):
        for entry in page:
            digest.update(_line_of(entry, is_first=entry.version == after + 1))
        turns, last = turns + len(page), page[-1].version
    newest = without_trail(newest)  # the projection stores no trail
    digest.update(canonical_json(plain(SNAPSHOT, newest)).encode(errors="replace"))
    for each in sorted(await handoffs_of(store, agent_id), key=lambda each: each.id):
        digest.update(canonical_json(plain(_HANDOFF, replace(each, number=0))).encode(errors="replace"))
    return {"turns": turns, "digest": digest.hexdigest()}


async def handoffs_of(store: Store, agent_id: AgentId) -> Sequence[HandoffRecord]:
    """Return all handoffs that the agent offered, in the order offered."""
    handoffs: list[HandoffRecord] = []
    while page := await store.handoffs(HandoffQuery(source=agent_id, after=handoffs[-1].number if handoffs else 0)):
        handoffs += page
    return handoffs


def _line_of(entry: HistoryEntry, *, is_first: bool) -> bytes:
    """Return an entry as bytes. The first one lacks its differences, because the turn before it is not known."""
    document = plain(_ENTRY, replace(entry, changed={}, appended={}) if is_first else entry)
    del document["source"]  # the target of the previous turn, which may be unknown
    return canonical_json(document).encode(errors="replace")
