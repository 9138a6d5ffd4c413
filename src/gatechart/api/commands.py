"""Commands that homes of agents execute: frozen values that travel as JSON.

A command that writes can be repeated under the same `event_id` or `idempotency_key` without further effect, because
its sender may not know whether it arrived.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, Literal, Self, TypeAlias

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
from gatechart.handoff import FallbackStep, HandoffPacket, fallbacks_of
from gatechart.handoff.packet import FALLBACK_FIELDS, Time
from gatechart.turn import check_finite
from gatechart.values import HIGHEST_NUMBER, AgentId, HandoffStatus, MailStatus, Mode, Payload, Reason, Status


def _finite(payload: Payload) -> Payload:
    check_finite(payload)
    return payload


def _finite_result(result: JsonValue) -> JsonValue:
    check_finite({"result": result})
    return result


Plain: TypeAlias = Annotated[dict[str, JsonValue], AfterValidator(_finite)]
Result: TypeAlias = Annotated[JsonValue, AfterValidator(_finite_result)]
Count: TypeAlias = Annotated[int, Field(ge=0, lt=HIGHEST_NUMBER)]
Limit: TypeAlias = Annotated[int, Field(ge=1, lt=HIGHEST_NUMBER)]
Moment: TypeAlias = Annotated[Time, Strict()]  # strict: otherwise a number would count as seconds since 1970
_Number: TypeAlias = Annotated[str, Field(pattern=r"^\s*[-+]?[0-9.]+\s*$")]  # neither a time nor a delay
Deadline: TypeAlias = Annotated[
    _Number | Moment | Annotated[float, Strict(), AllowInfNan(False)] | str, Field(union_mode="left_to_right")
]
"""A time, a number of seconds, or a delay in text form, for example "10m"."""


class BaseCommand(BaseModel):
    """Base of all commands. `answer`: the kind of document that it returns. `writes`: whether it changes anything."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    answer: ClassVar[type[Document]]
    writes: ClassVar[bool] = False

    def document(self, result: Any) -> Document:
        """Make the document of this command's result."""
        kind: Any = self.answer
        document: Document = kind.of(result)
        return document


class WritingCommand(BaseCommand):
    """Base of commands that change something."""

    writes: ClassVar[bool] = True

    def named(self, request: str) -> Self:
        """Return the command with this id if it has none, so that it can be repeated."""
        field = "event_id" if isinstance(self, SendCommand | PostCommand) else "idempotency_key"
        is_free = field in type(self).model_fields and getattr(self, field) is None
        return self.model_copy(update={field: request}) if is_free else self


class StartCommand(WritingCommand):
    """`start`."""

    answer: ClassVar[type[Document]] = SnapshotDocument
    verb: Literal["start"] = "start"
    graph: str
    at: str
    payload: Plain | None = None
    agent_id: AgentId | None = None
    idempotency_key: str | None = None


class StartOnCommand(WritingCommand):
    """`start_on`."""

    answer: ClassVar[type[Document]] = SnapshotDocument
    verb: Literal["start_on"] = "start_on"
    trigger: str
    payload: Plain | None = None
    agent_id: AgentId | None = None
    idempotency_key: str | None = None


class SendCommand(WritingCommand):
    """`send`."""

    answer: ClassVar[type[Document]] = OutcomeDocument
    verb: Literal["send"] = "send"
    to: AgentId
    event: str
    payload: Plain = {}
    event_id: str | None = None

    def document(self, result: Any) -> Document:
        """Make the document of an outcome."""
        return OutcomeDocument.of(self.to, result)


class PostCommand(WritingCommand):
    """`post`."""

    answer: ClassVar[type[Document]] = ReceiptDocument
    verb: Literal["post"] = "post"
    to: AgentId
    event: str
    payload: Plain = {}
    event_id: str | None = None
    due: Moment | None = None


class RetryCommand(WritingCommand):
    """`retry`. When repeated, it finds mail that is already waiting, and says so."""

    answer: ClassVar[type[Document]] = MailDocument
    verb: Literal["retry"] = "retry"
    number: Count
    to: AgentId | None = None


class DiscardCommand(WritingCommand):
    """`discard`. When repeated, it finds no such mail."""

    answer: ClassVar[type[Document]] = MailDocument
    verb: Literal["discard"] = "discard"
    number: Count
    to: AgentId | None = None


class StopCommand(WritingCommand):
    """`stop`. An agent that has ended stays as it is, so the command can be repeated as it is."""

    answer: ClassVar[type[Document]] = SnapshotDocument
    verb: Literal["stop"] = "stop"
    agent_id: AgentId


