"""The engine as the target of a migration of agents."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from gatechart.errors.outside import EngineUnreachableError
from gatechart.restate.ingress import NOTHING, Ingress
from gatechart.restate.migration.arrival import ArrivalResult
from gatechart.restate.migration.departure import Luggage
from gatechart.restate.process_breakers import RECORD
from gatechart.restate.state import TURNS, CommittedTurn, plain
from gatechart.restate.terms import Names
from gatechart.values.breakers import BreakerRecord
from gatechart.values.names import AgentId

FIRST_S: Final = 3.0  # time limit at first contact
ANSWERS_S: Final = 30.0  # time limit for an engine that has answered before
ANYBODY: Final = "move"  # key of a request that concerns no single agent
ANY_NUMBER: Final = 2**53  # slots: enough that every held one is kept


@dataclass(frozen=True, slots=True)
class ArrivalTerms:
    """A service's terms for arriving agents."""

    most_bytes: int
    keep_ids: int
    projects: bool
    graphs: Mapping[tuple[str, str], str]  # the new home of agents, by graph name and version


class Engine:
    """An engine that accepts arriving agents. Open it with `async with Engine.open(url)`. All calls can be repeated."""

    def __init__(self, first: Ingress, ingress: Ingress, names: Names) -> None:
        """Keep the connections. first: the one for first contact, with less patience."""
        self._first = first
        self._ingress = ingress
        self._names = names

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str, namespace: str) -> AsyncIterator[Engine]:
        """Open a connection to the engine. namespace: the service's namespace."""
        async with Ingress.open(url, patience_s=FIRST_S) as first, Ingress.open(url, patience_s=ANSWERS_S) as ingress:
            yield cls(first, ingress, Names(namespace))

    async def terms(self, graphs: Sequence[tuple[str, str]]) -> ArrivalTerms:
        """Return the terms of the service."""
        request = {"graphs": list(graphs)}
        terms = await self._answer(self._first, 5 * FIRST_S, self._names.agent, "terms", ANYBODY, request, reads=True)
        homes = {(name, version): home for name, version, home in terms["graphs"]}
        return ArrivalTerms(terms["most_bytes"], terms["keep_ids"], terms["projects"], homes)

    async def standing(self, agent_id: AgentId) -> Mapping[str, Any] | None:
        """Return the data for comparing the engine's copy of the agent."""
        summary: Mapping[str, Any] | None = await self._ask(self._names.agent, "standing", agent_id, reads=True)
        return summary

    async def adopt(self, luggage: Luggage, origin: str) -> ArrivalResult:
        """Have the engine store an agent, asleep. origin: its source database."""
        argument = luggage.told() | {"origin": origin}
        return ArrivalResult((await self._ask(self._names.agent, "adopt", luggage.agent_id, argument))["taken"])

    async def awaken(self, agent_id: AgentId) -> bool:
        """Awaken an agent; return whether it was asleep."""
        return bool((await self._ask(self._names.agent, "awaken", agent_id))["was_asleep"])

    async def hold(self, handoff: str, graph: str) -> None:
        """Reserve a slot for a handoff."""
        await self._ask(self._names.capacity, "reserve", graph, {"handoff": handoff, "most": ANY_NUMBER})

    async def adopt_breaker(self, breaker: BreakerRecord) -> None:
        """Have the engine store a circuit breaker, unless it has been used there."""
        await self._ask(self._names.breakers, "adopt", breaker.name, RECORD.dump_python(breaker, mode="json"))

    async def bring(self, agent_id: AgentId, turns: Sequence[CommittedTurn]) -> int:
        """Write turns into the projection; return its newest version afterwards."""
        argument = {"turns": plain(TURNS, list(turns))}
        return int(await self._ask(self._names.projection, "bring", agent_id, argument))

    async def brought(self, agent_id: AgentId, after: int) -> Mapping[str, Any]:
        """Return the projection's summary of the turns above a version."""
        summary: Mapping[str, Any] = await self._ask(self._names.projection, "brought", agent_id, {"after": after})
        return summary

    async def _ask(
        self, service: str, handler: str, key: str, argument: Mapping[str, Any] = NOTHING, *, reads: bool = False
    ) -> Any:
        return await self._answer(self._ingress, 2 * ANSWERS_S, service, handler, key, argument, reads=reads)

    async def _answer(
        self,
        ingress: Ingress,
        within_s: float,
        service: str,
        handler: str,
        key: str,
        argument: Mapping[str, Any],
        *,
        reads: bool,
    ) -> Any:
        try:
            async with asyncio.timeout(within_s):
                return await ingress.ask(f"move ({handler})", service, handler, key, argument, reads=reads)
        except TimeoutError:
            problem = (
                f"the engine answers, but no service did within {within_s:g} s; start one with `gatechart restate "
                "serve`, or wait until the one that runs has delivered the mail that was sent before, and try again"
            )
            raise EngineUnreachableError(ingress.url, problem) from None
