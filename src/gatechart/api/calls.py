"""What can be asked of a runtime from elsewhere, as frozen values that travel as JSON.

A call that writes can be made again without being done again, for its sender may not know whether it arrived: under the
same `event_id` where it has one, else under the same `idempotency_key`.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal, Self, TypeAlias

from pydantic import (
    AfterValidator,
    AliasChoices,
    AllowInfNan,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    Strict,
    TypeAdapter,
)

from gatechart.api.answers import (
    AskedDocument,
    DoneDocument,
    HandoffsDocument,
    HistoryDocument,
    MailsDocument,
    PageDocument,
)
from gatechart.api.documents import Document, OutcomeDocument, SnapshotDocument
from gatechart.api.mail_documents import MailDocument, ReceiptDocument
from gatechart.handoff import FallbackStep, HandoffPacket
from gatechart.handoff.packet import FALLBACK_FIELDS, Time
from gatechart.turn import check_finite
from gatechart.values import AgentId, HandoffStatus, MailStatus, Mode, Payload, Reason, Status


def _finite(payload: Payload) -> Payload:
    check_finite(payload)
    return payload


def _finite_result(result: JsonValue) -> JsonValue:
    check_finite({"result": result})
    return result


Plain: TypeAlias = Annotated[dict[str, JsonValue], AfterValidator(_finite)]
Result: TypeAlias = Annotated[JsonValue, AfterValidator(_finite_result)]
Count: TypeAlias = Annotated[int, Field(ge=0, lt=2**62)]
Limit: TypeAlias = Annotated[int, Field(ge=1, lt=2**62)]
Moment: TypeAlias = Annotated[Time, Strict()]  # or a number would count as seconds since 1970
_Number: TypeAlias = Annotated[str, Field(pattern=r"^\s*[-+]?[0-9.]+\s*$")]  # which is neither a moment nor a delay
Deadline: TypeAlias = Annotated[
    _Number | Moment | Annotated[float, Strict(), AllowInfNan(False)] | str, Field(union_mode="left_to_right")
]
"""A moment, seconds, or a delay as people write it, such as "10m"."""


class BaseCall(BaseModel):
    """The base of all calls: `answer` is the kind of document that comes back, `writes` whether it changes anything."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    answer: ClassVar[type[Document]]
    writes: ClassVar[bool] = False


class WritingCall(BaseCall):
    """The base of the calls that change something."""

    writes: ClassVar[bool] = True

    def named(self, request: str) -> Self:
        """The call under this id, where it has none of its own, so that it can be made again."""
        field = "event_id" if isinstance(self, SendCall | PostCall) else "idempotency_key"
        is_free = field in type(self).model_fields and getattr(self, field) is None
        return self.model_copy(update={field: request}) if is_free else self


class StartCall(WritingCall):
    """`Runtime.start`."""

    answer: ClassVar[type[Document]] = SnapshotDocument
    verb: Literal["start"] = "start"
    graph: str
    at: str
    payload: Plain | None = None
    agent_id: AgentId | None = None
    idempotency_key: str | None = None


class StartOnCall(WritingCall):
    """`Runtime.start_on`."""

    answer: ClassVar[type[Document]] = SnapshotDocument
    verb: Literal["start_on"] = "start_on"
    trigger: str
    payload: Plain | None = None
    agent_id: AgentId | None = None
    idempotency_key: str | None = None


class SendCall(WritingCall):
    """`Agent.send`."""

    answer: ClassVar[type[Document]] = OutcomeDocument
    verb: Literal["send"] = "send"
    to: AgentId
    event: str
    payload: Plain = {}
    event_id: str | None = None


class PostCall(WritingCall):
    """`Runtime.post`."""

    answer: ClassVar[type[Document]] = ReceiptDocument
    verb: Literal["post"] = "post"
    to: AgentId
    event: str
    payload: Plain = {}
    event_id: str | None = None
    due: Moment | None = None


class RetryCall(WritingCall):
    """`Runtime.retry`. Made again, it finds mail that waits already, and says so."""

    answer: ClassVar[type[Document]] = MailDocument
    verb: Literal["retry"] = "retry"
    number: Count


class StopCall(WritingCall):
    """`Runtime.stop`. An agent that has ended stays as it is, so it can be made again as it is."""

    answer: ClassVar[type[Document]] = SnapshotDocument
    verb: Literal["stop"] = "stop"
    agent_id: AgentId


