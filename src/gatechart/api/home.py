"""The interface of every home of agents: each verb once, as a command that the home executes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, NoReturn, overload

from gatechart.agent import Agent
from gatechart.api.alarms import AlarmsHome
from gatechart.api.arguments import handoff_fields, made
from gatechart.api.breakers import BreakersHome
from gatechart.api.commands import (
    AcceptsCommand,
    CancelHandoffCommand,
    CanCommand,
    Command,
    DiscardCommand,
    EndInvokeCommand,
    EraseCommand,
    FireTimerCommand,
    ForkCommand,
    HandoffCommand,
    HandoffsCommand,
    HistoryCommand,
    JournalCommand,
    MailCommand,
    PostCommand,
    ReadCommand,
    RetryCommand,
    RollbackCommand,
    SendCommand,
    SnapshotAtCommand,
    StartCommand,
    StartOnCommand,
    StopCommand,
)
from gatechart.api.directory import DirectoryHome
from gatechart.api.remote_agent import RemoteAgent
from gatechart.api.scheduling import SchedulingHome
from gatechart.api.search import SearchingHome
from gatechart.api.watchdog import WatchdogHome
from gatechart.context import ContextT
from gatechart.errors import AgentExistsError, ElsewhereError, UnknownAgentError
from gatechart.graph import AnyGraph, Handoff, StateTransitionGraph, graph_name
from gatechart.turn import check_version, checked_id, checked_key, checked_name, known_number, plain_payload
from gatechart.values import (
    CONVERSATION,
    AcceptedEvent,
    AgentId,
    Capabilities,
    HandoffRecord,
    HandoffStatus,
    HistoryEntry,
    JournalEntry,
    Mail,
    MailStatus,
    Name,
    Outcome,
    Receipt,
    Snapshot,
    all_shown,
    name_of,
    shown,
)


class AgentHome(SearchingHome, SchedulingHome, BreakersHome, DirectoryHome, WatchdogHome, AlarmsHome):
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

    @abstractmethod
    async def execute(self, command: Command) -> Any:
        """Execute a command and return its result, a value. Raises what the verb raises."""
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

        at: the entry point's name, by default that of its state.
        payload: what the entry point takes, as the model or as a mapping.
        agent_id: generated if left out.
        idempotency_key: repeating the call with the same key returns the agent that the first call started. It is also
        the agent's id if there is no `agent_id`.

        Raises UnknownGraphError, EntryRefusedError, PayloadError, EntryGuardError, AgentExistsError, or what a failing
        entry action raises; then nothing was started.
        """
        return await self._start_agent(graph, at, payload, agent_id, idempotency_key)

    async def _start_agent(
        self, graph: Name | AnyGraph, at: Name, payload: Any, agent_id: AgentId | None, idempotency_key: str | None
    ) -> Agent[Any]:
        """Start an agent with a command. A home that has a shorter way overrides this."""
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

        Callers at the same time get the same agent. One that is there, even if it has ended, is left as it is: neither
        `at` nor `payload` is looked at.
        Raises AgentExistsError if the agent is one of another graph, and what `start` and `resume` raise.
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

    async def send(
        self,
        to: AgentId,
        event: Name,
        payload: Any = None,
        *,
        event_id: str | None = None,
    ) -> Outcome:
        """Send an event to an agent and return its outcome: `Agent.send` by agent id."""
        name = checked_name(event)
        command = made(SendCommand, to=to, event=name, payload=plain_payload(payload, name), event_id=event_id)
        outcome: Outcome = await self.execute(command)
        return outcome

    async def post(
        self,
        to: AgentId,
        event: Name,
        payload: Any = None,
        *,
        event_id: str | None = None,
        due: datetime | None = None,
    ) -> Receipt:
        """Post mail to an agent. It is durable when this returns; the agent applies it once, in the order accepted.

        to: the agent's id; if there is no such agent yet, the mail waits for it.
        payload: as in `Agent.send`.
        event_id: unique for the recipient; mail whose id is waiting or was applied is not accepted again.
        due: when to deliver it; by default at once.

        Raises PayloadError, also if the agent exists and its graph declares the event with another payload,
        UndeclaredEventError, EventIdReusedError, InboxFullError if too much mail is waiting for the agent, unless the
        limits say to wait, and BacklogFullError if too much is waiting for agents that do not exist, or for its due
        time.
        """
        name = checked_name(event)
        command = made(PostCommand, to=to, event=name, payload=plain_payload(payload, name), event_id=event_id, due=due)
        receipt: Receipt = await self.execute(command)
        return receipt

    async def mail(
        self, to: AgentId | None = None, *, status: MailStatus | str | None = None, after: int = 0, limit: int = 100
    ) -> Sequence[Mail]:
        """List mail in the order accepted, a page at a time: pass the number of the last as `after`.

        status: waiting, refused, dead, or unreadable if damaged in the database; mail that was applied is history.
        Raises PayloadError.
        """
        command = made(MailCommand, to=to, status=status, after=after, limit=limit)
        found: Sequence[Mail] = await self.execute(command)
        return all_shown(found)

    async def retry(self, number: int, *, to: AgentId | None = None) -> Mail:
        """Deliver refused or dead mail once more, after what is waiting for the agent.

        Mail that failed and waits for its next attempt keeps its place, and is tried at once.
        to: the recipient; needed only if mail is numbered per agent (`capabilities.lists_all_mail` is False).
        Raises UnknownMailError, and EventIdReusedError if its id now belongs to another event.
        """
        mail: Mail = await self.execute(made(RetryCommand, number=known_number(number), to=to))
        return shown(mail)

    async def discard(self, number: int, *, to: AgentId | None = None) -> Mail:
        """Delete mail that is refused, dead or unreadable, and return it. to: as in `retry`.

        Raises UnknownMailError.
        """
        mail: Mail = await self.execute(made(DiscardCommand, number=known_number(number), to=to))
        return shown(mail)

    async def fire_timer(self, number: int, *, reason: str, to: AgentId | None = None) -> Mail:
        """Deliver a timer, or other mail with a due time, now and in its turn, instead of when it is due.

        number: the timer's number, as `mail` lists it. to: as in `retry`.
        reason: for the history, which shows the origin "operator".
        Raises NoTimerError if no such mail is waiting, PayloadError if the reason is empty.
        """
        mail: Mail = await self.execute(made(FireTimerCommand, number=number, reason=reason, to=to))
        return shown(mail)

    async def stop(self, agent_id: AgentId) -> Snapshot:
        """End an agent in its current state; from then on it refuses every event. No action runs."""
        snapshot: Snapshot = await self.execute(made(StopCommand, agent_id=agent_id))
        return snapshot

    async def erase(self, agent_id: AgentId) -> None:
        """Delete an agent, its history, its mail and its invokes for good; agents that wait for it are told.

        If the agent is listed as unreadable, it is unknown which agents wait for it.
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
        """Start another agent as this one was at a version, to try another way on; this one stays as it is.

        No action runs. Timers and invokes of the active states start anew for the new agent, agents that they invoke
        included; mail, keyed timers and handoffs stay with the one that has them. The new agent's first turn names its
        origin: the event `agent.forked`, with `agent` and `version`. It is of today's version of the graph.

        version: any that the history has, also of an agent that has ended.
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
        """End a running invoke of an agent, with a result in place of its function's, or with an error.

        The function is cancelled, and the agent gets `done.invoke.<id>`, or `error.invoke.<id>` with the message.
        invoke: the invoke's id. reason: for the history, which shows the origin "operator".
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

    async def handoff(
        self,
        agent_id: AgentId,
        handoff: Handoff,
        *,
        idempotency_key: str | None = None,
    ) -> str:
        """Let an agent hand on its work, as `Turn.handoff` does, and return the handoff's id.

        The agent stays in its state. If its graph does not handle `handoff.accepted`, it ends with that event.
        handoff: such as `Handoff("refunds", at="REVIEWING")`; without functions, which only a graph can have.
        idempotency_key: repeating the call with the same key returns the id of the handoff that the first call offered.
        Raises UnknownAgentError, PayloadError, and EventRefusedError if the agent has ended.
        """
        command = made(HandoffCommand, agent_id=agent_id, **handoff_fields(handoff), idempotency_key=idempotency_key)
        handoff_id: str = await self.execute(command)
        return handoff_id

    async def handoffs(
        self,
        *,
        handoff_id: str | None = None,
        request: str | None = None,
        source: AgentId | None = None,
        target: AgentId | None = None,
        status: HandoffStatus | str | None = None,
        newest_first: bool = False,
        after: int = 0,
        limit: int = 100,
    ) -> Sequence[HandoffRecord]:
        """List handoffs in the order offered, or the newest first, a page at a time.

        For the next page, pass the number of the last as `after`.
        request: the id of a first attempt, to list all attempts of one request. Raises PayloadError.
        """
        wanted = {"handoff_id": handoff_id, "request": request, "source": source, "target": target}
        command = made(HandoffsCommand, **wanted, status=status, newest_first=newest_first, after=after, limit=limit)
        found: Sequence[HandoffRecord] = await self.execute(command)
        return all_shown(found)

    async def cancel_handoff(self, handoff_id: str, *, reason: str, idempotency_key: str | None = None) -> Receipt:
        """Withdraw a handoff: cancel one not yet accepted, or end a delegation; an accepted transfer stands.

        The agent that asked gets `handoff.failed` with the reason. The order of the target's mail decides.
        A handoff that is listed as unreadable is deleted.
        idempotency_key: repeating the call with the same key has no further effect. It is the id of the mail.
        Raises NoHandoffError if the handoff is unknown or closed.
        """
        command = made(CancelHandoffCommand, handoff_id=handoff_id, reason=reason, idempotency_key=idempotency_key)
        receipt: Receipt = await self.execute(command)
        return receipt

    async def accepts(self, agent_id: AgentId) -> Sequence[AcceptedEvent]:
        """Return the events that an agent could take now: `Agent.accepts` by agent id."""
        found: Sequence[AcceptedEvent] = await self.execute(made(AcceptsCommand, agent_id=agent_id))
        return found

    async def can(self, agent_id: AgentId, event: Name, payload: Any = None) -> AcceptedEvent:
        """Return what an event would do to an agent now: `Agent.can` by agent id."""
        name = checked_name(event)
        given = None if payload is None else plain_payload(payload, name)
        answer: AcceptedEvent = await self.execute(made(CanCommand, agent_id=agent_id, event=name, payload=given))
        return answer

    async def snapshot_at(self, agent_id: AgentId, version: int) -> Snapshot:
        """Return an agent's snapshot at a version: `Agent.snapshot_at` by agent id."""
        check_version("snapshot_at", version)
        snapshot: Snapshot = await self.execute(made(SnapshotAtCommand, agent_id=agent_id, version=version))
        return snapshot

    async def history(self, agent_id: AgentId, *, after: int = 0, limit: int | None = None) -> Sequence[HistoryEntry]:
        """Return the turns of any stored agent, as `Agent.history` does; its graph need not be registered."""
        command = made(HistoryCommand, agent_id=agent_id, after=after, limit=limit)
        turns: Sequence[HistoryEntry] = await self.execute(command)
        return all_shown(turns)

    async def journal(
        self, agent_id: AgentId, journal: str = CONVERSATION, *, after: str | None = None, limit: int = 100
    ) -> Sequence[JournalEntry]:
        """Return what invokes recorded for an agent, in the order written, a page at a time. Secrets are masked.

        journal: its name, by default that of the transcript of model loops. One that nobody wrote is empty.
        after: name of the last entry before the page; the page begins anew if a summary has replaced that.
        Raises UnknownAgentError and PayloadError.
        """
        name = checked_key(journal, "journal")
        command = made(JournalCommand, agent_id=agent_id, journal=name, after=after, limit=limit)
        entries: Sequence[JournalEntry] = await self.execute(command)
        return all_shown(entries)

    def changes(self) -> AbstractAsyncContextManager[AsyncIterator[HistoryEntry]]:
        """Subscribe to the turns of all agents as they are committed. Raises ElsewhereError unless supported."""
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
