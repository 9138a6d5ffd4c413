"""The interface of every home of agents: each verb once, as a command that the home executes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any, NoReturn

from gatechart.agent import Agent
from gatechart.api.alarms import AlarmsHome
from gatechart.api.breakers import BreakersHome
from gatechart.api.command import Command
from gatechart.api.directory import DirectoryHome
from gatechart.api.events import EventsHome
from gatechart.api.handoffs import HandoffsHome
from gatechart.api.lessons import LessonsHome
from gatechart.api.mail import MailHome
from gatechart.api.remote_agent import RemoteAgent
from gatechart.api.scheduling import SchedulingHome
from gatechart.api.search import SearchingHome
from gatechart.api.watchdog import WatchdogHome
from gatechart.errors.operation import ElsewhereError
from gatechart.graph.graph import AnyGraph
from gatechart.values.agents import Snapshot
from gatechart.values.homes import Capabilities
from gatechart.values.names import AgentId
from gatechart.values.queries import HistoryEntry


class AgentHome(
    EventsHome,
    MailHome,
    HandoffsHome,
    SearchingHome,
    SchedulingHome,
    BreakersHome,
    DirectoryHome,
    WatchdogHome,
    LessonsHome,
    AlarmsHome,  # with those of agents and of their history
):
    """A home of agents as its callers see it: in this process, on an engine, or in another process.

    A verb makes a command, which the home executes. It raises the same error with the same facts in every home. A verb
    that a home does not support raises ElsewhereError; `capabilities` tells how homes differ otherwise.

    Every verb that writes can be repeated: with the same `event_id` (`send`, `post`) or `idempotency_key` (the others)
    it has no further effect, and returns what the first call returned.
    """

    @property
    @abstractmethod
    def capabilities(self) -> Capabilities:
        """What this home supports, compared with other homes."""
        ...

    def changes(self, *, framework: bool = False) -> AbstractAsyncContextManager[AsyncIterator[HistoryEntry]]:  # noqa: ARG002
        """Subscribe to the turns of all agents as they are committed. Raises ElsewhereError unless supported.

        framework: also the turns of the agents of gatechart itself, such as schedules.
        """
        self._elsewhere("changes", "read the history of its agents, a page at a time")

    def stream(self, agent_id: AgentId, invoke: str) -> AbstractAsyncContextManager[AsyncIterator[Any]]:  # noqa: ARG002
        """Subscribe to what an invoke of an agent passes to `work.publish` from now on, until the invoke ends.

        `async with home.stream(agent_id, "think") as tokens: async for token in tokens: ...`. Nothing is stored: what
        was published before is gone. A failed attempt does not end the stream; the next one publishes from the start.

        agent_id: an agent that does not exist yet is waited for. invoke: the invoke's id; it need not be running yet.
        Raises UndeclaredInvokeError if the agent's graph has no such invoke, and ElsewhereError unless supported.
        """
        self._elsewhere("stream", "have the function report with work.progress, whose events the history has")

    def graph_of(self, snapshot: Snapshot) -> AnyGraph:
        """Return the graph that drives an agent. Raises ElsewhereError if this home has no graphs."""
        self._elsewhere(f"the graph {snapshot.graph!r}", "open it with graphs=[...]")

    async def _handle(self, command: Command) -> Agent[Any]:
        """Execute a command that results in an agent, and return the agent's handle."""
        return Agent(RemoteAgent(self, await self.execute(command)))

    def _elsewhere(self, call: str, instead: str) -> NoReturn:
        raise ElsewhereError(call, self.capabilities.home, instead)
