"""Recorded histories as tests of a new version of a graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from gatechart.graph.graph import AnyGraph
from gatechart.handoff.reading import PacketMigration
from gatechart.hosting.replay import Replay
from gatechart.ports import Store
from gatechart.stores.opening import open_store
from gatechart.values.delays import Delay, seconds_in
from gatechart.values.homes import Role
from gatechart.values.names import AgentId
from gatechart.values.replays import Fidelity, ReplayedTurn

_MOST_TOLD: Final = 20


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """The result of replayed histories. `str` of it describes the first turns that are not the same."""

    agents: int
    same: int  # turns
    skipped: int  # turns not decided by a graph, or stored incompletely
    turns: tuple[ReplayedTurn, ...]  # turns that differ, or are unclear
    effects_unknown: int = 0  # turns whose effects could not be compared

    @property
    def differing(self) -> tuple[ReplayedTurn, ...]:
        """The turns with another result in the new version."""
        return tuple(each for each in self.turns if each.fidelity is Fidelity.DIFFERS)

    def __str__(self) -> str:
        played = self.same + len(self.turns)
        lines = [f"{len(self.turns)} of {played} turns of {self.agents} agents are not the same"]
        lines += [f"  {each}" for each in self.turns[:_MOST_TOLD]]
        rest = len(self.turns) - _MOST_TOLD
        return "\n".join([*lines, *([f"  and {rest} more"] if rest > 0 else [])])


async def replay(
    store: str | Store,
    graph: AnyGraph,
    *,
    recorded: Sequence[AnyGraph] | AnyGraph = (),
    since: datetime | Delay | None = None,
    agents: Sequence[AgentId] = (),
    limit: int | None = None,
    services: Any = None,
    packet_migrations: Sequence[PacketMigration] = (),
) -> ReplayReport:
    """Replay the recorded histories of a graph's agents with this version: `assert not report.turns, report`.

    Nothing is written, sent or invoked. Each turn starts from its recorded snapshot, migrated to this version if it has
    migrations, with the event, time and ids of the record.

    store: a URL, as for `Runtime.open`, or a Store; it is only read, also beside its owner.
    recorded: earlier versions of the graph. Effects are compared if the version that made the record is among them.
    since: only turns from this moment on, or as old as this duration at most. agents: only these.
    limit: the highest number of agents, in the order started.
    services: stand-ins for the services of actions; without them, an action that uses its services fails.

    Raises as `Runtime.open` does for a reader, UnknownAgentError, and PayloadError for an agent of another graph.
    """
    versions = tuple(recorded) if isinstance(recorded, Sequence) else (recorded,)
    moment = since if since is None or isinstance(since, datetime) else _before_now(since)
    counts: Counter[Fidelity] = Counter()
    turns: list[ReplayedTurn] = []
    seen = unknown = 0
    async with open_store(store, role=Role.READER) as opened:
        played = Replay(opened, graph, versions, services=services, packet_migrations=packet_migrations)
        async for agent in played.agents(agents, limit):
            seen += 1
            async for turn in played.turns(agent, moment):
                counts[turn.fidelity] += 1
                unknown += turn.fidelity is not Fidelity.SKIPPED and not turn.effects_known
                if turn.fidelity in (Fidelity.DIFFERS, Fidelity.UNCLEAR):
                    turns.append(turn)
    return ReplayReport(seen, counts[Fidelity.SAME], counts[Fidelity.SKIPPED], tuple(turns), unknown)


def _before_now(age: Delay) -> datetime:
    return datetime.now(UTC) - timedelta(seconds=seconds_in(age))
