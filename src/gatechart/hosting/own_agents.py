"""Access of the framework to its own agents, which are closed to callers."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final, Protocol

from pydantic import BaseModel, ConfigDict

from gatechart.errors.event import AgentExistsError
from gatechart.values.agents import Outcome, Snapshot
from gatechart.values.framework import (
    check_not_framework,
    is_framework_agent,
    is_framework_graph,
)
from gatechart.values.names import AgentId, EventName, Payload


class NoPayload(BaseModel):
    """Payload of an event without data."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class OwnAgents(Protocol):
    """The framework's operations on its own agents, on one home. They never change an application's agent."""

    async def start(self, graph: str, *, at: str, agent_id: AgentId, payload: BaseModel | None = None) -> Snapshot:
        """Start an agent. Raises AgentExistsError."""
        ...

    async def send(
        self,
        agent_id: AgentId,
        event: EventName,
        payload: BaseModel | Payload | None = None,
        *,
        event_id: str | None = None,
    ) -> Outcome:
        """Send an event to an agent. Raises as `AgentHome.send`, and AgentExistsError for an application's agent."""
        ...

    async def post(self, agent_id: AgentId, event: EventName, payload: Payload, *, event_id: str | None = None) -> None:
        """Post mail to an agent. Raises as `AgentHome.post`."""
        ...

    async def erase(self, agent_id: AgentId) -> None:
        """Erase an agent. Raises as `AgentHome.erase`, and AgentExistsError for an application's agent."""
        ...


own_agents_of: Final[Callable[[Any], OwnAgents]] = attrgetter("_own")
"""Return a home's access to the framework's agents."""


def check_open(snapshot: Snapshot) -> None:
    """Raise FrameworkAgentError if an agent belongs to the framework. Callers may not change it."""
    if is_framework_agent(snapshot.agent_id, snapshot.graph):
        check_not_framework(snapshot.agent_id)


def check_own(snapshot: Snapshot) -> None:
    """Raise AgentExistsError if an application's agent has an id of the framework."""
    if not is_framework_graph(snapshot.graph):
        raise AgentExistsError(snapshot.agent_id, snapshot.graph)
