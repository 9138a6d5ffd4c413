"""The reference store: everything in memory, nothing kept. What it does, every other store does too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime
from heapq import nsmallest
from itertools import islice
from typing import assert_never

from gatechart.context import canonical_json
from gatechart.errors import UnknownAgentError, UnknownVersionError
from gatechart.stores.entries import entry_of
from gatechart.stores.handoffs import Handoffs
from gatechart.stores.memory_requests import WaitingRoom
from gatechart.stores.pending import Pending
from gatechart.stores.refusing import refused_for_its_id
from gatechart.stores.retention import droppable, is_mail_to_forget, may_be_erased
from gatechart.turn import own_copy
from gatechart.values import (
    ActiveIn,
    ActiveInvocation,
    AgentId,
    Answer,
    Backlog,
    EventName,
    HandoffQuery,
    HandoffRecord,
    HistoryEntry,
    Invocation,
    KnownGraph,
    Mail,
    MailChange,
    MailEnd,
    MailQuery,
    MailStatus,
    Page,
    Payload,
    Posting,
    Pruned,
    Pruning,
    Query,
    Report,
    ReserveSlot,
    Snapshot,
    Status,
    StepRecord,
    StoreTask,
    TurnRecord,
    Unit,
    Verdict,
    check_units,
)


class MemoryStore:
    """Keeps agents for as long as the process lives."""

    is_durable = False
    is_instant = True

    def __init__(self) -> None:
        self._turns: dict[AgentId, list[TurnRecord]] = {}
        self._applied: dict[tuple[AgentId, str], int] = {}  # to the version of the turn
        self._pending = Pending()
        self._handoffs = Handoffs()
        self._graphs: dict[str, KnownGraph] = {}
        self._numbers = 1  # the next
        self.requests = WaitingRoom()

    def numbers(self, count: int) -> int:
        """See Store."""
        self._numbers += count
        return self._numbers - count

    async def load(self, agent_id: AgentId) -> Snapshot:
        """See Store."""
        return self._turns_of(agent_id)[-1].snapshot

    async def load_many(self, agent_ids: Sequence[AgentId]) -> Sequence[Snapshot]:
        """See Store."""
        return [self._turns[agent_id][-1].snapshot for agent_id in agent_ids if agent_id in self._turns]

    async def commit(self, units: Sequence[Unit]) -> Sequence[Verdict]:
        """See Store."""
        if len(units) == 1 and isinstance(units[0], TurnRecord) and not units[0].effects:
            return [self._commit_turn(units[0])]
        check_units(units)
        turns = {place: unit for place, unit in enumerate(units) if isinstance(unit, TurnRecord)}
        verdicts = {place: self._commit_turn(turn) for place, turn in turns.items()}
        for place, turn in turns.items():
            if turn.effects and verdicts[place] is Verdict.COMMITTED:
                for mail in turn.mail:
                    self._send(mail)
        return [
            verdicts[place] if isinstance(unit, TurnRecord) else self._take(unit) for place, unit in enumerate(units)
        ]

    async def applied(self, agent_id: AgentId, event_id: str) -> HistoryEntry | None:
        """See Store."""
        version = self._applied.get((agent_id, event_id))
        return None if version is None else _entry(self._turn(agent_id, version))

    async def history(self, agent_id: AgentId, *, after: int = 0, limit: int | None = None) -> Sequence[HistoryEntry]:
        """See Store."""
        turns = self._turns_of(agent_id)
        later = islice(turns, max(after - _oldest(turns) + 1, 0), None)
        return [_entry(turn) for turn in islice(later, limit)]

    async def snapshot_at(self, agent_id: AgentId, version: int) -> Snapshot:
        """See Store."""
        turns = self._turns_of(agent_id)
        newest = turns[-1].snapshot.version
        if not _oldest(turns) <= version <= newest:
            raise UnknownVersionError(agent_id, version, _oldest(turns), newest)
        return self._turn(agent_id, version).snapshot

    async def find(self, query: Query) -> Page:
        """See Store."""
        if query.after is not None:
            self._turns_of(query.after)
        first = 0 if query.after is None else list(self._turns).index(query.after) + 1
        newest = (turns[-1].snapshot for turns in islice(self._turns.values(), first, None))
        found = list(islice((snapshot for snapshot in newest if _matches(snapshot, query)), query.limit + 1))
        page = tuple(found[: query.limit])
        return Page(page, page[-1].agent_id if len(found) > query.limit else None)

    async def mail(self, query: MailQuery) -> Sequence[Mail]:
        """See Store."""
        found = (
            mail
            for mail in self._pending.mail()
            if mail.number > query.after
            and query.recipient in (None, mail.recipient)
            and query.status in (None, mail.status)
        )
        return list(islice(found, query.limit))

    async def waiting(self, *, after: int, limit: int) -> Sequence[Mail]:
        """See Store."""
        found = (mail for mail in self._pending.mail() if mail.number > after and mail.due is None and _waits(mail))
        return list(islice(found, limit))

    async def due(self, *, after: tuple[datetime, int], limit: int) -> Sequence[Mail]:
        """See Store."""
        timed = [
            (mail.due, mail.number, mail) for mail in self._pending.mail() if mail.due is not None and _waits(mail)
        ]
        later = [each for each in timed if each[:2] > after]
        return [mail for _, _, mail in nsmallest(limit, later)]

    async def count(self, backlog: Backlog, *, most: int) -> int:
        """See Store."""
        posted = (mail for mail in self._pending.mail() if mail.sender is None and _waits(mail))
        if backlog is Backlog.UNCLAIMED:
            found = (mail for mail in posted if mail.recipient not in self._turns)
        else:
            found = (mail for mail in posted if mail.due is not None)
        return sum(1 for _ in islice(found, most))

    async def running(
        self, *, agent_id: AgentId | None = None, after: int, limit: int
    ) -> Sequence[tuple[int, ActiveInvocation]]:
        """See Store."""
        calls = enumerate(map(self._as_of_now, self._pending.calls()), start=1)
        found = ((place, each) for place, each in calls if agent_id in (None, each.invocation.agent_id))
        return [each for each in found if each[0] > after][:limit]

    def _as_of_now(self, running: ActiveInvocation) -> ActiveInvocation:
        """The invocation, as it goes on: with the version of the graph that its agent has."""
        now = self._turns[running.invocation.agent_id][-1].snapshot
        return replace(running, graph=now.graph, graph_version=now.graph_version)

    async def steps(self, invocation: Invocation) -> Mapping[str, str]:
        """See Store."""
        return self._pending.steps(invocation)

    async def handoffs(self, query: HandoffQuery) -> Sequence[HandoffRecord]:
        """See Store."""
        return self._handoffs.find(query)

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
        turns = self._turns_of(agent_id)
        now = turns[-1].snapshot
        if (now.handoffs and now.status is Status.ACTIVE) or self._handoffs.is_offered(agent_id):
            return False
        self._drop(agent_id, turns)
        del self._turns[agent_id]
        self._pending.forget(agent_id)
        self._handoffs.forget(agent_id)
        self.requests.empty_answers(agent_id)
        return True

    async def prune(self, pruning: Pruning, *, after: int = 0, limit: int = 100, dry_run: bool = False) -> Pruned:
        """See Store. `after` counts the agents that were looked at and are still there."""
        part = list(islice(self._turns, after, after + limit))
        awaited = {mail.recipient for mail in self._pending.mail() if _waits(mail)} | self._handoffs.at_work()
        erased = [each for each in part if self._may_be_erased(each, awaited, pruning)]
        dropped = {each: droppable(self._turns[each], pruning) for each in part if each not in erased}
        if not dry_run:
            await self._forget(erased, dropped)
        reached = after + len(part if dry_run else dropped)
        if reached < len(self._turns):
            return Pruned(tuple(erased), sum(dropped.values()), 0, reached)
        mail = self._mail_to_forget(awaited, pruning)
        for number in () if dry_run else mail:
            self._pending.take(number)
        return Pruned(tuple(erased), sum(dropped.values()), len(mail), None)

    async def _forget(self, erased: Sequence[AgentId], dropped: Mapping[AgentId, int]) -> None:
        for agent_id in erased:
            await self.erase(agent_id)
        for agent_id, count in dropped.items():
            turns = self._turns[agent_id]
            self._drop(agent_id, turns[:count])
            del turns[:count]

    def _may_be_erased(self, agent_id: AgentId, awaited: Set[AgentId], pruning: Pruning) -> bool:
        """awaited: the agents for which mail waits, or that have a part in an open handoff."""
        turns = self._turns.get(agent_id)
        return turns is not None and agent_id not in awaited and may_be_erased(turns, pruning)

    def _mail_to_forget(self, awaited: Set[AgentId], pruning: Pruning) -> Sequence[int]:
        """Not what goes with its agent."""
        old = [mail for mail in self._pending.mail() if is_mail_to_forget(mail, pruning)]
        return [mail.number for mail in old if not self._may_be_erased(mail.recipient, awaited, pruning)]

    def _drop(self, agent_id: AgentId, turns: Sequence[TurnRecord]) -> None:
        """Forgets the ids of turns that are forgotten."""
        for turn in turns:
            if turn.event.id is not None:
                del self._applied[agent_id, turn.event.id]

    def _turn(self, agent_id: AgentId, version: int) -> TurnRecord:
        turns = self._turns[agent_id]
        return turns[version - _oldest(turns)]

    def _turns_of(self, agent_id: AgentId) -> list[TurnRecord]:
        try:
            return self._turns[agent_id]
        except KeyError:
            raise UnknownAgentError(agent_id) from None

    def _take(self, errand: StoreTask) -> Verdict:
        match errand:
            case Posting(mail):
                return self._post(mail)
            case MailChange():
                return self._change(errand)
            case MailEnd(number):
                return Verdict.STALE if self._pending.take(number) is None else Verdict.COMMITTED
            case StepRecord():
                return self._pending.record(errand)
            case Report():
                return self._pending.report(errand)
            case Answer():
                return self._answer(errand)
            case ReserveSlot():
                return self._handoffs.reserve(errand)
            case _:
                assert_never(errand)

    def _commit_turn(self, turn: TurnRecord) -> Verdict:
        agent_id = turn.snapshot.agent_id
        turns = self._turns.get(agent_id)
        standing = turns[-1].snapshot.version if turns else 0
        if standing != (turn.previous.version if turn.previous else 0):
            return Verdict.STALE
        if turn.consumes is not None and not self._is_waiting(turn.consumes):
            return Verdict.STALE
        if turn.effects and not self._handoffs.takes(turn):
            return Verdict.STALE
        if turn.consumes is not None:
            self._pending.take(turn.consumes)
        if turns is None:
            self._turns[agent_id] = [turn]
        else:
            turns.append(turn)
        if turn.event.id is not None:
            self._applied[agent_id, turn.event.id] = turn.snapshot.version
        if turn.effects:
            self._pending.carry_out(turn)
        return Verdict.COMMITTED

    def _is_waiting(self, number: int) -> bool:
        mail = self._pending.numbered(number)
        return mail is not None and _waits(mail)

    def _answer(self, answer: Answer) -> Verdict:
        if not self._is_waiting(answer.consumes) or not self._handoffs.settle(answer.settle, answer.time):
            return Verdict.STALE
        self._pending.take(answer.consumes)
        self._pending.put(answer.reply)
        return Verdict.COMMITTED

    def _send(self, mail: Mail) -> None:
        before = None if mail.id is None else self._content_of(mail.recipient, mail.id)
        if before is None:
            self._pending.put(mail)
        elif before != _content(mail.event, mail.payload):
            self._pending.put(refused_for_its_id(mail, before[0]))

    def _post(self, mail: Mail) -> Verdict:
        before = None if mail.id is None else self._content_of(mail.recipient, mail.id)
        if before is None:
            self._pending.put(mail)
            return Verdict.COMMITTED
        return Verdict.REPEATED if before == _content(mail.event, mail.payload) else Verdict.REUSED

    def _change(self, change: MailChange) -> Verdict:
        mail, before = change.mail, self._pending.numbered(change.mail.number)
        if before is None or (change.raises is not None and not _waits(before)):
            return Verdict.STALE
        if _waits(mail) and not _waits(before):
            return self._post(mail)
        self._pending.put(mail)
        if change.raises is not None:
            self._pending.put(change.raises)
        return Verdict.COMMITTED

    def _content_of(self, recipient: AgentId, mail_id: str) -> tuple[EventName, str] | None:
        """What came under this id before, and waits or was applied."""
        version = self._applied.get((recipient, mail_id))
        if version is not None:
            event = self._turn(recipient, version).event
            return _content(event.name, event.payload)
        waiting = self._pending.with_id(recipient, mail_id)
        return None if waiting is None else _content(waiting.event, waiting.payload)


def _oldest(turns: Sequence[TurnRecord]) -> int:
    """The oldest version that is still known."""
    return turns[0].snapshot.version


def _content(event: EventName, payload: Payload) -> tuple[EventName, str]:
    return event, canonical_json(payload)


def _waits(mail: Mail) -> bool:
    return mail.status is MailStatus.WAITING


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
