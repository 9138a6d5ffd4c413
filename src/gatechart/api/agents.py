"""Commands and verbs that start agents, read them, and change or end them as a whole."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal, overload

from gatechart.agent import Agent
from gatechart.api.arguments import made
from gatechart.api.codec import DONE, RECEIPT, SNAPSHOT, Answer
from gatechart.api.command import Command, Executor, Plain, Result, WritingCommand
from gatechart.api.route import Route
from gatechart.context import ContextT
from gatechart.errors.event import AgentExistsError, UnknownAgentError
from gatechart.graph.graph import AnyGraph, StateTransitionGraph, graph_name
from gatechart.turn.arguments import check_version, checked_id, plain_payload
from gatechart.values.agents import Snapshot
from gatechart.values.mail import Receipt
from gatechart.values.names import AgentId, Name, name_of


class StartCommand(WritingCommand):
    """`start`."""

    answer: ClassVar[Answer[Any]] = SNAPSHOT
    route: ClassVar[Route] = Route("POST", "/agents", "Start an agent at an entry point, or on a business trigger", 201)
    verb: Literal["start"] = "start"
    graph: str
    at: str
    payload: Plain | None = None
    agent_id: AgentId | None = None
    idempotency_key: str | None = None


class StartOnCommand(WritingCommand):
    """`start_on`."""

    answer: ClassVar[Answer[Any]] = SNAPSHOT
    route: ClassVar[Route] = Route("POST", "/agents", "Start an agent on a business trigger", 201)
    verb: Literal["start_on"] = "start_on"
    trigger: str
    payload: Plain | None = None
    agent_id: AgentId | None = None
    idempotency_key: str | None = None


class ReadCommand(Command):
    """`snapshot`."""

    answer: ClassVar[Answer[Any]] = SNAPSHOT
    route: ClassVar[Route] = Route("GET", "/agents/{agent_id}", "Read an agent as last committed")
    verb: Literal["read"] = "read"
    agent_id: AgentId


class StopCommand(WritingCommand):
    """`stop`. It does not change an agent that has ended, so it is safe to repeat."""

    answer: ClassVar[Answer[Any]] = SNAPSHOT
    route: ClassVar[Route] = Route("POST", "/agents/{agent_id}/stop", "Stop an agent in its current state")
    verb: Literal["stop"] = "stop"
    agent_id: AgentId


class EraseCommand(WritingCommand):
    """`erase`. A repeat raises UnknownAgentError."""

    answer: ClassVar[Answer[Any]] = DONE
    route: ClassVar[Route] = Route("DELETE", "/agents/{agent_id}", "Erase an agent and its history for good", 204)
    verb: Literal["erase"] = "erase"
    agent_id: AgentId


class RollbackCommand(WritingCommand):
    """`rollback`."""

    answer: ClassVar[Answer[Any]] = SNAPSHOT
    route: ClassVar[Route] = Route(
        "POST", "/agents/{agent_id}/rollback", "Restore an earlier version of an agent, as a new version"
    )
    verb: Literal["rollback"] = "rollback"
    agent_id: AgentId
    version: int
    reason: str
    idempotency_key: str | None = None


class ForkCommand(WritingCommand):
    """`fork`."""

    answer: ClassVar[Answer[Any]] = SNAPSHOT
    route: ClassVar[Route] = Route(
        "POST", "/agents/{agent_id}/fork", "Start a new agent from a version of this one", 201
    )
    verb: Literal["fork"] = "fork"
    agent_id: AgentId  # of the agent that is copied
    version: int
    new_id: AgentId | None = None
    idempotency_key: str | None = None


class EndInvokeCommand(WritingCommand):
    """`end_invoke`."""

    answer: ClassVar[Answer[Any]] = RECEIPT
    route: ClassVar[Route] = Route(
        "POST",
        "/agents/{agent_id}/invokes/{invoke}/end",
        "End a running invoke with a result or an error, for a reason that is recorded",
        202,
    )
    verb: Literal["end_invoke"] = "end_invoke"
    agent_id: AgentId
    invoke: str
    result: Result = None
    error: str | None = None
    reason: str
    idempotency_key: str | None = None


class AgentsHome(Executor):
    """The part of `AgentHome` for whole agents."""

    @abstractmethod
    async def _handle(self, command: Command) -> Agent[Any]:
        """Execute a command that results in an agent, and return the agent's handle."""
        ...

    @overload
    async def start(
        self,
        graph: StateTransitionGraph[ContextT],
        *,
        at: Name,
        payload: Any = None,
        agent_id: AgentId | None = None,
        idempotency_key: str | None = None,
    ) -> Agent[ContextT]: ...

    @overload
    async def start(
        self,
        graph: Name,
        *,
        at: Name,
        payload: Any = None,
        agent_id: AgentId | None = None,
        idempotency_key: str | None = None,
    ) -> Agent[Any]: ...

    async def start(
        self,
        graph: Name | AnyGraph,
        *,
        at: Name,
        payload: Any = None,
        agent_id: AgentId | None = None,
        idempotency_key: str | None = None,
    ) -> Agent[Any]:
        """Start an agent at an entry point, run its entry actions and commit its first turn.

        at: the entry point's name, by default the name of its state.
        payload: the payload of the entry point, as its model or as a mapping.
        agent_id: generated if left out.
        idempotency_key: repeating the call with the same key returns the agent that the first call started. It is also
        the agent's id if there is no `agent_id`.

        Raises UnknownGraphError, EntryRefusedError, PayloadError, EntryGuardError, AgentExistsError, or the exception
        of a failing entry action; then nothing was started.
        """
        return await self._start_agent(graph, at, payload, agent_id, idempotency_key)

    async def _start_agent(
        self, graph: Name | AnyGraph, at: Name, payload: Any, agent_id: AgentId | None, idempotency_key: str | None
    ) -> Agent[Any]:
        """Start an agent with a command. A home that can start agents directly overrides this."""
        command = made(
            StartCommand,
            graph=graph_name(graph),
            at=name_of(at),
            payload=None if payload is None else plain_payload(payload, "start"),
            agent_id=checked_id(agent_id),
            idempotency_key=idempotency_key,
        )
        return await self._handle(command)

    async def start_on(
        self,
        trigger: Name,
        payload: Any = None,
        *,
        agent_id: AgentId | None = None,
        idempotency_key: str | None = None,
    ) -> Agent[Any]:
        """Start an agent at the entry point that opens on a business trigger. See `start` for the parameters.

        Raises UnknownTriggerError, AmbiguousTriggerError if several graphs have such an entry point, and what `start`
        raises.
        """
        command = made(
            StartOnCommand,
            trigger=name_of(trigger),
            payload=None if payload is None else plain_payload(payload, "start_on"),
            agent_id=checked_id(agent_id),
            idempotency_key=idempotency_key,
        )
        return await self._handle(command)

    @overload
    async def start_or_resume(
        self, graph: StateTransitionGraph[ContextT], *, at: Name, agent_id: AgentId, payload: Any = None
    ) -> Agent[ContextT]: ...

    @overload
    async def start_or_resume(self, graph: Name, *, at: Name, agent_id: AgentId, payload: Any = None) -> Agent[Any]: ...

    async def start_or_resume(
        self, graph: Name | AnyGraph, *, at: Name, agent_id: AgentId, payload: Any = None
    ) -> Agent[Any]:
        """Return the agent with this id as it was last committed, or start it if there is none.

        Concurrent callers get the same agent. An existing agent is not changed, even if it has ended: `at` and
        `payload` are ignored.
        Raises AgentExistsError if the agent belongs to another graph, and what `start` and `resume` raise.
        """
        try:
            agent = await self.resume(agent_id)
        except UnknownAgentError:
            try:
                agent = await self.start(graph_name(graph), at=at, payload=payload, agent_id=agent_id)
            except AgentExistsError:  # another caller was faster
                agent = await self.resume(agent_id)
        if agent.snapshot.graph != graph_name(graph):
            raise AgentExistsError(agent_id, agent.snapshot.graph)
        return agent

    async def resume(self, agent_id: AgentId) -> Agent[Any]:
        """Return the agent as it was last committed; no action runs.

        Raises UnknownAgentError, UnknownGraphError, and IncompatibleGraphError if the registered graph cannot continue
        the stored agent.
        """
        return await self._handle(made(ReadCommand, agent_id=agent_id))

    async def read(self, agent_id: AgentId) -> Snapshot:
        """Return the agent's newest committed snapshot. Raises as `resume` does."""
        snapshot: Snapshot = await self.execute(made(ReadCommand, agent_id=agent_id))
        return snapshot

    async def stop(self, agent_id: AgentId) -> Snapshot:
        """End an agent in its current state; from then on it refuses every event. No action runs."""
        snapshot: Snapshot = await self.execute(made(StopCommand, agent_id=agent_id))
        return snapshot

    async def erase(self, agent_id: AgentId) -> None:
        """Delete an agent, its history, its mail and its invokes permanently, and notify the agents that wait for it.

        If the agent is listed as unreadable, the agents that wait for it are unknown, and are not notified.
        Raises UnknownAgentError.
        """
        await self.execute(made(EraseCommand, agent_id=agent_id))

    async def rollback(
        self,
        agent_id: AgentId,
        version: int,
        *,
        reason: str,
        idempotency_key: str | None = None,
    ) -> Snapshot:
        """Restore an agent as it was at a version: `Agent.rollback` by agent id."""
        check_version("rollback", version)
        command = made(
            RollbackCommand, agent_id=agent_id, version=version, reason=reason, idempotency_key=idempotency_key
        )
        snapshot: Snapshot = await self.execute(command)
        return snapshot

    async def fork(
        self, agent_id: AgentId, version: int, *, new_id: AgentId | None = None, idempotency_key: str | None = None
    ) -> Agent[Any]:
        """Start a new agent from a version of this one, to try another course; this one does not change.

        No action runs. Timers and invokes of the active states start from the beginning for the new agent, including
        invoked agents; mail, keyed timers and handoffs stay with the original. The first turn of the new agent names
        its origin: the event `agent.forked`, with `agent` and `version`. It uses the current version of the graph.

        version: any version in the history, also if the agent has ended.
        new_id, idempotency_key: as `agent_id` and `idempotency_key` of `start`.
        Raises UnknownAgentError, UnknownVersionError, AgentExistsError, UnknownGraphError, IncompatibleGraphError.
        """
        check_version("fork", version)
        command = made(ForkCommand, agent_id=agent_id, version=version, new_id=new_id, idempotency_key=idempotency_key)
        snapshot: Snapshot = await self.execute(command)
        return await self.resume(snapshot.agent_id)

    async def end_invoke(
        self,
        agent_id: AgentId,
        invoke: str,
        result: Any = None,
        *,
        error: str | None = None,
        reason: str,
        idempotency_key: str | None = None,
    ) -> Receipt:
        """End a running invoke of an agent, with an error, or with a result that replaces the function's.

        The function is cancelled, and the agent gets `done.invoke.<id>`, or `error.invoke.<id>` with the message.
        invoke: the invoke's id. reason: recorded in the history with the origin "operator".
        idempotency_key: repeating the call with the same key has no further effect. It is the id of the event.
        Raises UnknownAgentError, NoInvokeError if the agent is not running the invoke, and PayloadError.
        """
        command = made(
            EndInvokeCommand,
            agent_id=agent_id,
            invoke=invoke,
            result=plain_payload({"result": result}, "end_invoke")["result"],
            error=error,
            reason=reason,
            idempotency_key=idempotency_key,
        )
        receipt: Receipt = await self.execute(command)
        return receipt
