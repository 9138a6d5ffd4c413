"""The engine, for a migration that brings agents there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from gatechart.errors.outside import EngineUnreachableError
from gatechart.restate.ingress import NOTHING, Ingress
from gatechart.restate.migration.arrival import Taken
from gatechart.restate.migration.departure import Luggage
from gatechart.restate.process_breakers import RECORD
from gatechart.restate.state import TURNS, Turn, plain
from gatechart.restate.terms import Names
from gatechart.values.breakers import BreakerRecord
from gatechart.values.names import AgentId

FIRST_S: Final = 3.0  # how long to wait for an engine at first contact
ANSWERS_S: Final = 30.0  # how long to wait for an engine that answered before
ANYBODY: Final = "move"  # key of a request that concerns no single agent
ANY_NUMBER: Final = 2**53  # slots: enough that every held one is kept


@dataclass(frozen=True, slots=True)
class ArrivalTerms:
    """The terms on which a service takes agents in."""

    most_bytes: int
    keep_ids: int
    projects: bool
    graphs: Mapping[tuple[str, str], str]  # what becomes of agents of this name and version


class Engine:
    """An engine that takes agents in. Open it with `async with Engine.open(url)`. Every call can be repeated."""

    def __init__(self, first: Ingress, ingress: Ingress, names: Names) -> None:
        """Keep the connections. first: the one for first contact, with less patience."""
        self._first = first
        self._ingress = ingress
        self._names = names

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str, namespace: str) -> AsyncIterator[Engine]:
        """Open a connection to the engine. namespace: that of the service."""
        async with Ingress.open(url, patience_s=FIRST_S) as first, Ingress.open(url, patience_s=ANSWERS_S) as ingress:
            yield cls(first, ingress, Names(namespace))

    async def terms(self, graphs: Sequence[tuple[str, str]]) -> ArrivalTerms:
        """Return the terms of the service."""
        asked = {"graphs": list(graphs)}
        told = await self._answer(self._first, 5 * FIRST_S, self._names.agent, "terms", ANYBODY, asked, reads=True)
        homes = {(name, version): home for name, version, home in told["graphs"]}
        return ArrivalTerms(told["most_bytes"], told["keep_ids"], told["projects"], homes)

    async def standing(self, agent_id: AgentId) -> Mapping[str, Any] | None:
        """Return the data by which the engine's copy of the agent is compared."""
        told: Mapping[str, Any] | None = await self._ask(self._names.agent, "standing", agent_id, reads=True)
        return told

    async def adopt(self, luggage: Luggage, origin: str) -> Taken:
        """Have the engine store an agent, asleep. origin: the database from which it comes."""
        told = luggage.told() | {"origin": origin}
        return Taken((await self._ask(self._names.agent, "adopt", luggage.agent_id, told))["taken"])

    async def awaken(self, agent_id: AgentId) -> bool:
        """Awaken an agent; return whether it was asleep."""
        return bool((await self._ask(self._names.agent, "awaken", agent_id))["was_asleep"])

    async def hold(self, handoff: str, graph: str) -> None:
        """Reserve a slot for a handoff."""
        await self._ask(self._names.capacity, "reserve", graph, {"handoff": handoff, "most": ANY_NUMBER})

    async def adopt_breaker(self, breaker: BreakerRecord) -> None:
        """Have the engine store a circuit breaker, unless it has been used there."""
        await self._ask(self._names.breakers, "adopt", breaker.name, RECORD.dump_python(breaker, mode="json"))

    async def bring(self, agent_id: AgentId, turns: Sequence[Turn]) -> int:
        """Write turns into the projection; return the newest version that it then has."""
        told = {"turns": plain(TURNS, list(turns))}
        return int(await self._ask(self._names.projection, "bring", agent_id, told))

    async def brought(self, agent_id: AgentId, after: int) -> Mapping[str, Any]:
        """Return the projection's summary of the turns above a version."""
        told: Mapping[str, Any] = await self._ask(self._names.projection, "brought", agent_id, {"after": after})
        return told

    async def _ask(
        self, service: str, handler: str, key: str, told: Mapping[str, Any] = NOTHING, *, reads: bool = False
    ) -> Any:
        return await self._answer(self._ingress, 2 * ANSWERS_S, service, handler, key, told, reads=reads)

    async def _answer(
        self,
        ingress: Ingress,
        within_s: float,
        service: str,
        handler: str,
        key: str,
        told: Mapping[str, Any],
        *,
        reads: bool,
    ) -> Any:
        try:
            async with asyncio.timeout(within_s):
                return await ingress.ask(f"move ({handler})", service, handler, key, told, reads=reads)
        except TimeoutError:
            problem = (
                f"the engine answers, but no service did so within {within_s:g} s; start one with `gatechart restate "
                "serve`, or wait until the one that runs has delivered the mail that was sent before, and try again"
            )
            raise EngineUnreachableError(ingress.url, problem) from None
