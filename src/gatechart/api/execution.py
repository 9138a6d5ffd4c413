"""Execution of commands from other processes: results as documents, and commands that may arrive twice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gatechart.api.commands import Command, WritingCommand
from gatechart.api.documents import Document
from gatechart.api.home import AgentHome
from gatechart.graph import AnyGraph
from gatechart.values import Capabilities, Outcome, Receipt, Snapshot


async def perform(home: AgentHome, command: Command) -> Document:
    """Execute a command and return the document of its result. Raises what the verb raises."""
    return command.document(await home.execute(command))


async def execute_once(home: AgentHome, command: Command, request: str) -> Any:
    """Execute a command unless it was executed under this request's id before; return its result.

    The result is marked as a repeat only if the command has its own id, since only then did its sender mean a repeat.
    """
    if not isinstance(command, WritingCommand):
        return await home.execute(command)
    named = command.named(request)
    result = await home.execute(named)
    if named is not command and isinstance(result, Outcome | Receipt):
        return replace(result, repeat=False)
    return result


class UnderRequest(AgentHome):
    """A home that executes commands under the id of an earlier request, which may already have been executed."""

    def __init__(self, home: AgentHome, request: str) -> None:
        self._home = home
        self._request = request

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of the home."""
        return self._home.capabilities

    async def execute(self, command: Command) -> Any:
        """Execute a command, unless it was executed under the request before."""
        return await execute_once(self._home, command, self._request)

    def graph_of(self, snapshot: Snapshot) -> AnyGraph:
        """Return the graph that drives an agent."""
        return self._home.graph_of(snapshot)
