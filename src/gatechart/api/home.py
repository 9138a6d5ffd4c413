"""The interface of every home of agents: a method for each verb, which builds a command for the home to execute."""

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
    AlarmsHome,  # includes AgentsHome and HistoryHome
):
    """The interface of a home of agents: in this process, on an engine, or in another process.

    A verb builds a command, which the home executes. Every home raises the same error with the same facts. A verb that
    a home does not support raises ElsewhereError; `capabilities` lists the other differences between homes.

    Every writing verb is safe to repeat: with the same `event_id` (`send`, `post`) or `idempotency_key` (the others) it
    has no further effect, and returns the first result.
    """

    @property
    @abstractmethod
    def capabilities(self) -> Capabilities:
        """The features that this home supports."""
        ...

    def changes(self, *, framework: bool = False) -> AbstractAsyncContextManager[AsyncIterator[HistoryEntry]]:  # noqa: ARG002
        """Subscribe to the turns of all agents as they are committed. Raises ElsewhereError unless supported.

        framework: include turns of gatechart's internal agents, such as schedules.
        """
        self._elsewhere("changes", "read the history of its agents with history(), a page at a time")

    def stream(self, agent_id: AgentId, invoke: str) -> AbstractAsyncContextManager[AsyncIterator[Any]]:  # noqa: ARG002
        """Subscribe to the items that an invoke of an agent passes to `work.publish` from now on, until it ends.

        `async with home.stream(agent_id, "think") as tokens: async for token in tokens: ...`. Nothing is stored:
        earlier items are lost. A failed attempt does not end the stream; the next attempt publishes from the start.

        agent_id: the stream waits for an agent that does not exist yet. invoke: its id; it may start later.
        Raises UndeclaredInvokeError if the agent's graph has no such invoke, and ElsewhereError unless supported.
        """
        self._elsewhere(
            "stream", "let the function of the invoke call work.progress, and read its events in the history"
        )

    def graph_of(self, snapshot: Snapshot) -> AnyGraph:
        """Return the graph that drives an agent. Raises ElsewhereError if this home has no graphs."""
        self._elsewhere("graph_of", f"open the home with graphs=[...] that include {snapshot.graph!r}")

    async def _handle(self, command: Command) -> Agent[Any]:
        """Execute a command that results in an agent, and return the agent's handle."""
        return Agent(RemoteAgent(self, await self.execute(command)))

    def _elsewhere(self, call: str, instead: str) -> NoReturn:
        raise ElsewhereError(call, self.capabilities.home, instead)
