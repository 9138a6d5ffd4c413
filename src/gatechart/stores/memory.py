"""The reference store: everything is in memory, nothing is durable. All other stores behave like this one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime
from heapq import nlargest, nsmallest
from itertools import islice
from typing import Final

from gatechart.errors.event import UnknownVersionError
from gatechart.stores.commit_rules import apply
from gatechart.stores.entries import entry_of
from gatechart.stores.memory_requests import MemoryRequests
from gatechart.stores.memory_search import found_page
from gatechart.stores.memory_tables import Tables, waits
from gatechart.stores.retention import droppable, is_mail_to_forget, may_be_erased
from gatechart.turn.turn_context import own_copy
from gatechart.values.agents import Snapshot, Status, without_trail
from gatechart.values.breakers import BreakerRecord
from gatechart.values.commits import Posting, TurnRecord, Unit, Verdict
from gatechart.values.framework import is_framework_id
from gatechart.values.handoffs import HandoffQuery, HandoffRecord
from gatechart.values.hosts import MOST_HOSTS, HostRecord
from gatechart.values.mail import ActiveInvocation, Backlog, Invocation, Mail
from gatechart.values.migrations import KnownGraph
from gatechart.values.names import AgentId
from gatechart.values.queries import GraphCount, HistoryEntry, MailQuery, Page, Pruned, Pruning, Query
from gatechart.values.search import Searchable

MEMORY_URL: Final = "memory:"


class MemoryStore:
    """A store that keeps agents until the process ends."""

    is_durable = False
    is_instant = True

    def __init__(self) -> None:
        self._tables = Tables()
        self._graphs: dict[str, KnownGraph] = {}
        self._searchable: dict[str, Sequence[str]] = {}  # fields by graph
        self._numbers = 1  # the next number of mail
        self.requests = MemoryRequests()
        self._hosts: dict[str, HostRecord] = {}

    def numbers(self, count: int) -> int:
        """See Store."""
        self._numbers += count
        return self._numbers - count

    async def load(self, agent_id: AgentId) -> Snapshot:
        """See Store."""
        return self._tables.turns_of(agent_id)[-1].snapshot

    async def load_many(self, agent_ids: Sequence[AgentId]) -> Sequence[Snapshot]:
        """See Store."""
        return [self._tables.turns[agent_id][-1].snapshot for agent_id in agent_ids if agent_id in self._tables.turns]

    async def commit(self, units: Sequence[Unit]) -> Sequence[Verdict]:
        """See Store."""
        at_once = self._commit_one(units[0]) if len(units) == 1 else self._commit_turns(units)
        if at_once is not None:
            return at_once
        verdicts, operations = apply(units, self._tables)
        for operation in operations:
            self._tables.apply(operation)
        return verdicts

    def _commit_one(self, unit: Unit) -> list[Verdict] | None:
        """Commit one of the most frequent units, which need no rules: a turn without effects, or mail without an id.

        Returns None for any other unit.
        """
        if isinstance(unit, TurnRecord):
            return None if unit.effects else [self._tables.take_turn(unit)]
        if isinstance(unit, Posting) and unit.mail.id is None:
            self._tables.put_mail(unit.mail)
            return [Verdict.COMMITTED]
        return None

    def _commit_turns(self, units: Sequence[Unit]) -> list[Verdict] | None:
        """Commit turns without effects, which need no rules. Returns None if there is any other unit."""
        turns = [unit for unit in units if isinstance(unit, TurnRecord) and not unit.effects]
        return [self._tables.take_turn(turn) for turn in turns] if len(turns) == len(units) else None

    async def applied(self, agent_id: AgentId, event_id: str) -> HistoryEntry | None:
        """See Store."""
        turn = self._tables.applied_turn(agent_id, event_id)
        return None if turn is None else _entry(turn)

    async def history(self, agent_id: AgentId, *, after: int = 0, limit: int | None = None) -> Sequence[HistoryEntry]:
        """See Store."""
        turns = self._tables.turns_of(agent_id)
        later = islice(turns, max(after - _oldest(turns) + 1, 0), None)
        return [_entry(turn) for turn in islice(later, limit)]

    async def snapshot_at(self, agent_id: AgentId, version: int) -> Snapshot:
        """See Store."""
        turns = self._tables.turns_of(agent_id)
        newest = turns[-1].snapshot.version
        if not _oldest(turns) <= version <= newest:
            raise UnknownVersionError(agent_id, version, _oldest(turns), newest)
        return without_trail(self._tables.turn(agent_id, version).snapshot)

    async def find(self, query: Query) -> Page:
        """See Store."""
        return found_page(self._tables, query, self._searchable)

    async def declare(self, searchable: Mapping[str, Sequence[str]]) -> bool:
        """See Store. Contexts are in memory, so nothing has to be filled."""
        self._searchable |= searchable
        return False

    async def fill(self, *, limit: int) -> bool:  # noqa: ARG002
        """See Store."""
        return False

    async def searchable(self) -> Sequence[Searchable]:
        """See Store."""
        return [
            Searchable(graph, field) for graph, fields in sorted(self._searchable.items()) for field in sorted(fields)
        ]

    async def counts(self, graph: str | None = None) -> Sequence[GraphCount]:
        """See Store."""
        newest = (turns[-1].snapshot for turns in self._tables.turns.values())
        return GraphCount.of(
            (agent.graph, agent.configuration, agent.status, 1) for agent in newest if graph in (None, agent.graph)
        )

    async def mail(self, query: MailQuery) -> Sequence[Mail]:
        """See Store."""
        letters = self._tables.all_mail() if query.recipient is None else self._tables.mail_of(query.recipient)
        found = (mail for mail in letters if mail.number > query.after and query.status in (None, mail.status))
        if query.since is not None:
            found = (mail for mail in found if mail.accepted >= query.since)
        if not query.framework:
            found = (mail for mail in found if not is_framework_id(mail.recipient))
        return list(islice(found, query.limit))

    async def waiting(self, *, after: int, limit: int) -> Sequence[Mail]:
        """See Store."""
        found = (mail for mail in self._tables.all_mail() if mail.number > after and mail.due is None and waits(mail))
        return list(islice(found, limit))

    async def due(self, *, after: tuple[datetime, int], limit: int) -> Sequence[Mail]:
        """See Store."""
        timed = [
            (mail.due, mail.number, mail) for mail in self._tables.all_mail() if mail.due is not None and waits(mail)
        ]
        later = [entry for entry in timed if entry[:2] > after]
        return [mail for _, _, mail in nsmallest(limit, later)]

    async def count(self, backlog: Backlog, *, most: int) -> int:
        """See Store."""
        posted = (mail for mail in self._tables.all_mail() if mail.sender is None and waits(mail))
        if backlog is Backlog.UNCLAIMED:
            found = (mail for mail in posted if mail.recipient not in self._tables.turns)
        else:
            found = (mail for mail in posted if mail.due is not None)
        return sum(1 for _ in islice(found, most))

    async def running(
        self, *, agent_id: AgentId | None = None, after: int, limit: int
    ) -> Sequence[tuple[int, ActiveInvocation]]:
        """See Store."""
        calls = enumerate(map(self._as_of_now, self._tables.all_active()), start=1)
        found = ((number, call) for number, call in calls if agent_id in (None, call.invocation.agent_id))
        return [(number, call) for number, call in found if number > after][:limit]

    def _as_of_now(self, running: ActiveInvocation) -> ActiveInvocation:
        """Return the invocation with the current graph and graph version of its agent."""
        now = self._tables.turns[running.invocation.agent_id][-1].snapshot
        return replace(running, graph=now.graph, graph_version=now.graph_version)

    async def steps(self, invocation: Invocation) -> Mapping[str, str]:
        """See Store."""
        return self._tables.steps(invocation)

    async def journal(self, agent_id: AgentId, name: str) -> Mapping[str, str]:
        """See Store."""
        return self._tables.journal(agent_id, name)

    async def handoffs(self, query: HandoffQuery) -> Sequence[HandoffRecord]:
        """See Store."""
        return self._tables.find_handoffs(query)

    async def held(self) -> Mapping[str, int]:
        """See Store."""
        return self._tables.held()

    async def breakers(self) -> Sequence[BreakerRecord]:
        """See Store."""
        return [breaker for _, breaker in sorted(self._tables.breakers.items())]

    async def beat(self, host: HostRecord, *, forget_before: datetime) -> None:
        """See SignsOfLife."""
        others = [other for other in self._hosts.values() if other.id != host.id and other.seen >= forget_before]
        newest = nlargest(MOST_HOSTS, [*others, host], key=lambda known: known.seen)
        self._hosts = {known.id: known for known in newest}

    async def leave(self, host_id: str) -> None:
        """See SignsOfLife."""
        self._hosts.pop(host_id, None)

    async def hosts(self) -> Sequence[HostRecord]:
        """See SignsOfLife."""
        return sorted(self._hosts.values(), key=lambda host: (host.started, host.id))

    async def forget_handoff(self, handoff: str) -> bool:  # noqa: ARG002
        """See Store. Every handoff can be read."""
        return False

    async def remember(self, graphs: Sequence[KnownGraph]) -> None:
        """See Store."""
        self._graphs = {graph.fingerprint: graph for graph in graphs} | self._graphs

    async def known_graph(self, fingerprint: str) -> KnownGraph | None:
        """See Store."""
        return self._graphs.get(fingerprint)

    async def erase(self, agent_id: AgentId) -> bool:
        """See Store."""
        now = self._tables.turns_of(agent_id)[-1].snapshot
        if (now.handoffs and now.status is Status.ACTIVE) or self._tables.is_offered(agent_id):
            return False
        self._tables.forget(agent_id)
        self.requests.empty_answers(agent_id)
        return True

    async def prune(self, pruning: Pruning, *, after: int = 0, limit: int = 100, dry_run: bool = False) -> Pruned:
        """See Store. `after` is the number of agents that earlier parts examined and kept."""
        part = list(islice(self._tables.turns, after, after + limit))
        awaited = {
            mail.recipient for mail in self._tables.all_mail() if waits(mail)
        } | self._tables.with_open_handoffs()
        erased = [agent_id for agent_id in part if self._may_be_erased(agent_id, awaited, pruning)]
        kept = [agent_id for agent_id in part if agent_id not in erased]
        dropped = {agent_id: droppable(self._tables.turns[agent_id], pruning) for agent_id in kept}
        if not dry_run:
            await self._forget(erased, dropped)
        # Erased agents no longer count, so the next part starts after the agents of this part that stay.
        reached = after + len(part if dry_run else dropped)
        if reached < len(self._tables.turns):
            return Pruned(tuple(erased), sum(dropped.values()), 0, reached)
        mail = self._mail_to_forget(awaited, pruning)
        for number in () if dry_run else mail:
            self._tables.delete_mail(number)
        return Pruned(tuple(erased), sum(dropped.values()), len(mail), None)

    async def _forget(self, erased: Sequence[AgentId], dropped: Mapping[AgentId, int]) -> None:
        for agent_id in erased:
            await self.erase(agent_id)
        for agent_id, count in dropped.items():
            self._tables.forget_turns(agent_id, count)

    def _may_be_erased(self, agent_id: AgentId, awaited: Set[AgentId], pruning: Pruning) -> bool:
        """Whether the agent may be erased.

        awaited: the agents with waiting mail or an open handoff.
        """
        turns = self._tables.turns.get(agent_id)
        return turns is not None and agent_id not in awaited and may_be_erased(turns, pruning)

    def _mail_to_forget(self, awaited: Set[AgentId], pruning: Pruning) -> Sequence[int]:
        """Return the numbers of mail to forget, without the mail of agents that are erased."""
        old = [mail for mail in self._tables.all_mail() if is_mail_to_forget(mail, pruning)]
        return [mail.number for mail in old if not self._may_be_erased(mail.recipient, awaited, pruning)]


def _oldest(turns: Sequence[TurnRecord]) -> int:
    """Return the oldest stored version."""
    return turns[0].snapshot.version


def _entry(turn: TurnRecord) -> HistoryEntry:
    """Return a history entry with a copy of the event, so that callers cannot change the store through it."""
    return replace(entry_of(turn), event=own_copy(turn.event))
