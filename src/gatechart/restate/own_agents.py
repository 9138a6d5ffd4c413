"""The framework's access to its own agents on an engine."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel

from gatechart.hosting.own_agents import check_open, check_own
from gatechart.restate.agent_calls import AgentCalls
from gatechart.restate.state import OUTCOME, SNAPSHOT
from gatechart.restate.unit_of_work import UnitOfWork
from gatechart.turn.arguments import checked_id, checked_key, plain_payload
from gatechart.values.agents import Outcome, Snapshot
from gatechart.values.framework import check_not_framework
from gatechart.values.mail import Mail
from gatechart.values.names import AgentId, EventName, Payload

BY_FRAMEWORK = "framework"
"""Argument that marks a call to an agent's object as the framework's own."""


class EngineOwnAgents:
    """Fulfils OwnAgents."""

    def __init__(self, calls: AgentCalls) -> None:
        self._calls = calls

    async def start(self, graph: str, *, at: str, agent_id: AgentId, payload: BaseModel | None = None) -> Snapshot:
        """See OwnAgents. Raises UnknownGraphError if the service does not have the graph."""
        argument = {"graph": graph, "at": at, "payload": plain_payload(payload, at), "once": None, BY_FRAMEWORK: True}
        answer = await self._calls.ask("begin", checked_key(agent_id, "agent id"), argument)
        return SNAPSHOT.validate_python(answer["snapshot"])

    async def send(
        self,
        agent_id: AgentId,
        event: EventName,
        payload: BaseModel | Payload | None = None,
        *,
        event_id: str | None = None,
    ) -> Outcome:
        """See OwnAgents."""
        life = await self._life("send", agent_id)
        argument = {"event": event, "payload": plain_payload(payload, event), "id": checked_id(event_id), "life": life}
        answer = await self._calls.ask("send", agent_id, argument | {BY_FRAMEWORK: True})
        return OUTCOME.validate_python(answer["outcome"])

    async def post(self, agent_id: AgentId, event: EventName, payload: Payload, *, event_id: str | None = None) -> None:
        """See OwnAgents."""
        await self._calls.deliver("post", Mail(0, agent_id, event, payload, datetime.now(UTC), event_id))

    async def erase(self, agent_id: AgentId) -> None:
        """See OwnAgents."""
        await self._life("erase", agent_id)
        await self._calls.ask("erase", agent_id, {BY_FRAMEWORK: True})

    async def _life(self, call: str, agent_id: AgentId) -> str:
        """Return the id of the agent's life, which a later agent with its id lacks. Raises as `check_own` does."""
        summary = await self._calls.look(call, agent_id)
        check_own(SNAPSHOT.validate_python(summary["snapshot"]))
        return str(summary["life"])


def check_gate(unit: UnitOfWork, verb: str, argument: Any) -> None:
    """Raise FrameworkAgentError if a caller's verb concerns the framework's agents. Mail passes: its turn decides."""
    if argument.get(BY_FRAMEWORK):
        return
    if verb == "begin":
        check_not_framework(unit.agent_id, graph=argument.get("graph", ""))
    elif verb == "fork":
        check_not_framework(unit.agent_id, graph=argument.get("target", {}).get("graph", ""))
    elif verb in _CHANGING and unit.state.snapshot is not None:
        check_open(unit.state.snapshot)


_CHANGING = frozenset({"send", "stop", "roll_back", "hand_on", "erase", "fire_timer", "end_invoke"})
