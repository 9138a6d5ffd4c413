"""The embedded runtime: starts agents, resumes them, and delivers events to them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from gatechart.agent import Agent
from gatechart.alerts.alarm_graph import alarmed
from gatechart.alerts.graph import alerts_graph, begin_sinks
from gatechart.alerts.sinks import NO_ALERTS, Alerts
from gatechart.api.agents import ReadCommand, RollbackCommand, StartCommand, StartOnCommand
from gatechart.api.alarms import AlarmCommand
from gatechart.api.command import Command
from gatechart.api.directory import ChooseCommand
from gatechart.api.events import AcceptsCommand, CanCommand, PostCommand, SendCommand
from gatechart.api.history import SnapshotAtCommand
from gatechart.api.home import AgentHome
from gatechart.api.lessons import ForgetLessonsCommand
from gatechart.api.requests import execute_once
from gatechart.api.watchdog import FindingsCommand, HostsCommand
from gatechart.assembly.own_graphs import register_own_graphs
from gatechart.errors.event import PayloadError, UndeclaredEventError
from gatechart.errors.outside import OwnershipLostError
from gatechart.graph.graph import AnyGraph
from gatechart.handoff.reading import PacketMigration
from gatechart.hosting.choosing import USUAL, Choosing, DirectoryChooser, check_choosing
from gatechart.hosting.directory import Directory
from gatechart.hosting.directory_verbs import DIRECTING, directed
from gatechart.hosting.group_commit import Committer
from gatechart.hosting.lessons import LessonBook, forget_lessons
from gatechart.hosting.limits import Limits
from gatechart.hosting.migration import is_known
from gatechart.hosting.misplaced import report_misplaced
from gatechart.hosting.registry import Registry
from gatechart.hosting.retention import Age, Retention, pruning_of
from gatechart.hosting.subscriptions import Feeds, Subscription
from gatechart.hosting.system import SystemClock, random_id
from gatechart.hosting.tool_policies import gates_of
from gatechart.ports import Clock, Ids, Requests, Store
from gatechart.runtime.choices import StoredWork
from gatechart.runtime.core import Core
from gatechart.runtime.effects import Effects
from gatechart.runtime.maintenance import Maintenance
from gatechart.runtime.operations import Operations
from gatechart.runtime.own_agents import HostedOwnAgents
from gatechart.runtime.requests import RequestServer
from gatechart.runtime.standby import standing_by
from gatechart.runtime.starting import Starter
from gatechart.schedules.graph import schedule_graph
from gatechart.schedules.home import SCHEDULING, scheduled
from gatechart.stores.opening import checked_role, open_store
from gatechart.turn.arguments import checked_addressee, checked_due, checked_id, checked_name, known_id, plain_payload
from gatechart.values.agents import Outcome, Snapshot, Status
from gatechart.values.findings import HealthFinding
from gatechart.values.framework import (
    SCHEDULE_GRAPH,
    check_not_framework,
    is_framework_graph,
    is_framework_id,
)
from gatechart.values.homes import Capabilities, Role
from gatechart.values.hosts import HostRecord
from gatechart.values.mail import Mail, Receipt
from gatechart.values.migrations import Migrated
from gatechart.values.names import DEFAULT_URL, AgentId, Name
from gatechart.values.possibilities import AcceptedEvent
from gatechart.values.queries import Forgotten, HistoryEntry
from gatechart.values.tool_policies import PoliciesByTool
from gatechart.watchdog.examining import Examiner, finding_page, host_page
from gatechart.watchdog.home import Watchdog
from gatechart.watchdog.rounds import WatchRounds
from gatechart.watchdog.signs_of_life import Heart
from gatechart.watchdog.terms import WatchdogTerms

logger = logging.getLogger(__name__)

DEFAULTS: Final = Limits()
USUAL_TERMS: Final = WatchdogTerms()


class Runtime(AgentHome):
    """Hosts the agents of its graphs on one store. Open it with `async with Runtime.open(...) as runtime`."""

    def __init__(
        self, core: Core, registry: Registry, choosing: Choosing = USUAL, terms: WatchdogTerms = USUAL_TERMS
    ) -> None:
        fresh = timedelta(seconds=1) if core.read_only else None  # a reader sees no commits
        self._core = core
        self._registry = registry
        self._examiner = Examiner(self, registry, core.store, core.clock.now, terms)
        self._effects = Effects(core, registry)
        self._starter = Starter(core, self._effects)
        self._own = own_agents = HostedOwnAgents(core, registry, self._effects, self._starter)
        work = StoredWork(self, core.store)
        core.entries = self._directory = Directory(
            self,
            own_agents,
            registry,
            core.clock.now,
            work,
            load=choosing.load,
            fresh=fresh,
            most_entries=core.limits.entries,
        )
        core.chooser = DirectoryChooser(self._directory, choosing)
        core.lessons = LessonBook(self, own_agents)
        self._maintenance = Maintenance(core, registry, self._effects)
        self._operations = Operations(core, registry, self._effects, self._maintenance, self._directory)

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        store: str | Store = DEFAULT_URL,
        *,
        graphs: Sequence[AnyGraph] | AnyGraph,
        services: Any = None,
        role: Role | str = Role.OWNER,
        limits: Limits = DEFAULTS,
        clock: Clock | None = None,
        ids: Ids = random_id,
        packet_migrations: Sequence[PacketMigration] = (),
        tool_policies: PoliciesByTool | None = None,
        retention: Retention | None = None,
        choosing: Choosing = USUAL,
        alerts: Alerts = NO_ALERTS,
        watchdog: Watchdog | None = None,
    ) -> AsyncIterator[Runtime]:
        """Open a runtime on the store; it continues with work that was accepted earlier and not finished.

        On exit, running work gets `limits.close_s` to end; work that has not started is kept for the next runtime.

        store: a URL, by default `sqlite+aiosqlite:///agents.db` (a relative path starts in the working directory);
        `postgresql+asyncpg://user@host/database`; `memory:` to keep nothing; or a Store object. An empty database gets
        its tables.
        graphs: the graphs whose agents it hosts; of several versions of a graph, the one given last is the newest.
        services: external services for actions and invokes, available as `turn.services` and `work.services`.
        role: this process's role for the database, by default its owner; see `Role`.
        packet_migrations: convert handoff packets from older versions of gatechart.
        tool_policies: policies for tool calls, by the tool's name, "*" for every tool; they precede policies of graphs.
        retention: rules for old data, which the owner deletes as it runs; without it, all is kept until `prune`.
        choosing: how to choose the recipient of work that a selection leaves open.
        alerts: the named sinks for alerts from charts and the watchdog.
        watchdog: periodic checks for problems, while this process owns the database or is a standby.

        Raises InvalidToolError if a tool with policies is unknown, InvalidChoosingError, StoreOwnedError if another
        runtime owns the database, and the fitting OutsideError if the database is missing, unreachable, locked,
        read-only or damaged, or has an older or newer schema.
        """
        role = checked_role("Runtime.open", role)
        read_only, attend = role is Role.READER, role is not Role.VISITOR
        registry = Registry(graphs)
        check_choosing(choosing)
        if watchdog is not None:
            watchdog.check_restarts(registry)
        time = clock or SystemClock()
        heart = Heart(time.now, limits.beat_s)
        async with (
            standing_by(store, role, heart, watchdog, alerts) as relieved,
            open_store(store, role=role) as opened,
            heart.beating(opened, is_host=attend and not read_only),
        ):
            await relieved()
            feeds: Feeds[bool, HistoryEntry] = Feeds(limits.feed)
            committer, gates = Committer(opened), gates_of(services, tool_policies, registry.versions)
            core = Core(
                opened, committer, services, time, ids, read_only, limits, feeds, attend, packet_migrations, gates
            )
            heart.work = lambda: committer.units
            heart.troubles, core.beat = core.troubles.facts, heart.beat
            runtime = cls(core, registry, choosing, USUAL_TERMS if watchdog is None else watchdog.terms)
            registry.register_own(SCHEDULE_GRAPH, partial(schedule_graph, runtime))
            register_own_graphs(registry, partial(alerts_graph, alerts), watchdog)
            requests: Requests | None = getattr(opened, "requests", None) if attend and not read_only else None
            server = None if requests is None else RequestServer(core, requests, partial(execute_once, runtime))
            try:
                if not read_only:
                    await runtime._effects.recover()
                    await begin_sinks(runtime._own, alerts)
                    await report_misplaced(opened)
                if server is not None:
                    server.begin()
                runtime._look_after(retention, watchdog)
                yield runtime
            finally:
                # Stop taking requests first; those already taken are tasks of the core, which end as it closes.
                if server is not None:
                    server.close()
                runtime._effects.close()
                await core.close()
                if server is not None:
                    await server.end()

    def _look_after(self, retention: Retention | None, watchdog: Watchdog | None) -> None:
        """Start the periodic work of a host: the watchdog and retention."""
        core = self._core
        if core.read_only or not core.attends:
            return
        if watchdog is not None:
            rounds = WatchRounds(self, self._own, self._registry, self._examiner, watchdog, core.telemetry.found)
            core.attend(rounds.go_on(core.sleep), "watch")
        if retention is not None:
            core.attend(self._maintenance.retain(retention), "delete old data")

    @property
    def graphs(self) -> tuple[AnyGraph, ...]:
        """The newest version of each graph that this runtime hosts."""
        return self._registry.graphs

    def register(self, graph: AnyGraph) -> None:
        """Add a graph, or another version of a hosted one; this runtime then hosts its agents.

        An agent keeps the version that it was started with while that version is registered; new agents get the
        version registered last. Raises DuplicateGraphError if this name and version is already registered, and
        AmbiguousEntryError if another graph has the name of this one or of its entry points.
        """
        self._registry.register(graph)
        self._effects.graph_registered()

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of this home of agents, compared with other homes."""
        is_durable = self._core.store.is_durable
        return Capabilities(home="a database" if is_durable else "memory", is_durable=is_durable)

    @property
    def pending_work(self) -> int:
        """Number of pending turns, timers and invokes, including work that waits for the clock."""
        return self._core.pending_work

    @property
    def dead_letters(self) -> int:
        """Number of messages that died since the runtime opened and that agents may wait for in vain."""
        return self._core.dead_letters

    async def ownership_lost(self) -> OwnershipLostError:
        """Wait until another runtime takes over the database, and return the error that reports it.

        Stop the host then: this runtime no longer does any work. It notices a takeover within seconds.
        """
        return await asyncio.shield(self._core.lost())

    async def execute(self, command: Command) -> Any:
        """Execute a command and return its result. Raises the verb's exceptions."""
        executor = EXECUTORS.get(type(command))
        return await (self._operations.execute(command) if executor is None else executor(self, command))

    async def _start_agent(
        self, graph: Name | AnyGraph, at: Name, payload: Any, agent_id: AgentId | None, idempotency_key: str | None
    ) -> Agent[Any]:
        """Start an agent without a command, because agents are started in large numbers."""
        self._core.admit("start", writes=True)
        chosen = self._registry.graph(graph)
        check_not_framework(checked_id(agent_id) or checked_id(idempotency_key), graph=chosen.name)
        return Agent(await self._starter.start(chosen, at, payload, agent_id, idempotency_key))

    async def start_on(
        self,
        trigger: Name,
        payload: Any = None,
        *,
        agent_id: AgentId | None = None,
        idempotency_key: str | None = None,
    ) -> Agent[Any]:
        """See AgentHome."""
        graph, entry = self._registry.opened_by(trigger)
        return await self.start(
            graph.name, at=entry.name, payload=payload, agent_id=agent_id, idempotency_key=idempotency_key
        )

    async def resume(self, agent_id: AgentId) -> Agent[Any]:
        """See AgentHome. The handle always shows the newest commit."""
        self._core.admit("resume", writes=False)
        return Agent(await self._starter.resume(known_id(agent_id)))

    async def post(
        self,
        to: AgentId,
        event: Name,
        payload: Any = None,
        *,
        event_id: str | None = None,
        due: datetime | None = None,
    ) -> Receipt:
        """Post mail without a command, because mail is posted in large numbers."""
        self._core.admit("post", writes=True)
        now, name = self._core.clock.now(), checked_name(event)
        content, moment = plain_payload(payload, name), checked_due(due)
        mail = Mail(0, checked_addressee(to), name, content, now, checked_id(event_id), due=moment)
        if is_framework_id(to):
            await self._check_posted_to(to)
        if self._registry.declares_events:
            await self._check_posted(mail)
        return await self._effects.posted.post(mail)

    async def _check_posted(self, mail: Mail) -> None:
        """Raise the exceptions of `Registry.check_posted`, if the recipient exists and has not had the mail before."""
        for snapshot in await self._stored(mail.recipient):
            try:
                self._registry.check_posted(snapshot, mail.event, mail.payload)
            except (PayloadError, UndeclaredEventError):
                if not await is_known(self._core.store, mail):
                    raise

    async def _check_posted_to(self, agent_id: AgentId) -> None:
        """Raise FrameworkAgentError unless an application's agent has had this id since an earlier release."""
        for snapshot in await self._stored(agent_id):
            if not is_framework_graph(snapshot.graph):
                return
        check_not_framework(agent_id)

    async def _stored(self, agent_id: AgentId) -> Sequence[Snapshot]:
        """Return the agent's newest snapshot, or an empty sequence if there is no such agent."""
        agent = self._effects.directory.known(agent_id)
        return (agent.snapshot,) if agent is not None else await self._core.store.load_many([agent_id])

    def graph_of(self, snapshot: Snapshot) -> AnyGraph:
        """Return the graph that drives an agent. Raises UnknownGraphError, and IncompatibleGraphError."""
        return self._registry.graph_for(snapshot)

    async def _start(self, command: StartCommand) -> Snapshot:
        started = await self.start(
            command.graph,
            at=command.at,
            payload=command.payload,
            agent_id=command.agent_id,
            idempotency_key=command.idempotency_key,
        )
        return started.snapshot

    async def _start_on(self, command: StartOnCommand) -> Snapshot:
        started = await self.start_on(
            command.trigger, command.payload, agent_id=command.agent_id, idempotency_key=command.idempotency_key
        )
        return started.snapshot

    async def _read(self, command: ReadCommand) -> Snapshot:
        return (await self.resume(command.agent_id)).snapshot

    async def _send(self, command: SendCommand) -> Outcome:
        agent = await self.resume(command.to)
        return await agent.send(command.event, command.payload, event_id=command.event_id)

    async def _post(self, command: PostCommand) -> Receipt:
        return await self.post(command.to, command.event, command.payload, event_id=command.event_id, due=command.due)

    async def _rollback(self, command: RollbackCommand) -> Snapshot:
        agent = await self.resume(command.agent_id)
        return await agent.rollback(command.version, reason=command.reason, idempotency_key=command.idempotency_key)

    async def _accepts(self, command: AcceptsCommand) -> Sequence[AcceptedEvent]:
        return await (await self.resume(command.agent_id)).accepts()

    async def _can(self, command: CanCommand) -> AcceptedEvent:
        return await (await self.resume(command.agent_id)).can(command.event, command.payload)

    async def _snapshot_at(self, command: SnapshotAtCommand) -> Snapshot:
        return await (await self.resume(command.agent_id)).snapshot_at(command.version)

    async def _findings(self, command: FindingsCommand) -> Sequence[HealthFinding]:
        self._core.admit("findings", writes=False)
        return finding_page(await self._examiner.look(), command)

    async def _hosts(self, command: HostsCommand) -> Sequence[HostRecord]:
        self._core.admit("hosts", writes=False)
        return host_page(await self._core.store.hosts(), command)

    @asynccontextmanager
    async def changes(self, *, framework: bool = False) -> AsyncIterator[Subscription[HistoryEntry]]:
        """Subscribe to the turns of all agents that are committed from now on, for dashboards and tests.

        `async with runtime.changes() as changes: async for entry in changes: ...`. A subscriber that falls too far
        behind loses turns and gets a FeedLaggedError.
        framework: also the turns of gatechart's own agents, such as schedules.
        Raises ReadOnlyError: only the owner sees its commits.
        """
        self._core.admit_watcher("changes", "read the history of its agents, or watch where the owner runs")
        subscription = self._core.changes.subscribe(framework)
        try:
            yield subscription
        finally:
            self._core.changes.leave(framework, subscription)

    @asynccontextmanager
    async def stream(self, agent_id: AgentId, invoke: str) -> AsyncIterator[Subscription[Any]]:
        """See AgentHome. A subscriber that falls too far behind loses items and gets a FeedLaggedError.

        Raises ReadOnlyError: only the owner runs invokes.
        """
        self._core.admit_watcher("stream", "watch where the owner runs")
        streams, key = self._effects.invokes.streams, (known_id(agent_id), invoke)
        subscription = streams.subscribe(key)
        try:
            for snapshot in await self._stored(agent_id):
                self._registry.check_invoke(snapshot, invoke)
            yield subscription
        finally:
            streams.leave(key, subscription)

    async def migrate(self, *, dry_run: bool = False) -> AsyncIterator[Migrated]:
        """Migrate every stored agent to the registered graphs, in the order started, and yield each result.

        An agent whose version is not registered is migrated to the newest. An agent that fits no version stays
        unchanged, and the others continue. dry_run: only report, which a runtime opened for reading can do, too.
        """
        self._core.admit("migrate", writes=not dry_run)
        async for each in self._maintenance.migrate(dry_run=dry_run):
            yield each

    async def prune(
        self,
        *,
        ended_before: Age | None = None,
        status: Status | str | None = None,
        turns_before: Age | None = None,
        keep_turns: int | None = None,
        mail_before: Age | None = None,
        ids_for: timedelta | str = "7d",
        on_progress: Callable[[Forgotten], None] | None = None,
        dry_run: bool = False,
    ) -> Forgotten:
        """Delete old data part by part, with turns in between, and return how much was deleted.

        Ages are durations, such as "90d", or aware datetimes; older data may be deleted. The newest turn of an agent
        always stays, and so do all turns from the oldest one whose event id must still be recognised.

        ended_before: erase agents whose last turn, which ended them, is older.
        status: erase only agents with this status: done, failed or stopped.
        turns_before: delete older turns of the other agents.
        keep_turns: keep this many newest turns of each agent and delete the others; with `turns_before`, turns that
        match either are deleted.
        mail_before: delete refused and dead mail accepted before.
        ids_for: how long a repeated event id is recognised.
        on_progress: called after each part.
        dry_run: only count, which a runtime opened for reading can do, too.

        Raises PayloadError.
        """
        self._core.admit("prune", writes=not dry_run)
        pruning = pruning_of(
            self._core.clock.now(),
            ended_before=ended_before,
            status=status,
            turns_before=turns_before,
            keep_turns=keep_turns,
            mail_before=mail_before,
            ids_for=ids_for,
        )
        return await self._maintenance.prune(pruning, on_progress, dry_run=dry_run)


EXECUTORS: Final[Mapping[type[Command], Callable[[Runtime, Any], Awaitable[Any]]]] = {
    StartCommand: Runtime._start,
    StartOnCommand: Runtime._start_on,
    ReadCommand: Runtime._read,
    SendCommand: Runtime._send,
    PostCommand: Runtime._post,
    RollbackCommand: Runtime._rollback,
    AcceptsCommand: Runtime._accepts,
    CanCommand: Runtime._can,
    SnapshotAtCommand: Runtime._snapshot_at,
    **dict.fromkeys(SCHEDULING, lambda runtime, command: scheduled(runtime, runtime._own, runtime._registry, command)),
    AlarmCommand: lambda runtime, command: alarmed(runtime, runtime._own, command),
    ForgetLessonsCommand: lambda runtime, command: forget_lessons(runtime._own, command),
    FindingsCommand: Runtime._findings,
    HostsCommand: Runtime._hosts,
    **dict.fromkeys(DIRECTING, lambda runtime, command: directed(runtime._directory, command)),
    ChooseCommand: lambda runtime, command: runtime._core.chooser.dry_run(command, runtime._core.clock.now()),
}
"""The function that executes each command; `OPERATIONS` has the other commands."""
