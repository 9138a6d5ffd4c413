"""Commands of a runtime that name an agent, mail or a handoff by id, without a handle of the agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from gatechart.api.agents import EndInvokeCommand, EraseCommand, ForkCommand, StopCommand
from gatechart.api.breakers import BreakersCommand, CloseBreakerCommand, IsolateBreakerCommand
from gatechart.api.command import Command
from gatechart.api.handoffs import CancelHandoffCommand, HandoffCommand, HandoffsCommand
from gatechart.api.history import CutCommand, HistoryCommand, JournalCommand
from gatechart.api.mail import DiscardCommand, FireTimerCommand, MailCommand, RetryCommand
from gatechart.api.search import CountsCommand, FindCommand
from gatechart.errors.outside import StoreCorruptError
from gatechart.hosting.agent_journal import journal_cut, journal_page
from gatechart.hosting.breakers import breaker_page
from gatechart.hosting.directory import Directory
from gatechart.hosting.directory_verbs import check_entries
from gatechart.hosting.idempotency import turn_of
from gatechart.hosting.own_agents import check_open
from gatechart.hosting.registry import Registry, handoff_query
from gatechart.hosting.search import agent_query, counted
from gatechart.runtime.core import Core
from gatechart.runtime.delivery import JobQueue
from gatechart.runtime.effects import Effects
from gatechart.runtime.live_agent import LiveAgent
from gatechart.runtime.maintenance import Maintenance, cancel_handoff, end_invoke, fire_timer
from gatechart.runtime.posted_mail import shown_mail
from gatechart.turn.arguments import check_version, checked_id, checked_new_id, checked_operator_reason, known_id
from gatechart.turn.rollback import fork_event
from gatechart.values.agents import Event, Snapshot
from gatechart.values.breakers import BreakerRecord
from gatechart.values.commits import JournalEntry, TranscriptCut
from gatechart.values.framework import (
    check_not_framework,
)
from gatechart.values.handoffs import HandoffRecord
from gatechart.values.mail import Mail, Receipt
from gatechart.values.names import AgentId
from gatechart.values.queries import GraphCount, HistoryEntry, MailQuery, Page


class Operations:
    """Executes these commands for a runtime."""

    def __init__(
        self, core: Core, registry: Registry, effects: Effects, maintenance: Maintenance, entries: Directory
    ) -> None:
        self._core = core
        self._registry = registry
        self._effects = effects
        self._maintenance = maintenance
        self._entries = entries

    async def execute(self, command: Command) -> Any:
        """Execute a command and return its result. Raises the verb's exceptions."""
        self._core.admit(command.verb, writes=command.writes)
        return await OPERATIONS[type(command)](self, command)

    async def _find(self, command: FindCommand) -> Page:
        return await self._core.store.find(agent_query(self._registry, command))

    async def _counts(self, command: CountsCommand) -> Sequence[GraphCount]:
        return await counted(self._core.store, self._registry, command)

    async def _history(self, command: HistoryCommand) -> Sequence[HistoryEntry]:
        store, agent_id = self._core.store, known_id(command.agent_id)
        return await store.history(agent_id, after=command.after, limit=command.limit)

    async def _journal(self, command: JournalCommand) -> Sequence[JournalEntry]:
        store, agent_id = self._core.store, known_id(command.agent_id)
        await store.load(agent_id)
        return journal_page(await store.journal(agent_id, command.journal), command)

    async def _cut(self, command: CutCommand) -> TranscriptCut:
        store, agent_id = self._core.store, known_id(command.agent_id)
        check_open(await store.load(agent_id))
        entries = await store.journal(agent_id, command.journal)
        record, cut = journal_cut(entries, command, command.idempotency_key or self._core.ids())
        if record is not None:
            await self._core.persist(record)
        return cut

    async def _stop(self, command: StopCommand) -> Snapshot:
        return await (await self._open(command.agent_id)).stop()

    async def _open(self, agent_id: AgentId) -> LiveAgent:
        """Return an agent that a caller may change. Raises FrameworkAgentError, and as `AgentDirectory.get`."""
        agent = await self._effects.directory.get(known_id(agent_id))
        check_open(agent.snapshot)
        return agent

    async def _erase(self, command: EraseCommand) -> None:
        agent_id = known_id(command.agent_id)
        agent = self._effects.directory.known(agent_id)
        if agent is not None:
            check_open(agent.snapshot)
            await agent.erase()
            return
        with suppress(StoreCorruptError):  # only an erasure helps then, whatever kind of agent it was
            for snapshot in await self._core.store.load_many([agent_id]):
                check_open(snapshot)
        agent = self._effects.directory.known(agent_id)  # a caller may have resumed it
        await (self._maintenance.erase(agent_id) if agent is None else agent.erase())

    async def _mail(self, command: MailCommand) -> Sequence[Mail]:
        to = None if command.to is None else known_id(command.to)
        is_wanted = to is not None or bool(command.framework)
        query = MailQuery(to, command.status, command.after, command.limit, framework=is_wanted)
        page = await self._core.store.mail(query)
        return await shown_mail(self._core.store, self._registry, page, self._core.clock.now())

    async def _retry(self, command: RetryCommand) -> Mail:
        return await self._effects.posted.retry(command.number)

    async def _discard(self, command: DiscardCommand) -> Mail:
        return await self._effects.posted.discard(command.number)

    async def _fire_timer(self, command: FireTimerCommand) -> Mail:
        return await fire_timer(self._core, self._effects, command.number, command.reason)

    async def _end_invoke(self, command: EndInvokeCommand) -> Receipt:
        return await end_invoke(
            self._core,
            self._effects,
            command.agent_id,
            command.invoke,
            result=command.result,
            error=command.error,
            reason=command.reason,
            idempotency_key=command.idempotency_key,
        )

    async def _handoff(self, command: HandoffCommand) -> str:
        key = checked_id(command.idempotency_key, "idempotency_key")
        agent = await self._open(command.agent_id)
        await check_entries(self._entries, command, self._core.store)
        return await agent.hand_on(lambda turn: turn.handoff(**command.arguments), key)

    async def _handoffs(self, command: HandoffsCommand) -> Sequence[HandoffRecord]:
        return await self._core.store.handoffs(handoff_query(command))

    async def _cancel_handoff(self, command: CancelHandoffCommand) -> Receipt:
        return await cancel_handoff(
            self._core, self._effects, command.handoff_id, command.reason, command.idempotency_key
        )

    async def _fork(self, command: ForkCommand) -> Snapshot:
        key, source = checked_id(command.idempotency_key, "idempotency_key"), known_id(command.agent_id)
        check_version("fork", command.version)
        agent_id = checked_id(command.new_id, "new_id") or key or self._core.ids()
        check_not_framework(agent_id)
        event = fork_event(source, command.version, self._core.clock.now(), key)
        if await turn_of(self._core.store, agent_id, event) is None:
            checked_new_id(agent_id, "new_id")
            target = await self._core.store.snapshot_at(source, command.version)
            check_not_framework(graph=target.graph)
            await JobQueue(self._core).run(lambda: self._begin_fork(target, agent_id, event))
        return (await self._effects.directory.get(agent_id)).snapshot

    async def _begin_fork(self, target: Snapshot, agent_id: AgentId, event: Event) -> None:
        if await self._effects.directory.fork(target, agent_id, event) is not None:
            await self._effects.inboxes.collect(agent_id)

    async def _breakers(self, command: BreakersCommand) -> Sequence[BreakerRecord]:
        # A reader has none in memory.
        known = await self._core.store.breakers() if self._core.read_only else self._core.breakers.records
        return breaker_page(known, command)

    async def _isolate_breaker(self, command: IsolateBreakerCommand) -> BreakerRecord:
        return await self._core.breakers.isolate(command.name, checked_operator_reason(command.reason))

    async def _close_breaker(self, command: CloseBreakerCommand) -> BreakerRecord:
        return await self._core.breakers.close(command.name)


OPERATIONS: Final[Mapping[type[Command], Callable[[Operations, Any], Awaitable[Any]]]] = {
    FindCommand: Operations._find,
    CountsCommand: Operations._counts,
    HistoryCommand: Operations._history,
    JournalCommand: Operations._journal,
    CutCommand: Operations._cut,
    ForkCommand: Operations._fork,
    StopCommand: Operations._stop,
    EraseCommand: Operations._erase,
    MailCommand: Operations._mail,
    RetryCommand: Operations._retry,
    DiscardCommand: Operations._discard,
    FireTimerCommand: Operations._fire_timer,
    EndInvokeCommand: Operations._end_invoke,
    HandoffCommand: Operations._handoff,
    HandoffsCommand: Operations._handoffs,
    CancelHandoffCommand: Operations._cancel_handoff,
    BreakersCommand: Operations._breakers,
    IsolateBreakerCommand: Operations._isolate_breaker,
    CloseBreakerCommand: Operations._close_breaker,
}
