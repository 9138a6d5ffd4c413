"""Callers that wait for an agent to come into a state."""

from __future__ import annotations

import asyncio

from gatechart.errors import AgentEndedError
from gatechart.runtime.core import Core
from gatechart.values import Snapshot, StateName, Status


class Watchers:
    """Those who wait for states of one agent."""

    __slots__ = ("_core", "_waiting")

    def __init__(self, core: Core) -> None:
        self._core = core
        self._waiting: list[tuple[StateName, frozenset[StateName], asyncio.Future[Snapshot]]] = []

    async def wait(self, state: StateName, leaves: frozenset[StateName]) -> Snapshot:
        """The first snapshot seen from now on in which one of the leaves is active. Raises AgentEndedError."""
        reached: asyncio.Future[Snapshot] = asyncio.get_running_loop().create_future()
        watcher = (state, leaves, reached)
        self._waiting.append(watcher)
        try:
            return await self._core.called("until", reached)
        finally:
            self._waiting.remove(watcher)

    def see(self, snapshot: Snapshot) -> None:
        """Tells those whose state is active, and all if the agent has ended."""
        for state, leaves, reached in self._waiting:
            if reached.done():
                continue
            if not leaves.isdisjoint(snapshot.configuration):
                reached.set_result(snapshot)
            elif snapshot.status is not Status.ACTIVE:
                reached.set_exception(ended(snapshot, state))

    def fail(self, error: Exception) -> None:
        """Tells all that they wait in vain."""
        for _, _, reached in self._waiting:
            if not reached.done():
                reached.set_exception(error)


def ended(snapshot: Snapshot, awaited: StateName) -> AgentEndedError:
    """The error for an agent that ended before it came into a state."""
    return AgentEndedError(snapshot.agent_id, awaited, snapshot.configuration, snapshot.status)
