"""Calls to the object of an agent from outside, and the handle of an agent that makes them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Final
from weakref import WeakValueDictionary

from pydantic_core import to_json

from gatechart.api.home import AgentHome
from gatechart.api.remote_agent import RemoteAgent
from gatechart.errors.event import OpenHandoffError, UnknownAgentError
from gatechart.errors.operation import RuntimeClosedError
from gatechart.errors.outside import EngineRefusedError, EngineUnreachableError
from gatechart.hosting.rollback import check_given_away
from gatechart.hosting.turn_guard import check_outside_turns
from gatechart.ports import Store
from gatechart.restate.ingress import NOTHING, Ingress
from gatechart.restate.process_breakers import ALL, RECORD
from gatechart.restate.state import MAIL, OUTCOME, SNAPSHOT, plain
from gatechart.restate.terms import Names
from gatechart.turn.arguments import (
    check_version,
    checked_id,
    checked_name,
    checked_operator_reason,
    known_id,
    plain_payload,
)
from gatechart.values.agents import Outcome, Snapshot, Status
from gatechart.values.breakers import BreakerRecord
from gatechart.values.mail import Mail
from gatechart.values.names import AgentId, Name
from gatechart.values.queries import HistoryEntry

logger = logging.getLogger(__name__)

LOOK_S: Final = 0.05
CATCH_UP: Final = timedelta(seconds=30)
ANSWERS_S: Final = 2.0  # time limit for a service to reserve a place in an inbox
READS_S: Final = 10.0  # time limit for a service to read objects that belong to no agent
AWAY_S: Final = 10.0  # pause before the next request after a service failed to answer
NO_PLACE: Final[Mapping[str, Any]] = MappingProxyType({})


class AgentCalls:
    """Calls to the objects of agents, on behalf of a runtime's verbs."""

    def __init__(self, ingress: Ingress, names: Names) -> None:
        self.ingress = ingress
        self.names = names
        self._is_open = True
        self._asks_again = 0.0  # earliest time to request places from a service again, by the loop's clock
        self._lines: WeakValueDictionary[AgentId, asyncio.Lock] = WeakValueDictionary()  # keep requests in order

    async def close(self, within_s: float) -> None:
        """Refuse new calls, then wait until no call is running, for a limited time."""
        self._is_open = False
        await self.ingress.leave(within_s)

    def admit(self, call: str) -> None:
        """Raise RuntimeClosedError if the runtime is closed, and InsideTurnError within a turn."""
        if not self._is_open:
            raise RuntimeClosedError(call)
        check_outside_turns(call)

    async def ask(self, verb: str, agent_id: AgentId, argument: Mapping[str, Any] = NOTHING) -> Any:
        """Call the agent's object and return its answer. Raises the verb's exceptions.

        Concurrent requests to one agent reach the engine in the order made; separate connections would not keep it.
        """
        self.admit(verb)
        with self.ingress.calling():
            async with self._lines.setdefault(agent_id, asyncio.Lock()):
                return await self.ingress.ask(verb, self.names.agent, verb, agent_id, argument, reads=False)

    async def read(self, call: str, handler: str, agent_id: AgentId, argument: Mapping[str, Any] = NOTHING) -> Any:
        """Call a shared handler of the agent's object, which answers while the agent is busy."""
        self.admit(call)
        return await self.ingress.ask(call, self.names.agent, handler, agent_id, argument, reads=True)

    async def breakers(self) -> Sequence[BreakerRecord]:
        """Return the circuit breakers that are not closed, by name.

        Raises EngineUnreachableError if no service answers within 10 seconds; the engine itself would wait for one.
        """
        self.admit("breakers")
        try:
            async with asyncio.timeout(READS_S):
                records = await self.ingress.ask("breakers", self.names.breaker_list, "read", ALL, reads=True)
        except TimeoutError:
            problem = (
                f"no service of its agents did within {READS_S:g} s; start `gatechart restate serve`, and register it"
            )
            raise EngineUnreachableError(self.ingress.url, problem) from None
        return sorted((RECORD.validate_python(record) for record in records), key=lambda record: record.name)

    async def change_breaker(self, verb: str, handler: str, name: str, argument: Mapping[str, Any]) -> BreakerRecord:
        """Call a handler of the breaker's object and return the breaker's new record."""
        self.admit(verb)
        with self.ingress.calling():
            answer = await self.ingress.ask(verb, self.names.breakers, handler, name, argument, reads=False)
        return RECORD.validate_python(answer["record"])

    async def look(self, call: str, agent_id: AgentId) -> dict[str, Any]:
        """Return the summary of the agent's object. Raises UnknownAgentError."""
        summary: dict[str, Any] | None = await self.read(call, "look", known_id(agent_id))
        if summary is None:
            raise UnknownAgentError(agent_id)
        return summary

    async def caught_up(self, agent_id: AgentId) -> None:
        """Return once all turns committed so far are projected. Raises TimeoutError after 30 seconds."""
        newest = (await self.look("caught_up", agent_id))["snapshot"]["version"]
        async with asyncio.timeout(CATCH_UP.total_seconds()):
            while (await self.look("caught_up", agent_id))["projected"] < newest:  # noqa: ASYNC110  the engine does not notify
                await asyncio.sleep(LOOK_S)

    async def deliver(self, call: str, mail: Mail, *, in_place: bool = False) -> None:
        """Send mail to an agent. in_place: reserve room in its inbox first; raises InboxFullError if there is none."""
        self.admit(call)
        argument = {"mail": plain(MAIL, mail)}
        if in_place:
            argument |= await self._place(call, mail.recipient, len(to_json(argument, inf_nan_mode="constants")))
        await self.ingress.post(call, self.names.agent, "deliver", mail.recipient, argument)

    async def _place(self, call: str, to: AgentId, size: int) -> Mapping[str, Any]:
        """Reserve room in an inbox; an empty mapping if no service answers: the engine accepts mail without it.

        Raises InboxFullError.
        """
        now = asyncio.get_running_loop().time
        if now() < self._asks_again:
            return NO_PLACE
        try:
            async with asyncio.timeout(ANSWERS_S):
                argument = {"bytes": size}
                place: dict[str, Any] = await self.ingress.ask(
                    call, self.names.inbox, "enter", to, argument, reads=False
                )
                return place
        except (TimeoutError, EngineRefusedError) as error:  # the service is down, or its release has no inboxes
            logger.info("no service counts posted mail", extra={"agent_id": to}, exc_info=error)
            self._asks_again = now() + AWAY_S
            return NO_PLACE


