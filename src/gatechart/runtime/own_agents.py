"""The framework's access to its own agents on an embedded runtime."""

from __future__ import annotations

from pydantic import BaseModel

from gatechart.hosting.own_agents import check_own
from gatechart.hosting.registry import Registry
from gatechart.runtime.core import Core
from gatechart.runtime.effects import Effects
from gatechart.runtime.starting import Starter
from gatechart.turn.arguments import checked_id, plain_payload
from gatechart.values.agents import Event, Outcome, Snapshot
from gatechart.values.mail import Mail
from gatechart.values.names import AgentId, EventName, Payload


class HostedOwnAgents:
    """Fulfils OwnAgents."""

    def __init__(self, core: Core, registry: Registry, effects: Effects, starter: Starter) -> None:
        self._core = core
        self._registry = registry
        self._effects = effects
        self._starter = starter

    async def start(self, graph: str, *, at: str, agent_id: AgentId, payload: BaseModel | None = None) -> Snapshot:
        """See OwnAgents."""
        self._core.admit("start", writes=True)
        return (await self._starter.start(self._registry.graph(graph), at, payload, agent_id, None)).snapshot

    async def send(
        self,
        agent_id: AgentId,
        event: EventName,
        payload: BaseModel | Payload | None = None,
        *,
        event_id: str | None = None,
    ) -> Outcome:
        """See OwnAgents."""
        self._core.admit("send", writes=True)
        agent = await self._starter.resume(agent_id)
        check_own(agent.snapshot)
        content, now = plain_payload(payload, event), self._core.clock.now()
        return await agent.happen(Event(event, content, now, checked_id(event_id)))

    async def post(self, agent_id: AgentId, event: EventName, payload: Payload, *, event_id: str | None = None) -> None:
        """See OwnAgents."""
        self._core.admit("post", writes=True)
        await self._effects.posted.post(Mail(0, agent_id, event, payload, self._core.clock.now(), event_id))

    async def erase(self, agent_id: AgentId) -> None:
        """See OwnAgents."""
        self._core.admit("erase", writes=True)
        agent = await self._starter.resume(agent_id)
        check_own(agent.snapshot)
        await agent.erase()