class RollbackCall(WritingCall):
    """`Agent.rollback`."""

    answer: ClassVar[type[Document]] = SnapshotDocument
    verb: Literal["rollback"] = "rollback"
    agent_id: AgentId
    version: int
    reason: str
    idempotency_key: str | None = None


class HandoffCall(WritingCall):
    """`Runtime.handoff`."""

    answer: ClassVar[type[Document]] = AskedDocument
    verb: Literal["handoff"] = "handoff"
    agent_id: AgentId  # of the agent that hands on
    to: str  # a graph
    at: str
    packet: HandoffPacket | None = None
    reason: Reason | None = None
    agent: AgentId | None = None
    mode: Mode = Mode.TRANSFER
    deadline: Deadline | None = None
    fallbacks: tuple[FallbackStep, ...] | None = Field(None, validation_alias=AliasChoices(*FALLBACK_FIELDS))
    idempotency_key: str | None = None


class CancelHandoffCall(WritingCall):
    """`Runtime.cancel_handoff`."""

    answer: ClassVar[type[Document]] = ReceiptDocument
    verb: Literal["cancel_handoff"] = "cancel_handoff"
    handoff_id: str
    reason: str
    idempotency_key: str | None = None


class FireTimerCall(WritingCall):
    """`Runtime.fire_timer`. Made again it finds no timer, if the agent has taken it."""

    answer: ClassVar[type[Document]] = MailDocument
    verb: Literal["fire_timer"] = "fire_timer"
    number: Count
    reason: str


class EndInvokeCall(WritingCall):
    """`Runtime.end_invoke`."""

    answer: ClassVar[type[Document]] = ReceiptDocument
    verb: Literal["end_invoke"] = "end_invoke"
    agent_id: AgentId
    invoke: str
    result: Result = None
    error: str | None = None
    reason: str
    idempotency_key: str | None = None


class EraseCall(WritingCall):
    """`Runtime.erase`. An agent that was erased is unknown, and so the same call again is told."""

    answer: ClassVar[type[Document]] = DoneDocument
    verb: Literal["erase"] = "erase"
    agent_id: AgentId


class ReadCall(BaseCall):
    """`Agent.snapshot`."""

    answer: ClassVar[type[Document]] = SnapshotDocument
    verb: Literal["read"] = "read"
    agent_id: AgentId


class SnapshotAtCall(BaseCall):
    """`Agent.snapshot_at`."""

    answer: ClassVar[type[Document]] = SnapshotDocument
    verb: Literal["snapshot_at"] = "snapshot_at"
    agent_id: AgentId
    version: int


class HistoryCall(BaseCall):
    """`Runtime.history`."""

    answer: ClassVar[type[Document]] = HistoryDocument
    verb: Literal["history"] = "history"
    agent_id: AgentId
    after: Count = 0
    limit: Count | None = None


class FindCall(BaseCall):
    """`Runtime.find`."""

    answer: ClassVar[type[Document]] = PageDocument
    verb: Literal["find"] = "find"
    graph: str | None = None
    state: str | None = None
    status: Status | None = None
    after: AgentId | None = None
    limit: Limit = 100


class MailCall(BaseCall):
    """`Runtime.mail`."""

    answer: ClassVar[type[Document]] = MailsDocument
    verb: Literal["mail"] = "mail"
    to: AgentId | None = None
    status: MailStatus | None = None
    after: Count = 0
    limit: Count = 100


class HandoffsCall(BaseCall):
    """`Runtime.handoffs`."""

    answer: ClassVar[type[Document]] = HandoffsDocument
    verb: Literal["handoffs"] = "handoffs"
    handoff_id: str | None = None
    request: str | None = None
    source: AgentId | None = None
    target: AgentId | None = None
    status: HandoffStatus | None = None
    after: Count = 0
    limit: Count = 100


Call: TypeAlias = Annotated[
    StartCall
    | StartOnCall
    | SendCall
    | PostCall
    | RetryCall
    | StopCall
    | RollbackCall
    | HandoffCall
    | CancelHandoffCall
    | FireTimerCall
    | EndInvokeCall
    | EraseCall
    | ReadCall
    | SnapshotAtCall
    | HistoryCall
    | FindCall
    | MailCall
    | HandoffsCall,
    Field(discriminator="verb"),
]

CALLS: Final[TypeAdapter[Call]] = TypeAdapter(Call)
"""Reads a call of any verb: `CALLS.validate_json(text)`; a call writes itself with `call.model_dump_json()`."""
