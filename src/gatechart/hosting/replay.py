"""Replay recorded histories in another version of their graph. Nothing is written, sent or invoked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from gatechart.errors.event import PayloadError, UnknownVersionError
from gatechart.errors.operation import IncompatibleGraphError
from gatechart.errors.outside import StoreCorruptError
from gatechart.graph.graph import AnyGraph
from gatechart.handoff.reading import PacketMigration
from gatechart.hosting.limits import Limits
from gatechart.hosting.migration import MIGRATED
from gatechart.hosting.replayed_turn import (
    RecordedTurn,
    Stage,
    differences,
    effect_differences,
    expected,
    played,
)
from gatechart.ports import Store
from gatechart.turn.handoff_turns import REQUESTED
from gatechart.turn.rollback import FORKED, ROLLED_BACK, STOPPED
from gatechart.values.agents import Snapshot, Status
from gatechart.values.commits import TurnRecord
from gatechart.values.names import TRAIL, AgentId
from gatechart.values.queries import HistoryEntry, Query
from gatechart.values.replays import Difference, Fidelity, ReplayedTurn
from gatechart.values.trail import NO_TRAIL, Trail

_RESET_TRAIL: Final = frozenset({ROLLED_BACK, FORKED})  # turns that reset the trail
# turns of operators, which the graph does not decide
_OWN: Final = frozenset({STOPPED, ROLLED_BACK, FORKED, MIGRATED, REQUESTED})
_PAGE: Final = 1000


class NoServices:
    """Replaces missing services in a replay: an action that uses them fails, so that nothing happens outside."""

    def __getattr__(self, name: str) -> Any:
        problem = f"a replay runs without services, so that nothing happens outside; pass stand-ins that have {name!r}"
        raise AttributeError(problem)

    def __getitem__(self, name: object) -> Any:
        problem = f"a replay runs without services, so that nothing happens outside; pass stand-ins that have {name!r}"
        raise LookupError(problem)

    def __contains__(self, name: object) -> bool:
        return bool(self[name])


class Replay:
    """Replays a store's histories against a graph, turn by turn.

    Each turn starts from its recorded snapshot, not from the result of the previous replayed turn. So a difference
    affects only its turn, and later turns are still compared. Time, ids and random numbers come from the record, and
    results of invokes are recorded events. Invokes do not run, and effects are only compared.

    graph: the version to try. recorded: earlier versions of it. If the version that wrote a record is among them,
    effects are compared with its effects. If that version does not reproduce the record either, the turn is unclear.
    services: stand-ins for the services that actions use; they should have no effects outside the replay.
    """

    def __init__(
        self,
        store: Store,
        graph: AnyGraph,
        recorded: Sequence[AnyGraph] = (),
        *,
        services: Any = None,
        packet_migrations: Sequence[PacketMigration] = (),
    ) -> None:
        self._store = store
        self._graph = graph
        self._recorded = [version for version in recorded if version.name == graph.name]
        self._stage = Stage(NoServices() if services is None else services, packet_migrations, Limits().turn_s)

    async def agents(self, wanted: Sequence[AgentId] = (), limit: int | None = None) -> AsyncIterator[Snapshot]:
        """Yield the agents of the graph in the order of their start, or the wanted ones; at most `limit`.

        Raises UnknownAgentError, and PayloadError for an agent of another graph.
        """
        left = limit
        async for snapshot in self._chosen(wanted) if wanted else self._all():
            if left == 0:
                return
            yield snapshot
            left = None if left is None else left - 1

    async def turns(self, agent: Snapshot, since: datetime | None = None) -> AsyncIterator[ReplayedTurn]:
        """Replay an agent's turns since this time, oldest first, and yield their results."""
        after: Snapshot | None = None
        trail: Trail | None = None  # after the turns replayed so far; None if unknown
        async for entry in self._history(agent.agent_id):
            if since is None or entry.event.time >= since:
                known = after if after is not None and after.version == entry.version - 1 else None
                turn, reason = await self._read(entry, known, trail)
                after = None if turn is None else turn.after
                if turn is None:
                    trail = NO_TRAIL if entry.event.name in _RESET_TRAIL else None
                    yield self._skipped(entry, reason)
                else:
                    replayed, got = await self._replayed(entry, turn)
                    is_known = turn.before is None or trail is not None
                    trail = got.snapshot.trail if is_known and isinstance(got, TurnRecord) else None
                    yield replace(replayed, fires=_fires(got), trail_known=is_known)

    async def _chosen(self, wanted: Sequence[AgentId]) -> AsyncIterator[Snapshot]:
        for agent_id in wanted:
            snapshot = await self._store.load(agent_id)
            if snapshot.graph != self._graph.name:
                problem = f"agent {agent_id!r} is of graph {snapshot.graph!r}"
                raise PayloadError("replay", (problem,), f"agents of {self._graph.name!r}")
            yield snapshot

    async def _all(self) -> AsyncIterator[Snapshot]:
        query = Query(self._graph.name, limit=_PAGE)
        while True:
            page = await self._store.find(query)
            for snapshot in page.agents:
                yield snapshot
            if page.next is None:
                return
            query = replace(query, after=page.next)

    async def _history(self, agent_id: AgentId) -> AsyncIterator[HistoryEntry]:
        after = 0
        while entries := await self._store.history(agent_id, after=after, limit=_PAGE):
            after = entries[-1].version
            for entry in entries:
                yield entry

    async def _read(
        self, entry: HistoryEntry, before: Snapshot | None, trail: Trail | None
    ) -> tuple[RecordedTurn | None, str]:
        """Return the recorded turn and an empty text, or None and the reason to skip the turn."""
        if entry.event.name in _OWN:
            return None, "the graph does not decide this turn"
        if entry.status is Status.UNREADABLE:
            return None, "it cannot be read"
        if entry.event.name.startswith(TRAIL) and not self._graph.has_signals:
            return None, "the graph has no signals"
        if entry.fired is not None and trail is None and entry.version > 1:
            return None, "the turns that made its signal fire were not replayed"
        with suppress(UnknownVersionError, StoreCorruptError):
            after = await self._store.snapshot_at(entry.agent_id, entry.version)
            if before is None and entry.version > 1:
                before = await self._store.snapshot_at(entry.agent_id, entry.version - 1)
            if before is not None and trail not in (None, NO_TRAIL):  # the snapshot has a trail that was reset
                before = replace(before, trail=trail)
            return RecordedTurn(before, entry.event, after), ""
        return None, "the version before it is no longer stored"

    @staticmethod
    def _skipped(entry: HistoryEntry, reason: str) -> ReplayedTurn:
        event = entry.event
        return ReplayedTurn(entry.agent_id, entry.version, event.name, event.time, Fidelity.SKIPPED, reason=reason)

    async def _replayed(self, entry: HistoryEntry, turn: RecordedTurn) -> tuple[ReplayedTurn, TurnRecord | str]:
        first = await self._repeated(turn)
        got = await played(self._stage, self._graph, turn)
        found_differences = self._compared(turn, got)
        is_repeated = first is None or (isinstance(first, TurnRecord) and not differences(turn.after, first))
        is_known = isinstance(first, TurnRecord) and is_repeated
        if isinstance(first, TurnRecord) and isinstance(got, TurnRecord) and is_known:
            found_differences += effect_differences(first, got)
        fidelity = Fidelity.SAME if not found_differences else Fidelity.DIFFERS if is_repeated else Fidelity.UNCLEAR
        event = entry.event
        is_own = _wrote(self._graph, turn.after)
        facts = entry.agent_id, entry.version, event.name, event.time
        return ReplayedTurn(*facts, fidelity, found_differences, is_known, is_own), got

    async def _repeated(self, turn: RecordedTurn) -> TurnRecord | str | None:
        """Replay the turn in the version that wrote the record; return None if that version is missing."""
        for graph in self._recorded:
            if _wrote(graph, turn.after):
                return await played(self._stage, graph, turn)
        return None

    def _compared(self, turn: RecordedTurn, got: TurnRecord | str) -> tuple[Difference, ...]:
        if isinstance(got, str):
            return (Difference("outcome", list(turn.after.configuration), got),)
        try:
            return differences(expected(self._graph, turn.after, turn.event.time), got)
        except IncompatibleGraphError as error:
            return (Difference("outcome", list(turn.after.configuration), str(error)),)


def _fires(got: TurnRecord | str) -> tuple[str, ...]:
    """Return the names of the signals that fired in a turn."""
    fired = got.fired if isinstance(got, TurnRecord) else None
    return () if fired is None else (fired.signal, *(str(other["signal"]) for other in fired.others))


def _wrote(graph: AnyGraph, after: Snapshot) -> bool:
    """Return whether a graph with this version and structure wrote a record."""
    return (graph.version, graph.fingerprint) == (after.graph_version, after.fingerprint)


def earlier(graph: AnyGraph, graphs: Sequence[AnyGraph]) -> tuple[AnyGraph, ...]:
    """Return the other versions of a graph, which may have written its records."""
    return tuple(version for version in graphs if version.name == graph.name and version is not graph)
