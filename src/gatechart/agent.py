"""The handle that people hold of an agent."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any, Generic

from gatechart.context import ContextT, read_context
from gatechart.ports import Host
from gatechart.values import AgentId, HistoryEntry, Name, Outcome, Snapshot, StateName, Status


class Agent(Generic[ContextT]):
    """An agent of a runtime: send it events, read what is committed. Got by `Runtime.start` and `Runtime.resume`."""

    __slots__ = ("_host",)

    def __init__(self, host: Host) -> None:
        self._host = host

    def __repr__(self) -> str:
        now, where = self.snapshot, ", ".join(self.configuration)
        return f"<Agent {now.agent_id!r} of {now.graph!r}, {now.status} in {where}, version {now.version}>"

    @property
    def id(self) -> AgentId:
        """The agent's id, for `Runtime.resume`."""
        return self._host.snapshot.agent_id

    @property
    def snapshot(self) -> Snapshot:
        """The newest committed snapshot."""
        return self._host.snapshot

    @property
    def configuration(self) -> tuple[StateName, ...]:
        """The active leaves."""
        return self._host.snapshot.configuration

    @property
    def status(self) -> Status:
        """Where the agent is in its life."""
        return self._host.snapshot.status

    @property
    def context(self) -> ContextT:
        """A copy of the committed context, of the graph's context type. What is done to it touches nothing else."""
        context: ContextT = read_context(self._host.graph.context, self._host.snapshot.context)
        return context

    def send(
        self,
        event: Name,
        payload: Any = None,
        *,
        event_id: str | None = None,
    ) -> Coroutine[Any, Any, Outcome]:
        """What became of the event, once its turn is committed or it was refused.

        payload: a mapping with text keys, or a pydantic model, of JSON values.
        event_id: repeating the call with the same id applies the event once; the repeat returns the outcome of the
        first call, marked as a repeat.

        Cancelling the caller withdraws an event whose turn has not begun; else it only stops waiting.
        Raises an EventError where the turn failed, then undone, or where the graph asks for an error on refusal.
        """
        return self._host.send(event, payload, event_id)

    async def history(self, *, after: int = 0, limit: int | None = None) -> Sequence[HistoryEntry]:
        """The agent's turns with versions above `after`, oldest first, `limit` at the most."""
        return await self._host.history(after=after, limit=limit)

    async def snapshot_at(self, version: int) -> Snapshot:
        """What the agent was at one of its versions. Raises UnknownVersionError where that is not kept."""
        return await self._host.snapshot_at(version)

    async def rollback(self, version: int, *, reason: str, idempotency_key: str | None = None) -> Snapshot:
        """Restores what the agent was at one of its versions, and returns it: as a new version, nothing is erased.

        No action runs. What was sent stays sent, and the ids of events stay seen. The timers and invokes of the states
        restored begin anew, the timers set by `turn.after` are cancelled. reason: for the history.
        idempotency_key: repeating the call with the same key returns the snapshot that the first call made.
        Raises UnknownVersionError, and RollbackError where another version of the graph drove the agent then.
        """
        return await self._host.rollback(version, reason, idempotency_key)

    async def until(self, state: Name) -> Snapshot:
        """Waits for the state to be active; returns the first committed snapshot, now or later, in which it is.

        Raises AgentEndedError where the agent ended elsewhere, UnknownStateError where its graph has no such state.
        """
        return await self._host.until(state)
