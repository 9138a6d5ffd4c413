"""Execute commands for callers in other processes: answers as documents, and commands that may come twice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gatechart.api.commands import Command, WritingCommand
from gatechart.api.documents import Document
from gatechart.api.home import AgentHome
from gatechart.graph import AnyGraph
from gatechart.values import Capabilities, Outcome, Receipt, Snapshot


async def perform(home: AgentHome, command: Command) -> Document:
    """Execute a command, and return the document of its result. Raises what the verb raises."""
    return command.document(await home.execute(command))


async def execute_once(home: AgentHome, command: Command, request: str) -> Any:
    """Execute a command unless it was executed under the id of this request before; return its result.

    The result tells of a repeat only if the command had an id of its own, so that its sender means a repeat.
    """
    if not isinstance(command, WritingCommand):
        return await home.execute(command)
    named = command.named(request)
    result = await home.execute(named)
    if named is not command and isinstance(result, Outcome | Receipt):
        return replace(result, repeat=False)
    return result


class UnderRequest(AgentHome):
    """A home whose commands go under the id of a request that was made before, and may have been carried out."""

    def __init__(self, home: AgentHome, request: str) -> None:
        self._home = home
        self._request = request

    @property
    def capabilities(self) -> Capabilities:
        """Those of the home."""
        return self._home.capabilities

    async def execute(self, command: Command) -> Any:
        """Execute a command, unless it was executed under the request before."""
        return await execute_once(self._home, command, self._request)

    def graph_of(self, snapshot: Snapshot) -> AnyGraph:
        """Return the graph that drives an agent."""
        return self._home.graph_of(snapshot)
