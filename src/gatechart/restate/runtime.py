"""What hosts agents on a distributed engine, as callers see it: the verbs of `Runtime`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, NoReturn
from weakref import WeakValueDictionary

from pydantic_core import to_json

from gatechart.agent import Agent
from gatechart.api import handoff_call
from gatechart.errors import (
    ElsewhereError,
    EngineRefusedError,
    IncompatibleGraphError,
    NoHandoffError,
    OpenHandoffError,
    RuntimeClosedError,
    UnknownAgentError,
)
from gatechart.graph import AnyGraph, Delay
from gatechart.handoff import Fallbacks, HandoffPacket, is_open
from gatechart.hosting.arguments import check_part, checked_member, checked_operator_reason, ending, handoffs_asked
from gatechart.hosting.idempotency import is_withdrawn
from gatechart.hosting.registry import Registry, in_full
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
    checked_id,
    checked_name,
    checked_words,
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
    HandoffStatus,
    HistoryEntry,
    Mail,
    MailStatus,
    Mode,
    Name,
    Page,
    Reason,
    Receipt,
    Snapshot,
    Status,
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
ANSWERS_S: Final = 2.0  # that a service has to give a place in an inbox
AWAY_S: Final = 10.0  # for which it is not asked again, where it has not
NO_PLACE: Final[Mapping[str, Any]] = MappingProxyType({})
CATCH_UP: Final = timedelta(seconds=30)


class RestateRuntime:
    """Agents that Restate hosts. Open it with `async with RestateRuntime.open(...) as runtime`."""

    capabilities = RESTATE

    def __init__(self, ingress: Ingress, registry: Registry, store: Store | None, ids: Ids, names: Names) -> None:
        self._ingress = ingress
        self._registry = registry
        self._store = store
        self._ids = ids
        self._names = names
        self._is_open = True
        self._asks_again = 0.0  # when a service is asked for places again, by the loop's clock
        self._hosts: WeakValueDictionary[AgentId, RestateHost] = WeakValueDictionary()  # of agents that are held
        self._lines: WeakValueDictionary[AgentId, asyncio.Lock] = WeakValueDictionary()  # of those who ask of an agent

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
        """A runtime on the engine whose ingress listens at the URL, `http://127.0.0.1:8080` for one on this machine.

        url: several for a cluster without an address of its own; where a node does not answer, the next is called.
        graphs: as the service has them, which runs their actions. projection: the store into which the service projects
        turns; it is read only. None: there is no `find`, `history`, `snapshot_at` or `rollback`.
        namespace: that of the service. patience_s: how long an engine that does not answer is called again.
        close_s: how long the calls under way get to end when it is left; what they ask for is the engine's by then.
        """
        registry = Registry(graphs)
        async with AsyncExitStack() as stack:
            ingress = await stack.enter_async_context(Ingress.open(url, patience_s=patience_s))
            store = None
            if projection is not None:
                store = await stack.enter_async_context(open_store(projection, read_only=True))
            runtime = cls(ingress, registry, store, ids, Names(namespace))
            try:
                yield runtime
            finally:
                runtime._is_open = False
                await ingress.leave(close_s)

    @property
    def graphs(self) -> tuple[AnyGraph, ...]:
        """The newest version of each graph whose agents it knows."""
        return self._registry.graphs

    def register(self, graph: AnyGraph) -> None:
        """Adds a graph, or another version of one. The service needs it, too. Raises DuplicateGraphError."""
        self._registry.register(graph)

    async def start(
        self,
        graph: Name | AnyGraph,
        *,
        at: Name,
        payload: Any = None,
        agent_id: AgentId | None = None,
        idempotency_key: str | None = None,
    ) -> Agent:
        """See Runtime.start. Keys are recognised among the agent's newest ids, `capabilities.keeps_ids` of them."""
        self._admit("start")
        chosen = self._registry.graph(graph)
        entry = chosen.entry_point(at)
        fitted = fit_payload(chosen.name, entry, payload)
        agent_id = checked_id(agent_id) or checked_id(idempotency_key) or self._ids()
        told = {
            "graph": chosen.name,
            "at": entry.name,
            "payload": plain_payload(fitted, entry.name),
            "once": idempotency_key,
        }
        answer = await self.ask("begin", agent_id, told)
        return await self._handle(answer)

    async def start_on(
        self,
        trigger: Name,
        payload: Any = None,
        *,
        agent_id: AgentId | None = None,
        idempotency_key: str | None = None,
    ) -> Agent:
        """See Runtime.start_on."""
        graph, entry = self._registry.opened_by(trigger)
        return await self.start(
            graph.name, at=entry.name, payload=payload, agent_id=agent_id, idempotency_key=idempotency_key
        )

    async def resume(self, agent_id: AgentId) -> Agent:
        """See Runtime.resume."""
        return await self._handle(await self.looked("resume", agent_id))

    async def find(
        self,
        *,
        graph: Name | None = None,
        state: Name | None = None,
        status: Status | str | None = None,
        after: AgentId | None = None,
        limit: int = 100,
    ) -> Page:
        """See Runtime.find. It lags behind the engine; the order is that in which agents were projected."""
        query = self._registry.query(graph, state, status, after, limit)
        return await self._projection("find").find(query)

    async def history(
        self,
        agent_id: AgentId,
        *,
        after: int = 0,
        limit: int | None = None,
    ) -> Sequence[HistoryEntry]:
        """See Runtime.history. It lags behind the engine, by what `lag` tells."""
        store = self._projection("history")
        check_part("history", after, limit)
        try:
            return await store.history(known_id(agent_id), after=after, limit=limit)
        except UnknownAgentError:
            await self.look("history", agent_id)
            return ()

    async def lag(self, agent_id: AgentId) -> int:
        """How many turns of the agent are committed and not projected yet. Raises UnknownAgentError."""
        told = await self.looked("lag", agent_id)
        return int(told["snapshot"]["version"]) - int(told["projected"])

    async def caught_up(self, agent_id: AgentId) -> None:
        """Returns once all that is committed of the agent by now can be found. Raises TimeoutError after a while."""
        newest = (await self.look("caught_up", agent_id)).version
        async with asyncio.timeout(CATCH_UP.total_seconds()):
            while (await self.looked("caught_up", agent_id))["projected"] < newest:  # noqa: ASYNC110  the engine tells nobody
                await asyncio.sleep(LOOK_S)

    async def snapshot_at(self, agent_id: AgentId, version: int) -> Snapshot:
        """See Agent.snapshot_at. It waits for the projection."""
        store = self._projection("snapshot_at")
        await self.caught_up(agent_id)
        return await store.snapshot_at(known_id(agent_id), version)

    async def stop(self, agent_id: AgentId) -> Snapshot:
        """See Runtime.stop."""
        host = self._hosts.get(known_id(agent_id))
        answer = await self.ask("stop", agent_id, {})
        stopped = SNAPSHOT.validate_python(answer["snapshot"])
        return stopped if host is None else host.see(stopped)

    async def erase(self, agent_id: AgentId) -> None:
        """See Runtime.erase. The engine keeps its journals until their retention ends, the projection follows."""
        await self.ask("erase", known_id(agent_id), {})
        self._hosts.pop(agent_id, None)

    async def post(
        self,
        to: AgentId,
        event: Name,
        payload: Any = None,
        *,
        event_id: str | None = None,
        due: datetime | None = None,
    ) -> Receipt:
        """See Runtime.post. Whether its id came before is found when it arrives, and the receipt does not tell.

        Raises InboxFullError where so much mail waits as the service's `Terms(inbox=..., inbox_bytes=...)` allow.
        """
        self._admit("post")
        name = checked_name(event)
        content, moment = plain_payload(payload, name), checked_due(due)
        mail = Mail(0, checked_addressee(to), name, content, datetime.now(UTC), checked_id(event_id), due=moment)
        await self._post("post", mail, in_place=True)
        return Receipt(0)

    async def mail(
        self,
        to: AgentId | None = None,
        *,
        status: MailStatus | str | None = None,
        after: int = 0,
        limit: int = 100,
    ) -> Sequence[Mail]:
        """See Runtime.mail. It has to be one agent's, whose mail has numbers of its own."""
        self._admit("mail")
        if to is None:
            self._elsewhere("mail", "name the agent whose mail it is")
        check_part("mail", after, limit)
        wanted = None if status is None else checked_member("mail", "status", status, MailStatus)
        told = await self._ingress.ask("mail", self._names.agent, "mails", known_id(to), reads=True)
        found = [each for each in MAILS.validate_python(told or []) if each.number > after]
        return [each for each in found if wanted in (None, each.status)][:limit]

    async def retry(self, number: int, *, to: AgentId) -> Mail:
        """See Runtime.retry. to: the agent whose mail it is."""
        self._admit("retry")
        names, told = self._names, {"number": number}
        lifted = await self._ingress.ask("retry", names.agent, "lift", known_id(to), told, reads=True)
        if lifted is not None:
            return MAIL.validate_python(lifted["mail"])
        return MAIL.validate_python((await self.ask("retry", known_id(to), {"number": number}))["mail"])

    async def discard(self, number: int, *, to: AgentId) -> Mail:
        """See Runtime.discard. to: the agent whose mail it is."""
        return MAIL.validate_python((await self.ask("discard", known_id(to), {"number": number}))["mail"])

    async def fire_timer(self, number: int, *, to: AgentId, reason: str) -> Mail:
        """See Runtime.fire_timer. to: the agent whose timer it is."""
        told = {"number": number, "reason": checked_operator_reason(reason)}
        return MAIL.validate_python((await self.ask("fire_timer", known_id(to), told))["mail"])

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
        """See Runtime.end_invoke."""
        kind, payload = ending(invoke, result, error)
        told = {"invoke": invoke, "kind": kind, "payload": payload, "once": checked_id(idempotency_key)}
        answer = await self.ask("end_invoke", known_id(agent_id), told | {"reason": checked_operator_reason(reason)})
        return Receipt(answer["number"], answer["repeat"])

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
        """See Runtime.handoff."""
        call = handoff_call(
            known_id(agent_id),
            to=to,
            at=at,
            packet=packet,
            reason=reason,
            agent=agent,
            mode=mode,
            deadline=deadline,
            fallbacks=fallbacks,
            idempotency_key=checked_id(idempotency_key),
        )
        answer = await self.ask("hand_on", call.agent_id, call.model_dump(mode="json"))
        return str(answer["handoff"])

    async def cancel_handoff(self, handoff_id: str, *, reason: str, idempotency_key: str | None = None) -> Receipt:
        """See Runtime.cancel_handoff. The handoff has to be projected. Raises NoHandoffError."""
        checked_words(reason)
        found = await self._projection("cancel_handoff").handoffs(HandoffQuery(id=known_handoff(handoff_id)))
        if not found or not is_open(found[0].status):
            if (
                found
                and idempotency_key is not None
                and await is_withdrawn(self._projection("cancel_handoff"), found[0], reason, idempotency_key)
            ):
                return Receipt(0, repeat=True)
            raise NoHandoffError(handoff_id, found[0].status.value if found else None)
        told = {"handoff": handoff_id, "expired": False, "reason": reason}
        mail = Mail(
            0, found[0].target, WITHDRAWN, told, datetime.now(UTC), checked_id(idempotency_key), sender=found[0].source
        )
        await self._post("cancel_handoff", mail)
        return Receipt(0)

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
        """See Runtime.handoffs. It lags, and those that were rejected or withdrawn without a turn stay pending."""
        query = handoffs_asked(
            handoff_id=handoff_id,
            request=request,
            source=source,
            target=target,
            status=status,
            after=after,
            limit=limit,
        )
        return await self._projection("handoffs").handoffs(query)

    def changes(self) -> NoReturn:
        """Raises ElsewhereError."""
        self._elsewhere("changes", "read the history of its agents, a page at a time")

    def stream(self, agent_id: AgentId, invoke: str) -> NoReturn:  # noqa: ARG002
        """Raises ElsewhereError."""
        self._elsewhere("stream", "have the function report its progress")

    async def prune(self, **_: Any) -> NoReturn:
        """Raises ElsewhereError."""
        self._elsewhere("prune", "prune the projection with `gatechart prune`; the engine keeps no past")

    def migrate(self, *, dry_run: bool = False) -> NoReturn:  # noqa: ARG002
        """Raises ElsewhereError."""
        self._elsewhere("migrate", "each agent migrates when something comes to it")

    async def ask(self, verb: str, agent_id: AgentId, told: Mapping[str, Any]) -> Any:
        """What the agent's object answers. Raises what the verb raises there.

        What is asked of one agent at once goes to the engine in the order asked: connections would not keep it.
        """
        self._admit(verb)
        with self._ingress.calling():
            async with self._lines.setdefault(agent_id, asyncio.Lock()):
                return await self._ingress.ask(verb, self._names.agent, verb, agent_id, told, reads=False)

    async def look(self, call: str, agent_id: AgentId) -> Snapshot:
        """The agent's newest snapshot. Raises UnknownAgentError."""
        return SNAPSHOT.validate_python((await self.looked(call, agent_id))["snapshot"])

    async def passed(self, agent_id: AgentId, leaves: frozenset[str], after: int, upto: int) -> Snapshot | None:
        """The first projected snapshot behind a version in which one of the leaves was active."""
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
        """As `passed`, once all that is committed of the agent is projected: of one that has ended, nothing follows."""
        if self._store is None:
            return None
        await self.caught_up(agent_id)
        return await self.passed(agent_id, leaves, after, upto)

    async def given_away(self, before: Snapshot, target: Snapshot) -> tuple[str, ...]:
        """The handoffs, as projected, for which an agent cannot go back: others work on what it would have again."""
        try:
            await check_given_away(self._projection("rollback"), before, target)
        except OpenHandoffError as error:
            return error.handoffs
        return ()

    async def looked(self, call: str, agent_id: AgentId) -> dict[str, Any]:
        """What the agent's object tells of itself. Raises UnknownAgentError."""
        self._admit(call)
        told: dict[str, Any] | None = await self._ingress.ask(
            call, self._names.agent, "look", known_id(agent_id), reads=True
        )
        if told is None:
            raise UnknownAgentError(agent_id)
        return told

    async def _handle(self, told: Mapping[str, Any]) -> Agent:
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

    async def _post(self, call: str, mail: Mail, *, in_place: bool = False) -> None:
        """in_place: only where the inbox has a place for it. Raises InboxFullError."""
        told = {"mail": plain(MAIL, mail)}
        if in_place:
            told |= await self._place(call, mail.recipient, len(to_json(told, inf_nan_mode="constants")))
        await self._ingress.post(call, self._names.agent, "deliver", mail.recipient, told)

    async def _place(self, call: str, to: AgentId, size: int) -> Mapping[str, Any]:
        """A place in an inbox; none while no service answers: the engine accepts mail all the same, and nobody counts.

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
        except (TimeoutError, EngineRefusedError) as error:  # it is away, or of a release without inboxes
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

    def _elsewhere(self, call: str, instead: str) -> NoReturn:
        raise ElsewhereError(call, self.capabilities.home, instead)
