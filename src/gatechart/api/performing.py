"""A call, carried out by the verbs of whatever hosts the agents."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol

from gatechart.agent import Agent
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
    HandoffCall,
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
    WritingCall,
)
from gatechart.api.documents import Document, OutcomeDocument, SnapshotDocument
from gatechart.api.mail_documents import MailDocument, ReceiptDocument
from gatechart.api.making import handoff_asked
from gatechart.graph import Delay, Fallbacks
from gatechart.handoff import HandoffPacket
from gatechart.values import (
    AgentId,
    HandoffRecord,
    HandoffStatus,
    HistoryEntry,
    Mail,
    MailStatus,
    Mode,
    Page,
    Reason,
    Receipt,
    Snapshot,
    Status,
)


class Performer(Protocol):
    """What has the verbs that calls name, with the promises and errors of `Runtime`, which is one."""

    async def start(
        self,
        graph: str,
        *,
        at: str,
        payload: Any = None,
        agent_id: AgentId | None = None,
        idempotency_key: str | None = None,
    ) -> Agent:
        """See Runtime."""
        ...

    async def start_on(
        self,
        trigger: str,
        payload: Any = None,
        *,
        agent_id: AgentId | None = None,
        idempotency_key: str | None = None,
    ) -> Agent:
        """See Runtime."""
        ...

    async def resume(self, agent_id: AgentId) -> Agent:
        """See Runtime."""
        ...

    async def post(
        self,
        to: AgentId,
        event: str,
        payload: Any = None,
        *,
        event_id: str | None = None,
        due: datetime | None = None,
    ) -> Receipt:
        """See Runtime."""
        ...

    async def retry(self, number: int) -> Mail:
        """See Runtime."""
        ...

    async def stop(self, agent_id: AgentId) -> Snapshot:
        """See Runtime."""
        ...

    async def erase(self, agent_id: AgentId) -> None:
        """See Runtime."""
        ...

    async def handoff(
        self,
        agent_id: AgentId,
        *,
        to: str,
        at: str,
        packet: HandoffPacket | None = None,
        reason: Reason | str | None = None,
        agent: AgentId | None = None,
        mode: Mode | str = Mode.TRANSFER,
        deadline: Delay | datetime | None = None,
        fallbacks: Fallbacks | None = None,
        idempotency_key: str | None = None,
    ) -> str:
        """See Runtime."""
        ...

    async def cancel_handoff(self, handoff_id: str, *, reason: str, idempotency_key: str | None = None) -> Receipt:
        """See Runtime."""
        ...

    async def fire_timer(self, number: int, *, reason: str) -> Mail:
        """See Runtime."""
        ...

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
        """See Runtime."""
        ...

    async def find(
        self,
        *,
        graph: str | None = None,
        state: str | None = None,
        status: Status | str | None = None,
        after: AgentId | None = None,
        limit: int = 100,
    ) -> Page:
        """See Runtime."""
        ...

    async def history(
        self,
        agent_id: AgentId,
        *,
        after: int = 0,
        limit: int | None = None,
    ) -> Sequence[HistoryEntry]:
        """See Runtime."""
        ...

    async def mail(
        self, to: AgentId | None = None, *, status: MailStatus | str | None = None, after: int = 0, limit: int = 100
    ) -> Sequence[Mail]:
        """See Runtime."""
        ...

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
        """See Runtime."""
        ...


async def perform(host: Performer, call: Call) -> Document:
    """What came of the call, as the document that `call.answer` names. Raises what the verb raises."""
    return await (_write(host, call) if call.writes else _read(host, call))


async def perform_once(host: Performer, call: Call, request: str) -> Document:
    """What came of the call, which is not done again where it was made under the id of this request before.

    An answer tells of a repeat only where the call had an id of its own, so that its maker means a repeat.
    """
    if not isinstance(call, WritingCall):
        return await perform(host, call)
    named = call.named(request)
    answer = await perform(host, named)
    if named is not call and getattr(answer, "repeat", False):
        return answer.model_copy(update={"repeat": False})
    return answer


async def _write(host: Performer, call: Call) -> Document:
    match call:
        case SendCall(to=to, event=event, payload=payload, event_id=id_):
            return OutcomeDocument.of(to, await (await host.resume(to)).send(event, payload, event_id=id_))
        case PostCall() | RetryCall() | FireTimerCall() | EndInvokeCall():
            return await _mail(host, call)
        case HandoffCall():
            return AskedDocument(
                handoff=await host.handoff(call.agent_id, **handoff_asked(call), idempotency_key=call.idempotency_key)
            )
        case CancelHandoffCall(handoff_id=id_, reason=reason, idempotency_key=idempotency_key):
            return ReceiptDocument.of(await host.cancel_handoff(id_, reason=reason, idempotency_key=idempotency_key))
        case EraseCall(agent_id=id_):
            await host.erase(id_)
            return DoneDocument()
        case _:
            return SnapshotDocument.of(await _change(host, call))


async def _mail(host: Performer, call: PostCall | RetryCall | FireTimerCall | EndInvokeCall) -> Document:
    match call:
        case PostCall(to=to, event=event, payload=payload, event_id=id_, due=due):
            return ReceiptDocument.of(await host.post(to, event, payload, event_id=id_, due=due))
        case RetryCall(number=number):
            return MailDocument.of(await host.retry(number))
        case FireTimerCall(number=number, reason=reason):
            return MailDocument.of(await host.fire_timer(number, reason=reason))
        case EndInvokeCall():
            return ReceiptDocument.of(await host.end_invoke(**_given(call)))


async def _change(host: Performer, call: Call) -> Snapshot:
    match call:
        case StartCall(graph=graph, at=at, payload=payload, agent_id=id_, idempotency_key=idempotency_key):
            return (
                await host.start(graph, at=at, payload=payload, agent_id=id_, idempotency_key=idempotency_key)
            ).snapshot
        case StartOnCall(trigger=trigger, payload=payload, agent_id=id_, idempotency_key=idempotency_key):
            return (await host.start_on(trigger, payload, agent_id=id_, idempotency_key=idempotency_key)).snapshot
        case StopCall(agent_id=id_):
            return await host.stop(id_)
        case RollbackCall(agent_id=id_, version=version, reason=reason, idempotency_key=idempotency_key):
            return await (await host.resume(id_)).rollback(version, reason=reason, idempotency_key=idempotency_key)
    raise TypeError(f"{call!r} is no call that changes an agent")


async def _read(host: Performer, call: Call) -> Document:
    match call:
        case ReadCall(agent_id=id_):
            return SnapshotDocument.of((await host.resume(id_)).snapshot)
        case SnapshotAtCall(agent_id=id_, version=version):
            return SnapshotDocument.of(await (await host.resume(id_)).snapshot_at(version))
        case HistoryCall(agent_id=id_, after=after, limit=limit):
            return HistoryDocument.of(await host.history(id_, after=after, limit=limit))
        case FindCall():
            return PageDocument.of(await host.find(**_given(call)))
        case MailCall():
            return MailsDocument.of(await host.mail(**_given(call)))
        case HandoffsCall():
            return HandoffsDocument.of(await host.handoffs(**_given(call)))
    raise TypeError(f"{call!r} is no call that reads")


def _given(call: Call) -> dict[str, Any]:
    """The fields of a call, as the verb of that name takes them."""
    return {name: getattr(call, name) for name in type(call).model_fields if name != "verb"}
