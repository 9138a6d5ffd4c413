"""The reference store: everything in memory, nothing kept. What it does, every other store does too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from gatechart.errors import UnknownAgentError
from gatechart.stores.entries import entry_of
from gatechart.turn import own_copy
from gatechart.values import ActiveIn, AgentId, HistoryEntry, Page, Query, Snapshot, TurnRecord, Verdict


class MemoryStore:
    """Keeps agents for as long as the process lives."""

    is_durable = False
    is_instant = True

    def __init__(self) -> None:
        self._turns: dict[AgentId, list[TurnRecord]] = {}
        self._applied: dict[tuple[AgentId, str], int] = {}  # to the version of the turn

    async def load(self, agent_id: AgentId) -> Snapshot:
        """See Store."""
        return self._turns_of(agent_id)[-1].snapshot

    async def commit(self, turns: Sequence[TurnRecord]) -> Sequence[Verdict]:
        """See Store."""
        return [self._commit(turn) for turn in turns]

    async def applied(self, agent_id: AgentId, event_id: str) -> HistoryEntry | None:
        """See Store."""
        version = self._applied.get((agent_id, event_id))
        return None if version is None else _entry(self._turns[agent_id][version - 1])

    async def history(self, agent_id: AgentId, *, after: int = 0, limit: int | None = None) -> Sequence[HistoryEntry]:
        """See Store."""
        later = islice(self._turns_of(agent_id), max(after, 0), None)
        return [_entry(turn) for turn in islice(later, limit)]

    async def find(self, query: Query) -> Page:
        """See Store."""
        if query.after is not None:
            self._turns_of(query.after)
        first = 0 if query.after is None else list(self._turns).index(query.after) + 1
        newest = (turns[-1].snapshot for turns in islice(self._turns.values(), first, None))
        found = list(islice((snapshot for snapshot in newest if _matches(snapshot, query)), query.limit + 1))
        page = tuple(found[: query.limit])
        return Page(page, page[-1].agent_id if len(found) > query.limit else None)

    async def erase(self, agent_id: AgentId) -> None:
        """See Store."""
        self._turns_of(agent_id)
        del self._turns[agent_id]
        self._applied = {key: version for key, version in self._applied.items() if key[0] != agent_id}

    def _turns_of(self, agent_id: AgentId) -> list[TurnRecord]:
        try:
            return self._turns[agent_id]
        except KeyError:
            raise UnknownAgentError(agent_id) from None

    def _commit(self, turn: TurnRecord) -> Verdict:
        agent_id = turn.snapshot.agent_id
        turns = self._turns.get(agent_id)
        standing = len(turns) if turns else 0
        if standing != (turn.previous.version if turn.previous else 0):
            return Verdict.STALE
        if turns is None:
            self._turns[agent_id] = [turn]
        else:
            turns.append(turn)
        if turn.event.id is not None:
            self._applied[agent_id, turn.event.id] = turn.snapshot.version
        return Verdict.COMMITTED


def _matches(snapshot: Snapshot, query: Query) -> bool:
    return (
        query.graph in (None, snapshot.graph)
        and query.status in (None, snapshot.status)
        and (query.active is None or any(_is_active(snapshot, wanted) for wanted in query.active))
    )


def _entry(turn: TurnRecord) -> HistoryEntry:
    """The entry with an event of its own, so that nobody who writes into it changes what is stored."""
    return replace(entry_of(turn), event=own_copy(turn.event))


def _is_active(snapshot: Snapshot, wanted: ActiveIn) -> bool:
    return wanted.graph in (None, snapshot.graph) and not set(wanted.leaves).isdisjoint(snapshot.configuration)
