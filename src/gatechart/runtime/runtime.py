"""What hosts agents: starts them, finds them again, carries their events to them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from pydantic import BaseModel

from gatechart.agent import Agent
from gatechart.api import perform_once
from gatechart.errors import AgentExistsError, NoHandoffError, OwnershipLostError, StoreCorruptError
from gatechart.graph import AnyGraph, Delay, EntryPoint
from gatechart.handoff import Fallbacks, HandoffPacket, PacketMigration, is_open
from gatechart.hosting.arguments import check_part, checked_member, handoffs_asked
from gatechart.hosting.group_commit import Committer
from gatechart.hosting.idempotency import is_withdrawn, turn_of, with_id
from gatechart.hosting.limits import Limits
from gatechart.hosting.registry import Registry
from gatechart.hosting.rollback import stopped
from gatechart.hosting.subscriptions import Feeds, Subscription
from gatechart.hosting.system import SystemClock, random_id
from gatechart.hosting.turn_guard import OpenTurn, run_at_once
from gatechart.ports import Clock, Ids, Requests, Store
from gatechart.runtime.core import Core
from gatechart.runtime.effects import Effects
from gatechart.runtime.interventions import end_invoke, fire_timer
from gatechart.runtime.job_queue import JobQueue
from gatechart.runtime.maintenance import Age, Maintenance, pruning_of
from gatechart.runtime.offers import erase
from gatechart.runtime.requests import RequestServer
from gatechart.stores import DEFAULT_URL, open_store
from gatechart.stores.opening import check_roles
from gatechart.turn import (
    Turn,
    begin,
    checked_addressee,
    checked_due,
    checked_id,
    checked_name,
    checked_words,
    fit_payload,
    known_handoff,
    known_id,
    plain_payload,
)
from gatechart.values import (
    STARTED,
    WITHDRAWN,
    AgentId,
    Capabilities,
    Event,
    Forgotten,
    HandoffQuery,
    HandoffRecord,
    HandoffStatus,
    HistoryEntry,
    Mail,
    MailQuery,
    MailStatus,
    Migrated,
    Mode,
    Name,
    Page,
    Reason,
    Receipt,
    Snapshot,
    Status,
    Verdict,
)

logger = logging.getLogger(__name__)

DEFAULTS: Final = Limits()


class Runtime:
    """Hosts the agents of some graphs on one store. Open it with `async with Runtime.open(...) as runtime`."""

    def __init__(self, core: Core, registry: Registry) -> None:
        self._core = core
        self._registry = registry
        self._effects = Effects(core, registry)
        self._maintenance = Maintenance(core, registry, self._effects)

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        store: str | Store = DEFAULT_URL,
        *,
        graphs: Sequence[AnyGraph] | AnyGraph,
        services: Any = None,
        read_only: bool = False,
        standby: bool = False,
        take_over: bool = False,
        attend: bool = True,
        limits: Limits = DEFAULTS,
        clock: Clock | None = None,
        ids: Ids = random_id,
        packet_migrations: Sequence[PacketMigration] = (),
    ) -> AsyncIterator[Runtime]:
        """A runtime on the store, which goes on with what was accepted and not finished when it was closed last.

        Leaving it lets what is under way end, within `limits.close_s`; what has not begun is kept for the next one.

        store: a URL, `sqlite+aiosqlite:///agents.db` where left out (a relative path is one in the working directory),
        `postgresql+asyncpg://user@host/database`, `memory:` to keep nothing; or a store of one's own. An empty database
        gets its tables.
        graphs: those whose agents it hosts; of two versions of a graph the one given last is the newest.
        services: what actions and invokes need from outside, as `turn.services` and `work.services`.
        read_only: take no ownership of the store, and write nothing.
        standby: where another runtime owns the database, wait for its end, however long, and take over within two
        seconds; who does not wait any longer cancels.
        take_over: own it in spite of that one, which cannot write any more: for an owner that is frozen.
        attend: False for one that comes and goes and does only what it is called for: an agent that is resumed takes
        its own mail that is due; all other mail, timers and invokes are left to the next runtime.
        packet_migrations: how packets of handoffs that an older gatechart made come to this one.

        Raises StoreOwnedError where another runtime owns the database, and the OutsideError that fits where the
        database is missing, unreachable, locked, read-only, damaged, or of an older or newer schema; PayloadError
        for more than one of standby, take_over, attend=False and read_only, each of which is a role of its own.
        """
        check_roles("Runtime.open", standby=standby, take_over=take_over, read_only=read_only, attend=attend)
        registry = Registry(graphs)
        async with open_store(store, read_only=read_only, standby=standby, take_over=take_over) as opened:
            feeds: Feeds[None, HistoryEntry] = Feeds(limits.feed)
            time = clock or SystemClock()
            core = Core(
                opened, Committer(opened), services, time, ids, read_only, limits, feeds, attend, packet_migrations
            )
            runtime = cls(core, registry)
            requests: Requests | None = getattr(opened, "requests", None) if attend and not read_only else None
            server = None if requests is None else RequestServer(core, requests, partial(perform_once, runtime))
            try:
                if not read_only:
                    await runtime._effects.recover()
                if server is not None:
                    server.begin()
                yield runtime
            finally:
                if server is not None:
                    server.close()
                runtime._effects.close()
                await core.close()
                if server is not None:
                    await server.end()

    @property
    def graphs(self) -> tuple[AnyGraph, ...]:
        """The newest version of each graph whose agents it hosts."""
        return self._registry.graphs

    def register(self, graph: AnyGraph) -> None:
        """Adds a graph, or another version of one, to those whose agents it hosts.

        An agent keeps the version that it was started with for as long as that is registered; new agents get the
        version registered last. Raises DuplicateGraphError where there is one of this name and version already.
        """
        self._registry.register(graph)
        self._effects.graph_registered()

    @property
    def capabilities(self) -> Capabilities:
        """What this home of agents has, beside the others that there are."""
        is_durable = self._core.store.is_durable
        return Capabilities(home="a database" if is_durable else "memory", is_durable=is_durable)

    @property
    def under_way(self) -> int:
        """How many turns, timers and invokes are under way; those that wait for the clock count."""
        return self._core.under_way

    @property
    def dead_letters(self) -> int:
        """How much mail has died since the runtime was opened that agents may wait for. They may wait in vain."""
        return self._core.dead_letters

    async def lost(self) -> OwnershipLostError:
        """The error that says so, once another runtime has taken the database over; waits for that, for ever perhaps.

        What hosts agents does well to end then, for nothing is done here any more. It is noticed within some seconds.
        """
        return await asyncio.shield(self._core.lost())

    async def start(
        self,
        graph: Name | AnyGraph,
        *,
        at: Name,
        payload: Any = None,
        agent_id: AgentId | None = None,
        idempotency_key: str | None = None,
    ) -> Agent:
        """A new agent that has begun at the entry point, its entry actions run and its first turn committed.

        at: the entry point's name, by default that of its state.
        payload: what the entry point takes, as the model or as a mapping.
        agent_id: the agent's own; made up where left out.
        idempotency_key: repeating the call with the same key returns the agent that the first call started. Without an
        `agent_id` it is the agent's id, too.

        Raises UnknownGraphError, EntryRefusedError, PayloadError, EntryGuardError, AgentExistsError, or what a failing
        entry action raises; then nothing was started.
        """
        self._core.admit("start", writes=True)
        chosen = self._registry.graph(graph)
        entry = chosen.entry_point(at)
        fitted = fit_payload(chosen.name, entry, payload)
        agent_id = checked_id(agent_id) or checked_id(idempotency_key, "idempotency_key") or self._core.ids()
        name = f"{STARTED}{entry.name}"
        event = Event(name, plain_payload(fitted, name), self._core.clock.now(), idempotency_key)
        if (
            idempotency_key is not None
            and await turn_of(self._core.store, agent_id, event, idempotency_key) is not None
        ):
            return await self.resume(agent_id)
        if chosen.runs_at_once and self._core.store.is_instant:
            return run_at_once(self._begin(chosen, entry, fitted, agent_id, event))
        return await JobQueue(self._core).run(lambda: self._begin(chosen, entry, fitted, agent_id, event))

    async def start_on(
        self,
        trigger: Name,
        payload: Any = None,
        *,
        agent_id: AgentId | None = None,
        idempotency_key: str | None = None,
    ) -> Agent:
        """Start an agent at the entry point that opens on the business trigger. See `start` for the parameters.

        Raises UnknownTriggerError, AmbiguousTriggerError where several graphs have one, and what `start` raises.
        """
        graph, entry = self._registry.opened_by(trigger)
        return await self.start(
            graph.name, at=entry.name, payload=payload, agent_id=agent_id, idempotency_key=idempotency_key
        )

    async def resume(self, agent_id: AgentId) -> Agent:
        """The agent as it was last committed; no action runs.

        Raises UnknownAgentError, UnknownGraphError, and IncompatibleGraphError where the registered graph cannot take
        over what is stored.
        """
        self._core.admit("resume", writes=False)
        agent = await self._effects.directory.get(known_id(agent_id))
        await self._effects.post.collect(agent_id)
        return Agent(agent)

    async def find(
        self,
        *,
        graph: Name | None = None,
        state: Name | None = None,
        status: Status | str | None = None,
        after: AgentId | None = None,
        limit: int = 100,
    ) -> Page:
        """Agents in the order they were started, a page at a time: pass the page's `next` as `after`.

        state: active, as a leaf or around one. Raises UnknownGraphError, UnknownStateError, UnknownAgentError for
        `after`, PayloadError for a status or a limit that cannot be.
        """
        self._core.admit("find", writes=False)
        return await self._core.store.find(self._registry.query(graph, state, status, after, limit))

    async def history(
        self,
        agent_id: AgentId,
        *,
        after: int = 0,
        limit: int | None = None,
    ) -> Sequence[HistoryEntry]:
        """The turns of any stored agent, as `Agent.history` gives them; its graph need not be registered."""
        self._core.admit("history", writes=False)
        check_part("history", after, limit)
        return await self._core.store.history(known_id(agent_id), after=after, limit=limit)

    async def stop(self, agent_id: AgentId) -> Snapshot:
        """Ends the agent in the state it is in; from then on it refuses every event. No action runs."""
        self._core.admit("stop", writes=True)
        return await (await self._effects.directory.get(known_id(agent_id))).stop()

    async def erase(self, agent_id: AgentId) -> None:
        """Forgets the agent, its history, its mail and its invokes, for good; those that wait for it are told.

        Of one that is listed as unreadable nobody can read who waits for it.
        Raises UnknownAgentError.
        """
        self._core.admit("erase", writes=True)
        agent = self._effects.directory.known(known_id(agent_id))
        await (JobQueue(self._core).run(lambda: self._erase(agent_id)) if agent is None else agent.erase())

    async def post(
        self,
        to: AgentId,
        event: Name,
        payload: Any = None,
        *,
        event_id: str | None = None,
        due: datetime | None = None,
    ) -> Receipt:
        """Mail for an agent, durable when this returns: the agent applies it once, in the order accepted.

        to: the agent's id; where there is no such agent yet, the mail waits for it.
        payload: as of `Agent.send`. event_id: unique for the recipient; mail whose id waits or was applied is not
        accepted again. due: when it is to be delivered; at once where left out.

        Raises PayloadError, EventIdReusedError, InboxFullError where so much mail waits for the agent already, unless
        the limits say to wait, and BacklogFullError where so much waits for agents that do not exist, or for its time.
        """
        self._core.admit("post", writes=True)
        name = checked_name(event)
        content = plain_payload(payload, name)
        now, moment = self._core.clock.now(), checked_due(due)
        mail = Mail(0, checked_addressee(to), name, content, now, checked_id(event_id), due=moment)
        return await self._effects.post.post(mail)

    async def mail(
        self,
        to: AgentId | None = None,
        *,
        status: MailStatus | str | None = None,
        after: int = 0,
        limit: int = 100,
    ) -> Sequence[Mail]:
        """Mail in the order accepted, a page at a time: pass the number of the last as `after`.

        status: waiting, refused, dead, or unreadable where the database has it damaged; mail that was applied is
        history. Raises PayloadError.
        """
        self._core.admit("mail", writes=False)
        check_part("mail", after, limit)
        wanted = None if status is None else checked_member("mail", "status", status, MailStatus)
        return await self._core.store.mail(MailQuery(None if to is None else known_id(to), wanted, after, limit))

    async def retry(self, number: int) -> Mail:
        """Delivers refused or dead mail once more, behind what waits for the agent.

        Mail that failed and waits for its next attempt keeps its place, and is tried at once.

        Raises UnknownMailError, and EventIdReusedError where its id stands for another event by now.
        """
        self._core.admit("retry", writes=True)
        return await self._effects.post.retry(number)

    async def discard(self, number: int) -> Mail:
        """Forgets mail that is refused, dead or unreadable, and returns it. Raises UnknownMailError."""
        self._core.admit("discard", writes=True)
        return await self._effects.post.discard(number)

    async def fire_timer(self, number: int, *, reason: str) -> Mail:
        """Deliver a timer now, in its turn, instead of when it is due; other mail with a due time, too.

        number: of the timer, as `mail` lists it. reason: why, for the history, where the event's origin is "operator".
        Raises NoTimerError if no such mail waits, PayloadError if the reason is empty.
        """
        self._core.admit("fire_timer", writes=True)
        return await fire_timer(self._core, self._effects, number, reason)

    async def end_invoke(
        self,
        agent_id: AgentId,
        invoke: str,
        result: Any = None,
        *,
        error: str | None = None,
        reason: str,
        idempotency_key: str | None = None,
    ) -> Receipt:
        """End an invoke that an agent is running: with a result in its function's place, or with an error.

        The function is cancelled, and the agent gets `done.invoke.<id>`, or `error.invoke.<id>` with the message.
        invoke: the invoke's id. reason: why, for the history, where the event's origin is "operator".
        idempotency_key: repeating the call with the same key ends nothing again. It is the id of the event.
        Raises UnknownAgentError, NoInvokeError if the agent is not running it, and PayloadError.
        """
        self._core.admit("end_invoke", writes=True)
        return await end_invoke(
            self._core,
            self._effects,
            agent_id,
            invoke,
            result=result,
            error=error,
            reason=reason,
            idempotency_key=idempotency_key,
        )

    async def handoff(
        self,
        agent_id: AgentId,
        *,
        to: Name | AnyGraph,
        at: Name,
        packet: HandoffPacket | None = None,
        reason: Reason | str | None = None,
        agent: AgentId | None = None,
        mode: Mode | str = Mode.TRANSFER,
        deadline: Delay | datetime | None = None,
        fallbacks: Fallbacks | None = None,
        idempotency_key: str | None = None,
    ) -> str:
        """Has an agent hand on its work, and returns the handoff's id: what `Turn.handoff` does, asked from outside.

        The agent waits where it is. Where its graph says nothing of `handoff.accepted`, it ends with that.
        idempotency_key: repeating the call with the same key returns the id of the handoff that the first call offered.
        Raises UnknownAgentError, PayloadError, and EventRefusedError where the agent has ended.
        """
        self._core.admit("handoff", writes=True)

        def ask(turn: Turn) -> str:
            return turn.handoff(
                to, at=at, packet=packet, reason=reason, agent=agent, mode=mode, deadline=deadline, fallbacks=fallbacks
            )

        return await (await self._effects.directory.get(known_id(agent_id))).hand_on(
            ask, checked_id(idempotency_key, "idempotency_key")
        )

    async def handoffs(
        self,
        *,
        handoff_id: str | None = None,
        request: str | None = None,
        source: AgentId | None = None,
        target: AgentId | None = None,
        status: HandoffStatus | str | None = None,
        after: int = 0,
        limit: int = 100,
    ) -> Sequence[HandoffRecord]:
        """Handoffs in the order offered, a page at a time: pass the number of the last as `after`.

        request: all attempts of one, by the id of the first. Raises PayloadError.
        """
        self._core.admit("handoffs", writes=False)
        query = handoffs_asked(
            handoff_id=handoff_id,
            request=request,
            source=source,
            target=target,
            status=status,
            after=after,
            limit=limit,
        )
        return await self._core.store.handoffs(query)

    async def cancel_handoff(self, handoff_id: str, *, reason: str, idempotency_key: str | None = None) -> Receipt:
        """Withdraws a handoff: one that is not accepted is cancelled, a delegation ended, a transfer stands.

        The agent that asked gets `handoff.failed` with the reason. The order of the target's mail decides.
        One that is listed as unreadable is forgotten.
        idempotency_key: repeating the call with the same key withdraws nothing again. It is the id of the mail.
        Raises NoHandoffError where there is none, or it is over.
        """
        self._core.admit("cancel_handoff", writes=True)
        checked_words(reason)
        checked_id(idempotency_key, "idempotency_key")
        found = await self._core.store.handoffs(HandoffQuery(id=known_handoff(handoff_id)))
        is_lost = not found or found[0].status is HandoffStatus.UNREADABLE
        if is_lost and await self._core.store.forget_handoff(handoff_id):
            return Receipt(0)
        if not found or not is_open(found[0].status):
            if (
                found
                and idempotency_key is not None
                and await is_withdrawn(self._core.store, found[0], reason, idempotency_key)
            ):
                return Receipt(self._core.store.numbers(1), repeat=True)
            raise NoHandoffError(handoff_id, found[0].status.value if found else None)
        told = {"handoff": handoff_id, "expired": False, "reason": reason}
        mail = Mail(0, found[0].target, WITHDRAWN, told, self._core.clock.now(), idempotency_key, found[0].source)
        return await self._effects.post.post(mail)

    @asynccontextmanager
    async def changes(self) -> AsyncIterator[Subscription[HistoryEntry]]:
        """The turns of all agents as they are committed from now on, for dashboards and tests.

        `async with runtime.changes() as changes: async for entry in changes: ...`. What a subscriber leaves lying too
        long is lost, and told by a FeedLaggedError. Raises ReadOnlyError: only the owner is told of what it commits.
        """
        self._core.admit_watcher("changes", "read the history of its agents, or watch where the owner runs")
        subscription = self._core.changes.subscribe(None)
        try:
            yield subscription
        finally:
            self._core.changes.leave(None, subscription)

    @asynccontextmanager
    async def stream(self, agent_id: AgentId, invoke: str) -> AsyncIterator[Subscription[Any]]:
        """What an invoke of the agent gives to `work.publish` from now on, until it ends. Raises ReadOnlyError."""
        self._core.admit_watcher("stream", "watch where the owner runs")
        streams, key = self._effects.invokes.streams, (known_id(agent_id), invoke)
        subscription = streams.subscribe(key)
        try:
            yield subscription
        finally:
            streams.leave(key, subscription)

    async def migrate(self, *, dry_run: bool = False) -> AsyncIterator[Migrated]:
        """What becomes of every stored agent, given the graphs that are registered, in the order they were started.

        An agent whose version is not registered is brought to the newest; one that fits nowhere stays as it was, and
        the others go on. dry_run: only tell; a runtime that was opened for reading can do that, too.
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
        ids_for: timedelta = timedelta(days=7),
        on_progress: Callable[[Forgotten], None] | None = None,
        dry_run: bool = False,
    ) -> Forgotten:
        """Forgets what is old, part by part, and returns how much that was; turns go on in between.

        Ages are given as a timedelta, or as the aware datetime before which all may go. The newest turn of an agent
        always stays, and all from the oldest on whose event id still has to be recognised.

        ended_before: erases agents whose last turn, with which they ended, is older. status: of these, only those
        that are done, failed or stopped, as it says. turns_before: turns of the other agents that are older.
        keep_turns: turns beyond so many newest ones of each agent; with `turns_before`, what either lets go goes.
        mail_before: refused and dead mail accepted before. ids_for: how long the id of an event is recognised when it
        repeats. on_progress: called after each part. dry_run: only tell; a runtime that was opened for reading can do
        that, too.

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

    async def _begin(
        self, graph: AnyGraph, entry: EntryPoint, payload: BaseModel | None, agent_id: AgentId, event: Event
    ) -> Agent:
        with OpenTurn(agent_id):
            turn = await begin(graph, entry, payload, agent_id, event, self._core.services)
        turn = self._core.numbered(turn)
        directory = self._effects.directory
        with directory.holding((agent_id,)), self._core.telemetry.begin(turn) as turn:
            if await self._core.committer.commit(turn) is Verdict.STALE:
                if event.id is not None and await turn_of(self._core.store, agent_id, event, event.id) is not None:
                    return await self.resume(agent_id)
                raise AgentExistsError(agent_id)
            agent = directory.settle(graph, turn.snapshot, with_id(frozenset(), event.id))
        agent.tell(turn)
        await self._effects.post.collect(agent_id)
        return Agent(agent)

    async def _erase(self, agent_id: AgentId) -> None:
        await erase(self._core, agent_id, lambda: self._stop_unseen(agent_id), self._effects.accept)
        self._effects.forget(agent_id)
        agent = self._effects.directory.known(agent_id)
        if agent is not None:  # it was resumed meanwhile
            agent.forget()

    async def _stop_unseen(self, agent_id: AgentId) -> None:
        """Ends an agent that is not in memory, unless it changes meanwhile, or cannot be read."""
        try:
            snapshot = await self._core.store.load(agent_id)
        except StoreCorruptError:
            logger.warning("an agent is erased that cannot be read", extra={"agent_id": agent_id})
            return
        if snapshot.status is Status.ACTIVE:
            turn = self._core.numbered(stopped(snapshot, self._core.clock.now()))
            await self._core.committer.commit(turn, lambda: self._effects.carry_out(turn))