class RollbackCommand(WritingCommand):
    """`rollback`."""

    answer: ClassVar[type[Document]] = SnapshotDocument
    verb: Literal["rollback"] = "rollback"
    agent_id: AgentId
    version: int
    reason: str
    idempotency_key: str | None = None


class HandoffCommand(WritingCommand):
    """`handoff`."""

    answer: ClassVar[type[Document]] = AskedDocument
    verb: Literal["handoff"] = "handoff"
    agent_id: AgentId  # the agent that hands on
    to: str  # a graph
    at: str
    packet: HandoffPacket | None = None
    reason: Reason | None = None
    agent: AgentId | None = None
    mode: Mode = Mode.TRANSFER
    deadline: Deadline | None = None
    fallbacks: tuple[FallbackStep, ...] | None = Field(None, validation_alias=AliasChoices(*FALLBACK_FIELDS))
    idempotency_key: str | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `Turn.handoff`, by name."""
        fallbacks = None if self.fallbacks is None else fallbacks_of(self.fallbacks)
        asked = {name: getattr(self, name) for name in ("to", "at", "packet", "reason", "agent", "mode", "deadline")}
        return asked | {"fallbacks": fallbacks}


class CancelHandoffCommand(WritingCommand):
    """`cancel_handoff`."""

    answer: ClassVar[type[Document]] = ReceiptDocument
    verb: Literal["cancel_handoff"] = "cancel_handoff"
    handoff_id: str
    reason: str
    idempotency_key: str | None = None


class FireTimerCommand(WritingCommand):
    """`fire_timer`. When repeated after the agent has taken the timer, it finds no timer."""

    answer: ClassVar[type[Document]] = MailDocument
    verb: Literal["fire_timer"] = "fire_timer"
    number: Count
    reason: str
    to: AgentId | None = None


class EndInvokeCommand(WritingCommand):
    """`end_invoke`."""

    answer: ClassVar[type[Document]] = ReceiptDocument
    verb: Literal["end_invoke"] = "end_invoke"
    agent_id: AgentId
    invoke: str
    result: Result = None
    error: str | None = None
    reason: str
    idempotency_key: str | None = None


class EraseCommand(WritingCommand):
    """`erase`. When repeated, it finds no such agent, and says so."""

    answer: ClassVar[type[Document]] = DoneDocument
    verb: Literal["erase"] = "erase"
    agent_id: AgentId


class ReadCommand(BaseCommand):
    """`snapshot`."""

    answer: ClassVar[type[Document]] = SnapshotDocument
    verb: Literal["read"] = "read"
    agent_id: AgentId


class SnapshotAtCommand(BaseCommand):
    """`snapshot_at`."""

    answer: ClassVar[type[Document]] = SnapshotDocument
    verb: Literal["snapshot_at"] = "snapshot_at"
    agent_id: AgentId
    version: int


class HistoryCommand(BaseCommand):
    """`history`."""

    answer: ClassVar[type[Document]] = HistoryDocument
    verb: Literal["history"] = "history"
    agent_id: AgentId
    after: Count = 0
    limit: Count | None = None


class FindCommand(BaseCommand):
    """`find`."""

    answer: ClassVar[type[Document]] = PageDocument
    verb: Literal["find"] = "find"
    graph: str | None = None
    state: str | None = None
    status: Status | None = None
    after: AgentId | None = None
    limit: Limit = 100


class MailCommand(BaseCommand):
    """`mail`."""

    answer: ClassVar[type[Document]] = MailsDocument
    verb: Literal["mail"] = "mail"
    to: AgentId | None = None
    status: MailStatus | None = None
    after: Count = 0
    limit: Count = 100


class HandoffsCommand(BaseCommand):
    """`handoffs`."""

    answer: ClassVar[type[Document]] = HandoffsDocument
    verb: Literal["handoffs"] = "handoffs"
    handoff_id: str | None = None
    request: str | None = None
    source: AgentId | None = None
    target: AgentId | None = None
    status: HandoffStatus | None = None
    after: Count = 0
    limit: Count = 100


Command: TypeAlias = Annotated[
    StartCommand
    | StartOnCommand
    | SendCommand
    | PostCommand
    | RetryCommand
    | DiscardCommand
    | StopCommand
    | RollbackCommand
    | HandoffCommand
    | CancelHandoffCommand
    | FireTimerCommand
    | EndInvokeCommand
    | EraseCommand
    | ReadCommand
    | SnapshotAtCommand
    | HistoryCommand
    | FindCommand
    | MailCommand
    | HandoffsCommand,
    Field(discriminator="verb"),
]

COMMANDS: Final[TypeAdapter[Command]] = TypeAdapter(Command)
"""Reader of commands of any verb: `COMMANDS.validate_json(text)`. Write one with `command.model_dump_json()`."""
