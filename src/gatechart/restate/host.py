"""The host of an agent on the engine, as the agent's handle sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gatechart.errors import UnknownAgentError
from gatechart.graph import AnyGraph
from gatechart.hosting.subscriptions import ended
from gatechart.restate.state import OUTCOME, SNAPSHOT, plain
from gatechart.turn import check_version, checked_id, checked_name, checked_operator_reason, plain_payload
from gatechart.values import HistoryEntry, Name, Outcome, Snapshot, Status, name_of

if TYPE_CHECKING:
    from gatechart.restate.runtime import RestateRuntime

LOOK_S, LONGEST_LOOK_S = 0.02, 0.5


class RestateHost:
    """A Host whose state is as new as the last call of its runtime."""

    __slots__ = ("__weakref__", "_runtime", "graph", "life", "snapshot")

    def __init__(self, runtime: RestateRuntime, graph: AnyGraph, snapshot: Snapshot, life: str) -> None:
        self._runtime = runtime
        self.graph = graph
        self.snapshot = snapshot
        self.life = life  # tells the agent from a later one with the same id

    async def send(self, event: Name, payload: Any, event_id: str | None) -> Outcome:
        """See Host."""
        name = checked_name(event)
        told = {"event": name, "payload": plain_payload(payload, name), "id": checked_id(event_id), "life": self.life}
        answer = await self._ask("send", told)
        self._see(answer)
        return OUTCOME.validate_python(answer["outcome"])

    async def history(self, *, after: int, limit: int | None) -> Sequence[HistoryEntry]:
        """See Host. The history lags, see `capabilities`."""
        await self._newest("history")
        return await self._runtime.history(self.snapshot.agent_id, after=after, limit=limit)

    async def snapshot_at(self, version: int) -> Snapshot:
        """See Host. Waits for the projection."""
        check_version("snapshot_at", version)
        return await self._runtime.snapshot_at(self.snapshot.agent_id, version)

    async def rollback(self, version: int, reason: str, idempotency_key: str | None) -> Snapshot:
        """See Host. Waits for the projection."""
        check_version("rollback", version)
        checked_operator_reason(reason)
        checked_id(idempotency_key, "idempotency_key")
        target = await self._runtime.snapshot_at(self.snapshot.agent_id, version)
        passed = await self._runtime.given_away(await self._newest("rollback"), target)
        told = {
            "target": plain(SNAPSHOT, target),
            "reason": reason,
            "once": idempotency_key,
            "life": self.life,
        }
        answer = await self._ask("roll_back", told | {"passed": passed})
        return self._see(answer)

    async def until(self, state: Name) -> Snapshot:
        """See Host. A state that is left quickly is seen only if turns are projected."""
        leaves = frozenset(self.graph.leaves(state))
        seen, pause_s = self.snapshot.version, LOOK_S
        while True:
            now = await self._newest("until")
            if not leaves.isdisjoint(now.configuration):
                return now
            passed = await self._runtime.passed(now.agent_id, leaves, seen, now.version)
            if passed is not None:
                return passed
            if now.status is not Status.ACTIVE:
                # The agent may have passed the state and ended before the projection caught up.
                passed = await self._runtime.passed_at_all(now.agent_id, leaves, seen, now.version)
                if passed is not None:
                    return passed
                raise ended(now, name_of(state))
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, LONGEST_LOOK_S)

    def see(self, newest: Snapshot) -> Snapshot:
        """Note a committed snapshot."""
        if newest.version > self.snapshot.version:
            self.snapshot = newest
        return newest

    async def _newest(self, call: str) -> Snapshot:
        """Return the newest snapshot. Raises UnknownAgentError if the agent was erased, even if its id was reused."""
        told = await self._runtime.looked(call, self.snapshot.agent_id)
        if told["life"] != self.life:
            raise UnknownAgentError(self.snapshot.agent_id)
        return self.see(SNAPSHOT.validate_python(told["snapshot"]))

    async def _ask(self, verb: str, told: Mapping[str, Any]) -> Any:
        return await self._runtime.ask(verb, self.snapshot.agent_id, told)

    def _see(self, answer: Mapping[str, Any]) -> Snapshot:
        return self.see(SNAPSHOT.validate_python(answer["snapshot"]))
