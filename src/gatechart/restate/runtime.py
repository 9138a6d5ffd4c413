"""The runtime on a distributed engine: the verbs of `Runtime`, for callers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, NoReturn
from weakref import WeakValueDictionary

from pydantic_core import to_json

from gatechart.agent import Agent
from gatechart.api import (
    AgentHome,
    BaseCommand,
    CancelHandoffCommand,
    Command,
    DiscardCommand,
    EndInvokeCommand,
    EraseCommand,
    FindCommand,
    FireTimerCommand,
    HandoffCommand,
    HandoffsCommand,
    HistoryCommand,
    MailCommand,
    PostCommand,
    ReadCommand,
    RetryCommand,
    RollbackCommand,
    SendCommand,
    SnapshotAtCommand,
    StartCommand,
    StartOnCommand,
    StopCommand,
    check_writable,
)
from gatechart.errors import (
    EngineRefusedError,
    IncompatibleGraphError,
    NoHandoffError,
    OpenHandoffError,
    RuntimeClosedError,
    UnknownAgentError,
)
from gatechart.graph import AnyGraph
from gatechart.handoff import is_open
from gatechart.hosting.idempotency import is_withdrawn
from gatechart.hosting.registry import Registry, handoff_query, in_full
from gatechart.hosting.rollback import check_given_away
from gatechart.hosting.system import random_id
from gatechart.hosting.turn_guard import check_outside_turns
from gatechart.ports import Ids, Store
from gatechart.restate.host import RestateHost
from gatechart.restate.ingress import Ingress
from gatechart.restate.state import MAIL, MAILS, SNAPSHOT, plain
from gatechart.restate.terms import Names
from gatechart.stores import open_store
from gatechart.turn import (
    checked_addressee,
    checked_due,
    checked_ending,
    checked_id,
    checked_operator_reason,
    fit_payload,
    known_handoff,
    known_id,
    plain_payload,
)
from gatechart.values import (
    WITHDRAWN,
    AgentId,
    Capabilities,
    HandoffQuery,
    HandoffRecord,
    HistoryEntry,
    Mail,
    Name,
    Outcome,
    Page,
    Receipt,
    Role,
    Snapshot,
)

logger = logging.getLogger(__name__)

RESTATE: Final = Capabilities(
    home="Restate",
    finds_at_once=False,
    tells_at_once=False,
    shows_at_once=False,
    reads_back_at_once=False,
    watches_changes=False,
    migrates_ahead=False,
    bounds_backlogs=False,
    withdraws=False,
    tells_repeats=False,
    lists_all_mail=False,
    takes_a_clock=False,
    forgets_at_once=False,
    prunes=False,
    keeps_ids=200,
    settles_at_once=False,
)
LOOK_S: Final = 0.05
ANSWERS_S: Final = 2.0  # time for a service to give a place in an inbox
AWAY_S: Final = 10.0  # pause before the next request after a service failed to answer
NO_PLACE: Final[Mapping[str, Any]] = MappingProxyType({})
CATCH_UP: Final = timedelta(seconds=30)


class RestateRuntime(AgentHome):
    """A runtime whose agents Restate hosts. Open it with `async with RestateRuntime.open(...) as runtime`."""

    @property
    def capabilities(self) -> Capabilities:
        """Features of an engine."""
        return RESTATE

    def __init__(self, ingress: Ingress, registry: Registry, store: Store | None, ids: Ids, names: Names) -> None:
        self._ingress = ingress
        self._registry = registry
        self._store = store
        self._ids = ids
        self._names = names
        self._is_open = True
        self._asks_again = 0.0  # earliest time to ask a service for places again, by the loop's clock
        self._hosts: WeakValueDictionary[AgentId, RestateHost] = WeakValueDictionary()  # of agents with live handles
        self._lines: WeakValueDictionary[AgentId, asyncio.Lock] = WeakValueDictionary()  # keep requests in order

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
    ) -> AsyncIterator[RestateRuntime]:
        """Open a runtime on the engine whose ingress listens at `url`, such as `http://127.0.0.1:8080`.

        url: several for a cluster without a shared address; if a node does not answer, the next is tried.
        graphs: the same as in the service, which runs their actions.
        projection: the store into which the service projects turns, opened read-only; without it `find`, `history`,
            `snapshot_at` and `rollback` are unavailable.
        namespace: that of the service.
        patience_s: how long to retry an engine that does not answer.
        close_s: how long pending calls may take to end on exit; the engine has their requests by then.
        """
        registry = Registry(graphs)
        async with AsyncExitStack() as stack:
            ingress = await stack.enter_async_context(Ingress.open(url, patience_s=patience_s))
            store = None
            if projection is not None:
                store = await stack.enter_async_context(open_store(projection, role=Role.READER))
            runtime = cls(ingress, registry, store, ids, Names(namespace))
            try:
                yield runtime
            finally:
                # New calls are refused first, so that the wait for pending ones can end.
                runtime._is_open = False
                await ingress.leave(close_s)

    @property
    def graphs(self) -> tuple[AnyGraph, ...]:
        """Newest version of each registered graph."""
        return self._registry.graphs

    def register(self, graph: AnyGraph) -> None:
        """Add a graph, or another version of one. The service needs it, too. Raises DuplicateGraphError."""
        self._registry.register(graph)

    async def execute(self, command: Command) -> Any:
        """Execute a command and return its result. Raises what the verb raises."""
        return await _EXECUTORS[type(command)](self, command)

    async def _start_agent(
        self, graph: Name | AnyGraph, at: Name, payload: Any, agent_id: AgentId | None, idempotency_key: str | None
    ) -> Agent[Any]:
        """Start an agent. Its newest ids are recognised as keys, `capabilities.keeps_ids` of them."""
        self._admit("start")
        chosen = self._registry.graph(graph)
        entry = chosen.entry_point(at)
        fitted = fit_payload(chosen.name, entry, payload)
        agent_id = checked_id(agent_id) or checked_id(idempotency_key) or self._ids()
        plain_fitted = plain_payload(fitted, entry.name)
        told = {"graph": chosen.name, "at": entry.name, "payload": plain_fitted, "once": idempotency_key}
        return await self._handle(await self.ask("begin", agent_id, told))

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
        """See AgentHome."""
        return await self._handle(await self.looked("resume", agent_id))

    def graph_of(self, snapshot: Snapshot) -> AnyGraph:
        """Return the graph that drives an agent. Raises UnknownGraphError and IncompatibleGraphError."""
        return self._registry.graph_for(snapshot)

    async def lag(self, agent_id: AgentId) -> int:
        """Return how many committed turns of the agent are not projected yet. Raises UnknownAgentError."""
        told = await self.looked("lag", agent_id)
        return int(told["snapshot"]["version"]) - int(told["projected"])

    async def caught_up(self, agent_id: AgentId) -> None:
        """Return once all turns committed so far are projected. Raises TimeoutError after 30 seconds."""
        newest = (await self.look("caught_up", agent_id)).version
        async with asyncio.timeout(CATCH_UP.total_seconds()):
            while (await self.looked("caught_up", agent_id))["projected"] < newest:  # noqa: ASYNC110  the engine tells nobody
                await asyncio.sleep(LOOK_S)

    async def prune(self, **_: Any) -> NoReturn:
        """Raise ElsewhereError."""
        self._elsewhere("prune", "prune the projection with `gatechart prune`; the engine keeps no past")

    def migrate(self, *, dry_run: bool = False) -> NoReturn:  # noqa: ARG002
        """Raise ElsewhereError."""
        self._elsewhere("migrate", "each agent migrates when something comes to it")

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

    async def _rollback(self, command: RollbackCommand) -> Snapshot:
        agent = await self.resume(command.agent_id)
        return await agent.rollback(command.version, reason=command.reason, idempotency_key=command.idempotency_key)

    async def _find(self, command: FindCommand) -> Page:
        """Find agents. Results lag behind the engine, in the order in which agents were projected."""
        query = self._registry.query(command.graph, command.state, command.status, command.after, command.limit)
        return await self._projection("find").find(query)

    async def _history(self, command: HistoryCommand) -> Sequence[HistoryEntry]:
        """Return the history, which lags behind the engine by the turns that `lag` counts."""
        store, agent_id = self._projection("history"), known_id(command.agent_id)
        try:
            return await store.history(agent_id, after=command.after, limit=command.limit)
        except UnknownAgentError:
            await self.look("history", agent_id)
            return ()

    async def _snapshot_at(self, command: SnapshotAtCommand) -> Snapshot:
        """Return an old snapshot, after waiting for the projection."""
        store = self._projection("snapshot_at")
        await self.caught_up(command.agent_id)
        return await store.snapshot_at(known_id(command.agent_id), command.version)

    async def _stop(self, command: StopCommand) -> Snapshot:
        host = self._hosts.get(known_id(command.agent_id))
        answer = await self.ask("stop", command.agent_id, {})
        stopped = SNAPSHOT.validate_python(answer["snapshot"])
        return stopped if host is None else host.see(stopped)

    async def _erase(self, command: EraseCommand) -> None:
        """Erase the agent. The engine keeps journals until their retention ends, and the projection follows."""
        await self.ask("erase", known_id(command.agent_id), {})
        self._hosts.pop(command.agent_id, None)

    async def _post(self, command: PostCommand) -> Receipt:
        """Post mail. The receipt does not tell repeats, which are detected on arrival.

        Raises InboxFullError if as much mail waits as the service's `ServiceConfig` allows.
        """
        self._admit("post")
        to, event_id, due = checked_addressee(command.to), checked_id(command.event_id), checked_due(command.due)
        mail = Mail(0, to, command.event, command.payload, datetime.now(UTC), event_id, due=due)
        await self._deliver("post", mail, in_place=True)
        return Receipt(0)

    async def _mail(self, command: MailCommand) -> Sequence[Mail]:
        """List an agent's mail, which is numbered per agent."""
        self._admit("mail")
        to = self._recipient("mail", command.to)
        told = await self._ingress.ask("mail", self._names.agent, "mails", to, reads=True)
        found = [each for each in MAILS.validate_python(told or []) if each.number > command.after]
        return [each for each in found if command.status in (None, each.status)][: command.limit]

    async def _retry(self, command: RetryCommand) -> Mail:
        self._admit("retry")
        to, told = self._recipient("retry", command.to), {"number": command.number}
        # An agent that waits for this very attempt is busy until then: only a shared handler reaches it.
        lifted = await self._ingress.ask("retry", self._names.agent, "lift", to, told, reads=True)
        if lifted is not None:
            return MAIL.validate_python(lifted["mail"])
        return MAIL.validate_python((await self.ask("retry", to, told))["mail"])

    async def _discard(self, command: DiscardCommand) -> Mail:
        to = self._recipient("discard", command.to)
        return MAIL.validate_python((await self.ask("discard", to, {"number": command.number}))["mail"])

    async def _fire_timer(self, command: FireTimerCommand) -> Mail:
        to = self._recipient("fire_timer", command.to)
        told = {"number": command.number, "reason": checked_operator_reason(command.reason)}
        return MAIL.validate_python((await self.ask("fire_timer", to, told))["mail"])

    async def _end_invoke(self, command: EndInvokeCommand) -> Receipt:
        kind, payload = checked_ending(command.invoke, command.result, command.error)
        told = {
            "invoke": command.invoke,
            "kind": kind,
            "payload": payload,
            "once": checked_id(command.idempotency_key),
            "reason": checked_operator_reason(command.reason),
        }
        answer = await self.ask("end_invoke", known_id(command.agent_id), told)
        return Receipt(answer["number"], answer["repeat"])

    async def _handoff(self, command: HandoffCommand) -> str:
        checked_id(command.idempotency_key, "idempotency_key")
        check_writable(command)
        answer = await self.ask("hand_on", known_id(command.agent_id), command.model_dump(mode="json"))
        return str(answer["handoff"])

    async def _cancel_handoff(self, command: CancelHandoffCommand) -> Receipt:
        """Cancel a handoff, which must be projected."""
        store, key = self._projection("cancel_handoff"), checked_id(command.idempotency_key)
        reason, handoff_id = checked_operator_reason(command.reason), known_handoff(command.handoff_id)
        found = await store.handoffs(HandoffQuery(id=handoff_id))
        if not found or not is_open(found[0].status):
            if found and key is not None and await is_withdrawn(store, found[0], reason, key):
                return Receipt(0, repeat=True)
            raise NoHandoffError(handoff_id, found[0].status.value if found else None)
        told = {"handoff": handoff_id, "expired": False, "reason": reason}
        mail = Mail(0, found[0].target, WITHDRAWN, told, datetime.now(UTC), key, sender=found[0].source)
        await self._deliver("cancel_handoff", mail)
        return Receipt(0)

    async def _handoffs(self, command: HandoffsCommand) -> Sequence[HandoffRecord]:
        """List handoffs. The list lags, and those rejected or withdrawn without a turn stay pending."""
        return await self._projection("handoffs").handoffs(handoff_query(command))

    def _recipient(self, call: str, to: AgentId | None) -> AgentId:
        return self._elsewhere(call, "name the agent whose mail it is with to=") if to is None else known_id(to)

    async def ask(self, verb: str, agent_id: AgentId, told: Mapping[str, Any]) -> Any:
        """Call the agent's object and return its answer. Raises what the verb raises there.

        Concurrent requests to one agent go to the engine in the order made, which separate connections would not keep.
        """
        self._admit(verb)
        with self._ingress.calling():
            async with self._lines.setdefault(agent_id, asyncio.Lock()):
                return await self._ingress.ask(verb, self._names.agent, verb, agent_id, told, reads=False)

    async def look(self, call: str, agent_id: AgentId) -> Snapshot:
        """Return the agent's newest snapshot. Raises UnknownAgentError."""
        return SNAPSHOT.validate_python((await self.looked(call, agent_id))["snapshot"])

    async def passed(self, agent_id: AgentId, leaves: frozenset[str], after: int, upto: int) -> Snapshot | None:
        """Return the first projected snapshot after a version in which one of the leaves was active."""
        if self._store is None or upto <= after:
            return None
        try:
            turns = await self._store.history(agent_id, after=after)
        except UnknownAgentError:
            return None
        found = next((each.version for each in turns if not leaves.isdisjoint(each.target)), None)
        return None if found is None else await self._store.snapshot_at(agent_id, found)

    async def passed_at_all(
        self,
        agent_id: AgentId,
        leaves: frozenset[str],
        after: int,
        upto: int,
    ) -> Snapshot | None:
        """Return the same as `passed`, after waiting until all turns of an agent that has ended are projected."""
        if self._store is None:
            return None
        await self.caught_up(agent_id)
        return await self.passed(agent_id, leaves, after, upto)

    async def given_away(self, before: Snapshot, target: Snapshot) -> tuple[str, ...]:
        """Return the projected handoffs that forbid a rollback: others work on what the agent would regain."""
        try:
            await check_given_away(self._projection("rollback"), before, target)
        except OpenHandoffError as error:
            return error.handoffs
        return ()

    async def looked(self, call: str, agent_id: AgentId) -> dict[str, Any]:
        """Return the summary of the agent's object. Raises UnknownAgentError."""
        self._admit(call)
        told: dict[str, Any] | None = await self._ingress.ask(
            call, self._names.agent, "look", known_id(agent_id), reads=True
        )
        if told is None:
            raise UnknownAgentError(agent_id)
        return told

    async def _handle(self, told: Mapping[str, Any]) -> Agent[Any]:
        snapshot = SNAPSHOT.validate_python(told["snapshot"])
        try:
            graph = self._registry.graph_for(snapshot)
        except IncompatibleGraphError as error:
            if self._store is None:
                raise
            raise await in_full(self._store, error, snapshot) from error
        host = self._hosts.get(snapshot.agent_id)
        if host is None or host.life != told["life"]:
            host = self._hosts[snapshot.agent_id] = RestateHost(self, graph, snapshot, told["life"])
        host.see(snapshot)
        return Agent(host)

    async def _deliver(self, call: str, mail: Mail, *, in_place: bool = False) -> None:
        """Send mail to an agent. in_place: reserve room in its inbox first; raises InboxFullError if there is none."""
        told = {"mail": plain(MAIL, mail)}
        if in_place:
            told |= await self._place(call, mail.recipient, len(to_json(told, inf_nan_mode="constants")))
        await self._ingress.post(call, self._names.agent, "deliver", mail.recipient, told)

    async def _place(self, call: str, to: AgentId, size: int) -> Mapping[str, Any]:
        """Reserve room in an inbox; none while no service answers, because the engine accepts mail without it.

        Raises InboxFullError.
        """
        now = asyncio.get_running_loop().time
        if now() < self._asks_again:
            return NO_PLACE
        try:
            async with asyncio.timeout(ANSWERS_S):
                told = {"bytes": size}
                place: dict[str, Any] = await self._ingress.ask(call, self._names.inbox, "enter", to, told, reads=False)
                return place
        except (TimeoutError, EngineRefusedError) as error:  # the service is down, or of a release without inboxes
            logger.info("no service counts what is posted", extra={"agent_id": to}, exc_info=error)
            self._asks_again = now() + AWAY_S
            return NO_PLACE

    def _projection(self, call: str) -> Store:
        self._admit(call)
        if self._store is None:
            self._elsewhere(call, "open it with the projection= of the service")
        return self._store

    def _admit(self, call: str) -> None:
        if not self._is_open:
            raise RuntimeClosedError(call)
        check_outside_turns(call)


_EXECUTORS: Final[Mapping[type[BaseCommand], Callable[[RestateRuntime, Any], Awaitable[Any]]]] = {
    StartCommand: RestateRuntime._start,
    StartOnCommand: RestateRuntime._start_on,
    ReadCommand: RestateRuntime._read,
    SendCommand: RestateRuntime._send,
    PostCommand: RestateRuntime._post,
    MailCommand: RestateRuntime._mail,
    RetryCommand: RestateRuntime._retry,
    DiscardCommand: RestateRuntime._discard,
    FireTimerCommand: RestateRuntime._fire_timer,
    StopCommand: RestateRuntime._stop,
    EraseCommand: RestateRuntime._erase,
    RollbackCommand: RestateRuntime._rollback,
    EndInvokeCommand: RestateRuntime._end_invoke,
    HandoffCommand: RestateRuntime._handoff,
    HandoffsCommand: RestateRuntime._handoffs,
    CancelHandoffCommand: RestateRuntime._cancel_handoff,
    SnapshotAtCommand: RestateRuntime._snapshot_at,
    HistoryCommand: RestateRuntime._history,
    FindCommand: RestateRuntime._find,
}
