"""Requests that other processes store in a database: each is executed once, and erased with its agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from pydantic_core import from_json

from gatechart.api.command import Command, WritingCommand
from gatechart.api.home import AgentHome
from gatechart.graph.graph import AnyGraph
from gatechart.values.agents import Outcome, Snapshot
from gatechart.values.homes import Capabilities
from gatechart.values.mail import Receipt
from gatechart.values.names import AgentId

_ADDRESSES: Final = ("agent_id", "to", "agent", "id")  # "id": in calls stored by an earlier release
_UNRELATED: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(  # verbs where these fields do not name an agent
    {"send": ("id",), "post": ("id",), "handoff": ("to",), "cancel_handoff": ("id",)}
)


async def execute_once(home: AgentHome, command: Command, request: str) -> Any:
    """Execute a command once for this request id, and return its result.

    The result is marked as a repeat only if the command has its own id: only then did its sender ask for a repeat.
    """
    if not isinstance(command, WritingCommand):
        return await home.execute(command)
    named = command.named(request)
    result = await home.execute(named)
    if named is not command and isinstance(result, Outcome | Receipt):
        return replace(result, repeat=False)
    return result


class UnderRequest(AgentHome):
    """A home that executes commands under the id of a request that may have been executed before."""

    def __init__(self, home: AgentHome, request: str) -> None:
        self._home = home
        self._request = request

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of the home."""
        return self._home.capabilities

    async def execute(self, command: Command) -> Any:
        """Execute a command once for the request."""
        return await execute_once(self._home, command, self._request)

    def graph_of(self, snapshot: Snapshot) -> AnyGraph:
        """Return the graph that drives an agent."""
        return self._home.graph_of(snapshot)


def is_about(agent_id: AgentId, call: str, answer: str) -> bool:
    """Return whether the call or its answer is about this agent. Texts that are not JSON objects are about no agent.

    >>> is_about("active", '{"verb": "send", "to": "b"}', '{"answer": {"agent_id": "b", "status": "active"}}')
    False
    """
    request, response = _object(call), _object(answer)
    unrelated = _UNRELATED.get(str(request.get("verb")), ())
    facts = _within(_within(response, "error"), "facts")
    named = (
        *(request.get(name) for name in _ADDRESSES if name not in unrelated),
        _within(response, "answer").get("agent_id"),
        facts.get("agent_id"),
    )
    return agent_id in named


def _object(text: str) -> Mapping[str, Any]:
    try:
        value = from_json(text)
    except (ValueError, TypeError):
        return {}
    return value if isinstance(value, dict) else {}


def _within(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = value.get(name)
    return part if isinstance(part, dict) else {}
