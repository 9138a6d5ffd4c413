"""The runtime on a distributed engine: the verbs of `Runtime`, for callers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final, NoReturn
from weakref import WeakValueDictionary

from gatechart.agent import Agent
from gatechart.alerts.alarm_graph import alarmed
from gatechart.alerts.graph import alerts_graph
from gatechart.alerts.sinks import NO_ALERTS
from gatechart.api.agents import (
    EndInvokeCommand,
    EraseCommand,
    ForkCommand,
    ReadCommand,
    RollbackCommand,
    StartCommand,
    StartOnCommand,
    StopCommand,
)
from gatechart.api.alarms import AlarmCommand
from gatechart.api.arguments import check_writable
from gatechart.api.breakers import BreakersCommand, CloseBreakerCommand, IsolateBreakerCommand
from gatechart.api.command import Command
from gatechart.api.directory import ChooseCommand
from gatechart.api.events import AcceptsCommand, CanCommand, PostCommand, SendCommand
from gatechart.api.handoffs import CancelHandoffCommand, HandoffCommand, HandoffsCommand
from gatechart.api.history import CutCommand, HistoryCommand, JournalCommand, SnapshotAtCommand
from gatechart.api.home import AgentHome
from gatechart.api.lessons import ForgetLessonsCommand
from gatechart.api.mail import DiscardCommand, FireTimerCommand, MailCommand, RetryCommand
from gatechart.api.search import CountsCommand, FindCommand
from gatechart.api.watchdog import FindingsCommand, HostsCommand
from gatechart.assembly.own_graphs import register_own_graphs
from gatechart.errors.event import NoHandoffError, UnknownAgentError
from gatechart.errors.operation import IncompatibleGraphError
from gatechart.graph.definition import EntryPoint
from gatechart.graph.graph import AnyGraph
from gatechart.handoff.lifecycle import is_open
from gatechart.hosting.agent_journal import journal_cut, journal_page
from gatechart.hosting.breakers import breaker_page
from gatechart.hosting.choosing import DirectoryChooser
from gatechart.hosting.directory import Directory, OpenWork
from gatechart.hosting.directory_verbs import DIRECTING, check_entries, directed
from gatechart.hosting.idempotency import is_withdrawn
from gatechart.hosting.lessons import forget_lessons
from gatechart.hosting.migration import as_of_today
from gatechart.hosting.own_agents import check_open
from gatechart.hosting.registry import Registry, handoff_query, in_full
from gatechart.hosting.search import agent_query, counted
from gatechart.hosting.system import random_id
from gatechart.hosting.turn_guard import OpenTurn
from gatechart.ports import Ids, Store
from gatechart.restate.agent_calls import AgentCalls, EngineAgent
from gatechart.restate.ingress import Ingress
from gatechart.restate.journals import told_of
from gatechart.restate.own_agents import EngineOwnAgents
from gatechart.restate.state import MAIL, MAILS, SNAPSHOT, plain
from gatechart.restate.terms import RESTATE, Names
from gatechart.schedules.graph import schedule_graph
from gatechart.schedules.home import SCHEDULING, scheduled
from gatechart.stores.opening import open_store
from gatechart.turn.arguments import (
    checked_addressee,
    checked_due,
    checked_ending,
    checked_id,
    checked_name,
    checked_new_id,
    checked_operator_reason,
    fit_payload,
    known_handoff,
    known_id,
    plain_payload,
)
from gatechart.turn.mail import has_room
from gatechart.turn.possibilities import accepted, possible, without_room
from gatechart.values.agents import Outcome, Snapshot
from gatechart.values.breakers import BreakerRecord
from gatechart.values.commits import JournalEntry, TranscriptCut
from gatechart.values.directory import MOST_ENTRIES
from gatechart.values.effects import withdrawal_of
from gatechart.values.findings import HealthFinding
from gatechart.values.framework import SCHEDULE_GRAPH, check_not_framework, is_framework_graph, is_framework_id
from gatechart.values.handoffs import HandoffQuery, HandoffRecord, HandoffStatus
from gatechart.values.homes import Capabilities, Role
from gatechart.values.mail import Mail, Receipt
from gatechart.values.names import WITHDRAWN, AgentId
from gatechart.values.possibilities import AcceptedEvent
from gatechart.values.queries import GraphCount, HistoryEntry, Page
from gatechart.watchdog.examining import Examiner, finding_page
from gatechart.watchdog.terms import WatchdogTerms

_FRESH: Final = timedelta(seconds=1)  # maximum age of the directory before it is read again


class RestateRuntime(AgentHome):
    """A runtime whose agents Restate hosts. Open it with `async with RestateRuntime.open(...) as runtime`."""

    @property
    def capabilities(self) -> Capabilities:
        """Features of an engine."""
        return RESTATE

    def __init__(
        self, calls: AgentCalls, registry: Registry, store: Store | None, ids: Ids, entries: int = MOST_ENTRIES
    ) -> None:
        self._calls = calls
        self._registry = registry
        self._store = store
        self._ids = ids
        self._own = own_agents = EngineOwnAgents(calls)
        now, work = partial(datetime.now, UTC), OpenWork(self)
        self._directory = Directory(self, own_agents, registry, now, work, fresh=_FRESH, most_entries=entries)
        self._chooser = DirectoryChooser(self._directory)
        terms = WatchdogTerms()
        self._examiner = Examiner(self, registry, store, now, terms, sees_mail=False)
        self._agents: WeakValueDictionary[AgentId, EngineAgent] = WeakValueDictionary()  # agents with live handles

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        url: str | Sequence[str],
        *,
        graphs: Sequence[AnyGraph] | AnyGraph,
        projection: str | Store | None = None,
        ids: Ids = random_id,
        namespace: str = "",
        patience_s: float = 30.0,
        close_s: float = 30.0,
        entries: int = MOST_ENTRIES,
    ) -> AsyncIterator[RestateRuntime]:
        """Open a runtime on the engine whose ingress listens at `url`, such as `http://127.0.0.1:8080`.

        url: several for a cluster without a shared address; if a node does not answer, the next is tried.
        graphs: the same as in the service, which runs their actions.
        projection: the store into which the service projects turns, opened read-only; without it `find`, `history`,
            `snapshot_at` and `rollback` are unavailable.
        namespace: the service's namespace.
        patience_s: how long to retry an engine that does not answer.
        close_s: how long pending calls may take to end on exit; the engine has their requests by then.
        entries: limit of one named registrant's entries in the directory, as `Limits(entries=)` elsewhere.
        """
        registry = Registry(graphs)
        async with AsyncExitStack() as stack:
            ingress = await stack.enter_async_context(Ingress.open(url, patience_s=patience_s))
            store = None
            if projection is not None:
                store = await stack.enter_async_context(open_store(projection, role=Role.READER))
            calls = AgentCalls(ingress, Names(namespace))
            runtime = cls(calls, registry, store, ids, entries)
            registry.register_own(SCHEDULE_GRAPH, partial(schedule_graph, runtime))
            register_own_graphs(registry, partial(alerts_graph, NO_ALERTS))
            try:
                yield runtime
            finally:
                await calls.close(close_s)

    @property
    def graphs(self) -> tuple[AnyGraph, ...]:
        """The newest version of each registered graph."""
        return self._registry.graphs

    def register(self, graph: AnyGraph) -> None:
        """Add a graph, or another version of one. The service needs it, too. Raises DuplicateGraphError."""
        self._registry.register(graph)

    async def execute(self, command: Command) -> Any:
        """Execute a command and return its result. Raises the verb's exceptions."""
        self._calls.admit(command.verb)
        return await EXECUTORS[type(command)](self, command)

    async def _handle(self, command: Command) -> Agent[Any]:
        """See AgentHome. All handles of an agent share its newest snapshot; a later agent with its id has its own."""
        self._calls.admit("resume" if isinstance(command, ReadCommand) else command.verb)
        summary = await _FINDERS[type(command)](self, command)
        snapshot = SNAPSHOT.validate_python(summary["snapshot"])
        await self._check_fits(snapshot)
        agent = self._agents.get(snapshot.agent_id)
        if agent is None or agent.life != summary["life"]:
            agent = EngineAgent(self, self._calls, self._store, snapshot, summary["life"])
            self._agents[snapshot.agent_id] = agent
        agent.see(snapshot)
        return Agent(agent)

    async def _snapshot_of(self, command: Command) -> Snapshot:
        return (await self._handle(command)).snapshot

    async def _check_fits(self, snapshot: Snapshot) -> None:
        """Raise UnknownGraphError or IncompatibleGraphError unless a registered graph can continue the agent."""
        try:
            self._registry.graph_for(snapshot)
        except IncompatibleGraphError as error:
            if self._store is None:
                raise
            raise await in_full(self._store, error, snapshot) from error

    def graph_of(self, snapshot: Snapshot) -> AnyGraph:
        """Return the graph that drives an agent. Raises UnknownGraphError and IncompatibleGraphError."""
        return self._registry.graph_for(snapshot)

    async def lag(self, agent_id: AgentId) -> int:
        """Return how many committed turns of the agent are not projected yet. Raises UnknownAgentError."""
        summary = await self._calls.look("lag", agent_id)
        return int(summary["snapshot"]["version"]) - int(summary["projected"])

    async def caught_up(self, agent_id: AgentId) -> None:
        """Return once all turns committed so far are projected. Raises TimeoutError after 30 seconds."""
        await self._calls.caught_up(agent_id)

    async def prune(self, **_: Any) -> NoReturn:
        """Raise ElsewhereError."""
        self._elsewhere("prune", "prune the projection with `gatechart prune`; the engine keeps no past")

    def migrate(self, *, dry_run: bool = False) -> NoReturn:  # noqa: ARG002
        """Raise ElsewhereError."""
        self._elsewhere("migrate", "each agent migrates with its next event")

    async def _start(self, command: StartCommand) -> Mapping[str, Any]:
        """Start an agent. Its newest ids, up to `capabilities.keeps_ids`, are recognised as keys."""
        chosen = self._registry.graph(command.graph)
        check_not_framework(graph=chosen.name)
        return await self._begin(command, chosen, chosen.entry_point(command.at))

    async def _start_on(self, command: StartOnCommand) -> Mapping[str, Any]:
        return await self._begin(command, *self._registry.opened_by(command.trigger))

    async def _begin(
        self, command: StartCommand | StartOnCommand, graph: AnyGraph, entry: EntryPoint
    ) -> Mapping[str, Any]:
        key = checked_id(command.idempotency_key)
        agent_id = checked_new_id(checked_id(command.agent_id) or key) or self._ids()
        check_not_framework(agent_id)
        payload = plain_payload(fit_payload(graph.name, entry, command.payload), entry.name)
        argument = {"graph": graph.name, "at": entry.name, "payload": payload, "once": key}
        answer: Mapping[str, Any] = await self._calls.ask("begin", agent_id, argument)
        return answer

    async def _look(self, command: ReadCommand) -> Mapping[str, Any]:
        return await self._calls.look("resume", command.agent_id)

    async def _send(self, command: SendCommand) -> Outcome:
        agent = await self.resume(command.to)
        return await agent.send(command.event, command.payload, event_id=command.event_id)

    async def _rollback(self, command: RollbackCommand) -> Snapshot:
        agent = await self.resume(command.agent_id)
        return await agent.rollback(command.version, reason=command.reason, idempotency_key=command.idempotency_key)

    async def _fork(self, command: ForkCommand) -> Snapshot:
        """Fork an agent from a projected version, after waiting for the projection."""
        key, source = checked_id(command.idempotency_key, "idempotency_key"), known_id(command.agent_id)
        agent_id = checked_new_id(checked_id(command.new_id, "new_id") or key, "new_id") or self._ids()
        check_not_framework(agent_id)
        target = await self._snapshot_at(SnapshotAtCommand(agent_id=source, version=command.version))
        argument = {"target": plain(SNAPSHOT, target), "once": key}
        return SNAPSHOT.validate_python((await self._calls.ask("fork", agent_id, argument))["snapshot"])

    async def _accepts(self, command: AcceptsCommand) -> Sequence[AcceptedEvent]:
        graph, snapshot, now = await self._as_of_today(command.agent_id)
        with OpenTurn(snapshot.agent_id):
            answers = accepted(graph, snapshot, now)
        return await self._limited(graph, snapshot, now, answers)

    async def _can(self, command: CanCommand) -> AcceptedEvent:
        graph, snapshot, now = await self._as_of_today(command.agent_id)
        with OpenTurn(snapshot.agent_id):
            answer_before = possible(graph, snapshot, checked_name(command.event), command.payload, now)
        (answer,) = await self._limited(graph, snapshot, now, (answer_before,))
        return answer

    async def _limited(
        self, graph: AnyGraph, snapshot: Snapshot, now: datetime, answers: Sequence[AcceptedEvent]
    ) -> tuple[AcceptedEvent, ...]:
        """Return answers about events, with deferred ones refused if the agent cannot defer any more."""
        if not any(answer.deferred for answer in answers):
            return tuple(answers)
        mail = MAILS.validate_python(await self._calls.read("mail", "mails", snapshot.agent_id) or [])
        return tuple(answers) if has_room(graph, snapshot, mail, now) else tuple(map(without_room, answers))

    async def _as_of_today(self, agent_id: AgentId) -> tuple[AnyGraph, Snapshot, datetime]:
        """Return an agent as its next event will find it, with its graph, and the time."""
        now = datetime.now(UTC)
        return *as_of_today(self._registry, await self.read(agent_id), now), now

    async def _find(self, command: FindCommand) -> Page:
        """Find agents. Results lag behind the engine, and are in the order of projection."""
        return await self._projection("find").find(agent_query(self._registry, command))

    async def _counts(self, command: CountsCommand) -> Sequence[GraphCount]:
        return await counted(self._projection("counts"), self._registry, command)

    async def _history(self, command: HistoryCommand) -> Sequence[HistoryEntry]:
        """Return the history, which lags behind the engine by the turns that `lag` counts."""
        store, agent_id = self._projection("history"), known_id(command.agent_id)
        try:
            return await store.history(agent_id, after=command.after, limit=command.limit)
        except UnknownAgentError:
            await self._calls.look("history", agent_id)
            return ()

    async def _journal(self, command: JournalCommand) -> Sequence[JournalEntry]:
        await self._calls.look("journal", command.agent_id)
        entries = await self._calls.ask("journal", command.agent_id, {"journal": command.journal})
        return journal_page(entries, command)

    async def _cut(self, command: CutCommand) -> TranscriptCut:
        check_open(SNAPSHOT.validate_python((await self._calls.look("cut", command.agent_id))["snapshot"]))
        entries = await self._calls.ask("journal", command.agent_id, {"journal": command.journal})
        record, cut = journal_cut(entries, command, command.idempotency_key or self._ids())
        if record is not None:
            await self._calls.ask("enter", command.agent_id, told_of(record))
        return cut

    async def _snapshot_at(self, command: SnapshotAtCommand) -> Snapshot:
        """Return an old snapshot, after waiting for the projection."""
        store = self._projection("snapshot_at")
        await self.caught_up(command.agent_id)
        return await store.snapshot_at(known_id(command.agent_id), command.version)

    async def _stop(self, command: StopCommand) -> Snapshot:
        agent = self._agents.get(known_id(command.agent_id))
        answer = await self._calls.ask("stop", command.agent_id)
        stopped = SNAPSHOT.validate_python(answer["snapshot"])
        return stopped if agent is None else agent.see(stopped)

    async def _erase(self, command: EraseCommand) -> None:
        """Erase the agent. The engine keeps its journals until their retention ends, and the projection follows."""
        await self._calls.ask("erase", known_id(command.agent_id))
        self._agents.pop(command.agent_id, None)

    async def _post(self, command: PostCommand) -> Receipt:
        """Post mail. The receipt does not report repeats, which are detected on arrival.

        Raises InboxFullError if as much mail waits as the service's `ServiceConfig` allows.
        """
        to, event_id, due = checked_addressee(command.to), checked_id(command.event_id), checked_due(command.due)
        mail = Mail(0, to, command.event, command.payload, datetime.now(UTC), event_id, due=due)
        if self._registry.declares_events or is_framework_id(to):
            summary = await self._calls.read("post", "look", to)
            known = None if summary is None else SNAPSHOT.validate_python(summary["snapshot"])
            if known is None or is_framework_graph(known.graph):  # otherwise an agent of an earlier release has the id
                check_not_framework(to)
            if known is not None:
                self._registry.check_posted(known, mail.event, mail.payload)
        await self._calls.deliver("post", mail, in_place=True)
        return Receipt(0)

    async def _mail(self, command: MailCommand) -> Sequence[Mail]:
        """List an agent's mail, which is numbered per agent."""
        mails = await self._calls.read("mail", "mails", self._recipient("mail", command.to))
        newer = [mail for mail in MAILS.validate_python(mails or []) if mail.number > command.after]
        return [mail for mail in newer if command.status in (None, mail.status)][: command.limit]

    async def _retry(self, command: RetryCommand) -> Mail:
        to, argument = self._recipient("retry", command.to), {"number": command.number}
        # An agent that waits for this very attempt is busy: only a shared handler reaches it.
        lifted = await self._calls.read("retry", "lift", to, argument)
        if lifted is not None:
            return MAIL.validate_python(lifted["mail"])
        return MAIL.validate_python((await self._calls.ask("retry", to, argument))["mail"])

    async def _discard(self, command: DiscardCommand) -> Mail:
        to = self._recipient("discard", command.to)
        return MAIL.validate_python((await self._calls.ask("discard", to, {"number": command.number}))["mail"])

    async def _fire_timer(self, command: FireTimerCommand) -> Mail:
        to = self._recipient("fire_timer", command.to)
        argument = {"number": command.number, "reason": checked_operator_reason(command.reason)}
        return MAIL.validate_python((await self._calls.ask("fire_timer", to, argument))["mail"])

    async def _end_invoke(self, command: EndInvokeCommand) -> Receipt:
        kind, payload = checked_ending(command.invoke, command.result, command.error)
        argument = {
            "invoke": command.invoke,
            "kind": kind,
            "payload": payload,
            "once": checked_id(command.idempotency_key),
            "reason": checked_operator_reason(command.reason),
        }
        answer = await self._calls.ask("end_invoke", known_id(command.agent_id), argument)
        return Receipt(answer["number"], answer["repeat"])

    async def _handoff(self, command: HandoffCommand) -> str:
        checked_id(command.idempotency_key, "idempotency_key")
        check_writable(command)
        await check_entries(self._directory, command, self._store)
        answer = await self._calls.ask("hand_on", known_id(command.agent_id), command.model_dump(mode="json"))
        return str(answer["handoff"])

    async def _cancel_handoff(self, command: CancelHandoffCommand) -> Receipt:
        """Cancel a handoff, which must be projected."""
        store, key = self._projection("cancel_handoff"), checked_id(command.idempotency_key)
        reason, handoff_id = checked_operator_reason(command.reason), known_handoff(command.handoff_id)
        rows = await store.handoffs(HandoffQuery(id=handoff_id))
        if not rows or not is_open(rows[0].status):
            if rows and key is not None and await is_withdrawn(store, rows[0], reason, key):
                return Receipt(0, repeat=True)
            raise NoHandoffError(handoff_id, rows[0].status.value if rows else None)
        is_choosing = rows[0].status is HandoffStatus.CHOOSING
        payload = withdrawal_of(handoff_id, is_choosing=is_choosing) | {"reason": reason}
        mail = Mail(0, rows[0].target, WITHDRAWN, payload, datetime.now(UTC), key, sender=rows[0].source)
        await self._calls.deliver("cancel_handoff", mail)
        return Receipt(0)

    async def _handoffs(self, command: HandoffsCommand) -> Sequence[HandoffRecord]:
        """List handoffs. The list lags. Handoffs rejected or withdrawn without a turn stay pending."""
        return await self._projection("handoffs").handoffs(handoff_query(command))

    async def _breakers(self, command: BreakersCommand) -> Sequence[BreakerRecord]:
        return breaker_page(await self._calls.breakers(), command)

    async def _findings(self, command: FindingsCommand) -> Sequence[HealthFinding]:
        """Look for stuck agents, breakers and sinks. Mail is in the agents' objects, and the engine knows the hosts."""
        return finding_page(await self._examiner.look(), command)

    async def _hosts(self, _command: HostsCommand) -> NoReturn:
        self._elsewhere("hosts", "ask the engine, which knows its deployments: `restate deployments list`")

    async def _isolate_breaker(self, command: IsolateBreakerCommand) -> BreakerRecord:
        argument = {"reason": checked_operator_reason(command.reason)}
        return await self._calls.change_breaker("isolate_breaker", "isolate", command.name, argument)

    async def _close_breaker(self, command: CloseBreakerCommand) -> BreakerRecord:
        return await self._calls.change_breaker("close_breaker", "close", command.name, {})

    def _recipient(self, call: str, to: AgentId | None) -> AgentId:
        return self._elsewhere(call, "name the agent whose mail it is with to=") if to is None else known_id(to)

    def _projection(self, call: str) -> Store:
        if self._store is None:
            self._elsewhere(call, "open it with the projection= of the service")
        return self._store