class EngineAgent(RemoteAgent):
    """A Host that calls the agent's object, and never a later agent with the same id, which has a different life."""

    __slots__ = ("__weakref__", "_calls", "_projection", "life")

    def __init__(
        self, home: AgentHome, calls: AgentCalls, projection: Store | None, snapshot: Snapshot, life: str
    ) -> None:
        super().__init__(home, snapshot)
        self._calls = calls
        self._projection = projection
        self.life = life

    async def send(self, event: Name, payload: Any, event_id: str | None) -> Outcome:
        """See Host."""
        name = checked_name(event)
        argument = {
            "event": name,
            "payload": plain_payload(payload, name),
            "id": checked_id(event_id),
            "life": self.life,
        }
        answer = await self._calls.ask("send", self.snapshot.agent_id, argument)
        self.see(SNAPSHOT.validate_python(answer["snapshot"]))
        return OUTCOME.validate_python(answer["outcome"])

    async def history(self, *, after: int, limit: int | None) -> Sequence[HistoryEntry]:
        """See Host. The history lags, see `capabilities`."""
        await self._newest()
        return await super().history(after=after, limit=limit)

    async def rollback(self, version: int, reason: str, idempotency_key: str | None) -> Snapshot:
        """See Host. Waits for the projection."""
        check_version("rollback", version)
        checked_operator_reason(reason)
        checked_id(idempotency_key, "idempotency_key")
        target = await self.snapshot_at(version)
        argument = {"target": plain(SNAPSHOT, target), "reason": reason, "once": idempotency_key, "life": self.life}
        argument["passed"] = await self._given_away(await self._newest(), target)
        answer = await self._calls.ask("roll_back", self.snapshot.agent_id, argument)
        return self.see(SNAPSHOT.validate_python(answer["snapshot"]))

    async def _given_away(self, before: Snapshot, target: Snapshot) -> Sequence[str]:
        """Return the projected handoffs that forbid a rollback: other agents work on what this one would regain."""
        assert self._projection is not None  # otherwise there is no old snapshot to restore
        try:
            await check_given_away(self._projection, before, target)
        except OpenHandoffError as error:
            return error.handoffs
        return ()

    async def _turns(self, after: int, now: Snapshot) -> Sequence[HistoryEntry]:
        """Return the projected turns after a version: all of them if the agent has ended."""
        if self._projection is None or now.version <= after:
            return ()
        if now.status is not Status.ACTIVE:
            await self._calls.caught_up(now.agent_id)
        return await super().history(after=after, limit=now.version - after)

    async def _newest(self) -> Snapshot:
        """Return the newest snapshot. Raises UnknownAgentError if the agent was erased, even if its id was reused."""
        summary = await self._calls.look("read", self.snapshot.agent_id)
        if summary["life"] != self.life:
            raise UnknownAgentError(self.snapshot.agent_id)
        return self.see(SNAPSHOT.validate_python(summary["snapshot"]))
