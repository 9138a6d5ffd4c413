"""What a database has of an agent, as an engine keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gatechart.handoff import is_open
from gatechart.restate.arriving import digest_of_agent
from gatechart.restate.kept import IDS, KEPT, Applied, Ids, Kept, Turn, UnderWay, digest_of, plain
from gatechart.stores.sql.export import Departing
from gatechart.values import AgentId, HandoffRecord, HistoryEntry, Snapshot

PAGE_BYTES: Final = 1_000_000  # of turns that travel together, about


@dataclass(frozen=True, slots=True)
class Luggage:
    """An agent as it travels."""

    agent_id: AgentId
    kept: Kept
    ids: Ids
    digest: str

    def told(self) -> dict[str, Any]:
        """As the engine's object takes it in."""
        return {"kept": plain(KEPT, self.kept), "ids": plain(IDS, self.ids)}

    def size(self) -> int:
        """Bytes that each event of the agent brings along."""
        return len(KEPT.dump_json(self.kept)) + len(IDS.dump_json(self.ids))

    def snapshot_size(self) -> int:
        """Bytes of the snapshot alone, which every turn writes."""
        return len(KEPT.dump_json(Kept(snapshot=self.kept.snapshot)))


def packed(departing: Departing, keep: int) -> Luggage:
    """The agent with all that it needs to go on. keep: handoffs that are over and still known, of each agent."""
    snapshot = departing.snapshot
    over = [handoff for handoff, status in departing.offers if not is_open(status)]
    old = frozenset(over[:-keep])
    kept = Kept(
        snapshot=snapshot,
        mail=list(departing.mail),
        calls=[UnderWay(running, steps=dict(steps)) for running, steps in departing.calls],
        numbers=max((each.number for each in departing.mail), default=0) + 1,
        offers={handoff: status for handoff, status in departing.offers if handoff not in old},
        places=dict(departing.places),
        projected=0 if snapshot is None else snapshot.version,
    )
    ids = {entry.event.id: _applied(entry) for entry in departing.applied if entry.event.id is not None}
    return Luggage(departing.agent_id, kept, ids, digest_of_agent(kept, ids))


def _applied(entry: HistoryEntry) -> Applied:
    return Applied(digest_of(entry.event.name, entry.event.payload), entry.event.name, entry.outcome)


def as_turns(
    found: Sequence[tuple[Snapshot, HistoryEntry]], handoffs: Mapping[int, tuple[HandoffRecord, ...]]
) -> list[Turn]:
    """Turns as the projection takes them. handoffs: with which version which go along."""
    return [
        Turn(snapshot, entry.event, entry.taken, entry.took_us, entry.guard_errors, handoffs.get(entry.version, ()))
        for snapshot, entry in found
    ]