_FINDERS: Final[Mapping[type[Command], Callable[[RestateRuntime, Any], Awaitable[Mapping[str, Any]]]]] = {
    StartCommand: RestateRuntime._start,
    StartOnCommand: RestateRuntime._start_on,
    ReadCommand: RestateRuntime._look,
}
EXECUTORS: Final[Mapping[type[Command], Callable[[RestateRuntime, Any], Awaitable[Any]]]] = {
    StartCommand: RestateRuntime._snapshot_of,
    StartOnCommand: RestateRuntime._snapshot_of,
    ReadCommand: RestateRuntime._snapshot_of,
    SendCommand: RestateRuntime._send,
    PostCommand: RestateRuntime._post,
    MailCommand: RestateRuntime._mail,
    RetryCommand: RestateRuntime._retry,
    DiscardCommand: RestateRuntime._discard,
    FireTimerCommand: RestateRuntime._fire_timer,
    StopCommand: RestateRuntime._stop,
    EraseCommand: RestateRuntime._erase,
    RollbackCommand: RestateRuntime._rollback,
    ForkCommand: RestateRuntime._fork,
    EndInvokeCommand: RestateRuntime._end_invoke,
    HandoffCommand: RestateRuntime._handoff,
    HandoffsCommand: RestateRuntime._handoffs,
    CancelHandoffCommand: RestateRuntime._cancel_handoff,
    BreakersCommand: RestateRuntime._breakers,
    AlarmCommand: lambda runtime, command: alarmed(runtime, runtime._own, command),
    ForgetLessonsCommand: lambda runtime, command: forget_lessons(runtime._own, command),
    FindingsCommand: RestateRuntime._findings,
    HostsCommand: RestateRuntime._hosts,
    IsolateBreakerCommand: RestateRuntime._isolate_breaker,
    CloseBreakerCommand: RestateRuntime._close_breaker,
    AcceptsCommand: RestateRuntime._accepts,
    CanCommand: RestateRuntime._can,
    SnapshotAtCommand: RestateRuntime._snapshot_at,
    HistoryCommand: RestateRuntime._history,
    JournalCommand: RestateRuntime._journal,
    CutCommand: RestateRuntime._cut,
    FindCommand: RestateRuntime._find,
    CountsCommand: RestateRuntime._counts,
    **dict.fromkeys(SCHEDULING, lambda runtime, command: scheduled(runtime, runtime._own, runtime._registry, command)),
    **dict.fromkeys(DIRECTING, lambda runtime, command: directed(runtime._directory, command)),
    ChooseCommand: lambda runtime, command: runtime._chooser.dry_run(command, datetime.now(UTC)),
}
"""The function that executes each command."""
