"""The verbs of a runtime that is somewhere else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar

from gatechart.api.answers import (
    AskedDocument,
    DoneDocument,
    HandoffsDocument,
    HistoryDocument,
    MailsDocument,
    PageDocument,
)
from gatechart.api.calls import (
    Call,
    CancelHandoffCall,
    EndInvokeCall,
    EraseCall,
    FindCall,
    FireTimerCall,
    HandoffsCall,
    HistoryCall,
    MailCall,
    PostCall,
    ReadCall,
    RetryCall,
    RollbackCall,
    SendCall,
    SnapshotAtCall,
    StartCall,
    StartOnCall,
    StopCall,
)
from gatechart.api.documents import Document, OutcomeDocument, SnapshotDocument
from gatechart.api.mail_documents import MailDocument, ReceiptDocument
from gatechart.api.making import handoff_call, made
from gatechart.graph import AnyGraph, Delay, Fallbacks, graph_name
from gatechart.handoff import HandoffPacket
from gatechart.turn import checked_name, plain_payload
from gatechart.values import (
    AgentId,
    HandoffRecord,
    HandoffStatus,
    HistoryEntry,
    Mail,
    MailStatus,
    Mode,
    Name,
    Outcome,
    Page,
    Reason,
    Receipt,
    Snapshot,
    Status,
    name_of,
)

D = TypeVar("D", bound=Document)


class Verbs(ABC):
    """What `Runtime` and `Agent` can do, for whoever hosts the agents elsewhere; agents are named by their ids.

    A verb raises what it raises there, the same error with the same facts, and what the way there raises. Repeating
    a call with the same `idempotency_key` returns what the first call returned.
    """

    @abstractmethod
    async def _call(self, call: Call, answer: type[D]) -> D:
        """What came of the call. Raises what the verb raised. answer: the kind of document that comes back."""
        ...

    async def start(
        self,
        graph: Name | AnyGraph,
        *,
        at: Name,
        payload: Any = None,
        agent_id: AgentId | None = None,
        idempotency_key: str | None = None,
    ) -> Snapshot:
        """A new agent, begun at the entry point. As `Runtime.start`."""
        plain = _brought(payload, "start")
        call = made(
            StartCall,
            graph=graph_name(graph),
            at=name_of(at),
            payload=plain,
            agent_id=agent_id,
            idempotency_key=idempotency_key,
        )
        return (await self._call(call, SnapshotDocument)).value()

    async def start_on(
        self,
        trigger: Name,
        payload: Any = None,
        *,
        agent_id: AgentId | None = None,
        idempotency_key: str | None = None,
    ) -> Snapshot:
        """A new agent, begun at the entry point that opens on the business trigger. As `Runtime.start_on`."""
        plain = _brought(payload, "start_on")
        call = made(
            StartOnCall, trigger=name_of(trigger), payload=plain, agent_id=agent_id, idempotency_key=idempotency_key
        )
        return (await self._call(call, SnapshotDocument)).value()

    async def send(
        self,
        to: AgentId,
        event: Name,
        payload: Any = None,
        *,
        event_id: str | None = None,
    ) -> Outcome:
        """What became of the event, once its turn is committed or it was refused. As `Agent.send`."""
        name = checked_name(event)
        call = made(SendCall, to=to, event=name, payload=plain_payload(payload, name), event_id=event_id)
        return (await self._call(call, OutcomeDocument)).value()

    async def post(
        self,
        to: AgentId,
        event: Name,
        payload: Any = None,
        *,
        event_id: str | None = None,
        due: datetime | None = None,
    ) -> Receipt:
        """Mail for an agent, durable when this returns. As `Runtime.post`."""
        name = checked_name(event)
        call = made(PostCall, to=to, event=name, payload=plain_payload(payload, name), event_id=event_id, due=due)
        return (await self._call(call, ReceiptDocument)).value()

    async def retry(self, number: int) -> Mail:
        """Deliver refused or dead mail once more, or end the wait of mail that failed. As `Runtime.retry`."""
        return (await self._call(made(RetryCall, number=number), MailDocument)).value()

    async def stop(self, agent_id: AgentId) -> Snapshot:
        """Ends the agent in the state it is in. As `Runtime.stop`."""
        return (await self._call(made(StopCall, agent_id=agent_id), SnapshotDocument)).value()

    async def erase(self, agent_id: AgentId) -> None:
        """Forgets the agent for good. As `Runtime.erase`."""
        await self._call(made(EraseCall, agent_id=agent_id), DoneDocument)

    async def rollback(
        self,
        agent_id: AgentId,
        version: int,
        *,
        reason: str,
        idempotency_key: str | None = None,
    ) -> Snapshot:
        """Restores what the agent was at one of its versions. As `Agent.rollback`."""
        call = made(RollbackCall, agent_id=agent_id, version=version, reason=reason, idempotency_key=idempotency_key)
        return (await self._call(call, SnapshotDocument)).value()

    async def handoff(
        self,
        agent_id: AgentId,
        *,
        to: Name | AnyGraph,
        at: Name,
        packet: HandoffPacket | None = None,
        reason: Reason | str | None = None,
        agent: AgentId | None = None,
        mode: Mode | str = Mode.TRANSFER,
        deadline: Delay | datetime | None = None,
        fallbacks: Fallbacks | None = None,
        idempotency_key: str | None = None,
    ) -> str:
        """Has an agent hand on its work, and returns the handoff's id. As `Runtime.handoff`."""
        asked = handoff_call(
            agent_id,
            to=to,
            at=at,
            packet=packet,
            reason=reason,
            agent=agent,
            mode=mode,
            deadline=deadline,
            fallbacks=fallbacks,
            idempotency_key=idempotency_key,
        )
        return (await self._call(asked, AskedDocument)).handoff

    async def cancel_handoff(self, handoff_id: str, *, reason: str, idempotency_key: str | None = None) -> Receipt:
        """Withdraws a handoff. As `Runtime.cancel_handoff`."""
        call = made(CancelHandoffCall, handoff_id=handoff_id, reason=reason, idempotency_key=idempotency_key)
        return (await self._call(call, ReceiptDocument)).value()

    async def fire_timer(self, number: int, *, reason: str) -> Mail:
        """Deliver a timer now instead of when it is due. As `Runtime.fire_timer`."""
        return (await self._call(made(FireTimerCall, number=number, reason=reason), MailDocument)).value()

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
        """End a running invoke with a result, or with an error. As `Runtime.end_invoke`."""
        plain = plain_payload({"result": result}, "end_invoke")["result"]
        call = made(
            EndInvokeCall,
            agent_id=agent_id,
            invoke=invoke,
            result=plain,
            error=error,
            reason=reason,
            idempotency_key=idempotency_key,
        )
        return (await self._call(call, ReceiptDocument)).value()

    async def read(self, agent_id: AgentId) -> Snapshot:
        """The agent as it was last committed. As `Runtime.resume`."""
        return (await self._call(made(ReadCall, agent_id=agent_id), SnapshotDocument)).value()

    async def snapshot_at(self, agent_id: AgentId, version: int) -> Snapshot:
        """What the agent was at one of its versions. As `Agent.snapshot_at`."""
        return (await self._call(made(SnapshotAtCall, agent_id=agent_id, version=version), SnapshotDocument)).value()

    async def history(
        self,
        agent_id: AgentId,
        *,
        after: int = 0,
        limit: int | None = None,
    ) -> Sequence[HistoryEntry]:
        """The agent's turns with versions above `after`, oldest first. As `Runtime.history`."""
        call = made(HistoryCall, agent_id=agent_id, after=after, limit=limit)
        return (await self._call(call, HistoryDocument)).value()

    async def find(
        self,
        *,
        graph: Name | None = None,
        state: Name | None = None,
        status: Status | str | None = None,
        after: AgentId | None = None,
        limit: int = 100,
    ) -> Page:
        """Agents in the order they were started, a page at a time. As `Runtime.find`."""
        names = {"graph": graph and name_of(graph), "state": state and name_of(state)}
        call = made(FindCall, **names, status=status, after=after, limit=limit)
        return (await self._call(call, PageDocument)).value()

    async def mail(
        self, to: AgentId | None = None, *, status: MailStatus | str | None = None, after: int = 0, limit: int = 100
    ) -> Sequence[Mail]:
        """Mail in the order accepted, a page at a time. As `Runtime.mail`."""
        call = made(MailCall, to=to, status=status, after=after, limit=limit)
        return (await self._call(call, MailsDocument)).value()

    async def handoffs(
        self,
        *,
        handoff_id: str | None = None,
        request: str | None = None,
        source: AgentId | None = None,
        target: AgentId | None = None,
        status: HandoffStatus | str | None = None,
        after: int = 0,
        limit: int = 100,
    ) -> Sequence[HandoffRecord]:
        """Handoffs in the order offered, a page at a time. As `Runtime.handoffs`."""
        wanted = {"handoff_id": handoff_id, "request": request, "source": source, "target": target}
        call = made(HandoffsCall, **wanted, status=status, after=after, limit=limit)
        return (await self._call(call, HandoffsDocument)).value()


def _brought(payload: Any, verb: str) -> Any:
    return None if payload is None else plain_payload(payload, verb)
