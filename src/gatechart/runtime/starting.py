"""Starts of agents at entry points, for callers and for the framework itself."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from gatechart.graph.definition import EntryPoint
from gatechart.graph.graph import AnyGraph
from gatechart.hosting.idempotency import turn_of
from gatechart.runtime.core import Core
from gatechart.runtime.delivery import JobQueue, run_at_once
from gatechart.runtime.effects import Effects
from gatechart.runtime.live_agent import LiveAgent
from gatechart.turn.arguments import checked_id, checked_new_id, fit_payload, plain_payload
from gatechart.values.agents import Event
from gatechart.values.names import STARTED, AgentId, Name


class Starter:
    """Starts agents on one runtime."""

    def __init__(self, core: Core, effects: Effects) -> None:
        self._core = core
        self._effects = effects

    async def start(
        self, graph: AnyGraph, at: Name, payload: Any, agent_id: AgentId | None, idempotency_key: str | None
    ) -> LiveAgent:
        """Start an agent, or return the one that was started with the same key. Raises as `AgentHome.start`."""
        entry = graph.entry_point(at)
        fitted = fit_payload(graph.name, entry, payload)
        agent_id = checked_id(agent_id) or checked_id(idempotency_key, "idempotency_key") or self._core.ids()
        name = f"{STARTED}{entry.name}"
        event = Event(name, plain_payload(fitted, name), self._core.clock.now(), idempotency_key)
        if idempotency_key is not None and await turn_of(self._core.store, agent_id, event) is not None:
            return await self.resume(agent_id)
        if not graph.is_framework:  # ids of the framework contain names that were checked, or are older
            checked_new_id(agent_id)
        if graph.runs_at_once and self._core.store.is_instant:
            return run_at_once(self._begin(graph, entry, fitted, agent_id, event))
        return await JobQueue(self._core).run(lambda: self._begin(graph, entry, fitted, agent_id, event))

    async def _begin(
        self, graph: AnyGraph, entry: EntryPoint, payload: BaseModel | None, agent_id: AgentId, event: Event
    ) -> LiveAgent:
        agent = await self._effects.directory.begin(graph, entry, payload, agent_id, event)
        if agent is None:
            return await self.resume(agent_id)
        await self._effects.inboxes.collect(agent_id)
        return agent

    async def resume(self, agent_id: AgentId) -> LiveAgent:
        """Return an agent, and deliver the mail that waited for it. Raises as `AgentHome.resume`."""
        agent = await self._effects.directory.get(agent_id)
        await self._effects.inboxes.collect(agent_id)
        return agent
