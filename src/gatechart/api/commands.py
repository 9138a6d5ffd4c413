"""Commands that homes of agents execute: frozen values that travel as JSON, each with its HTTP route.

A command that writes can be repeated under the same `event_id` or `idempotency_key` without further effect, because
its sender may not know whether it arrived.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias, get_args

from pydantic import (
    AliasChoices,
    AllowInfNan,
    ConfigDict,
    Field,
    Strict,
    TypeAdapter,
)

from gatechart.api.alarm_commands import AlarmCommand
from gatechart.api.base_command import (
    BaseCommand,
    Count,
    Deadline,
    Limit,
    Moment,
    Plain,
    Result,
    ScheduleName,
    WritingCommand,
)
from gatechart.api.breaker_commands import BreakersCommand, CloseBreakerCommand, IsolateBreakerCommand
from gatechart.api.codec import (
    ACCEPTED,
    ACCEPTS,
    AGENTS,
    ASKED,
    COUNTS,
    DONE,
    HANDOFFS,
    HISTORY,
    JOURNAL,
    MAIL,
    MAILS,
    OUTCOME,
    RECEIPT,
    SCHEDULE,
    SCHEDULES,
    SNAPSHOT,
    Answer,
)
from gatechart.api.conditions import Where
from gatechart.api.directory_commands import (
    ChooseCommand,
    DeregisterEntryCommand,
    DirectoryCommand,
    ForgetUserCommand,
    MarkEntryCommand,
    RateHandoffCommand,
    RegisterEntryCommand,
)
from gatechart.api.route import Route
from gatechart.api.watchdog_commands import FindingsCommand, HostsCommand
from gatechart.handoff import FallbackStep, HandoffPacket, fallbacks_of
from gatechart.handoff.packet import FALLBACK_FIELDS
from gatechart.values import (
    CONVERSATION,
    AgentId,
    HandoffStatus,
    MailStatus,
    Missed,
    Mode,
    Overlap,
    Reason,
    Status,
)


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


class SendCommand(WritingCommand):
    """`send`."""

    answer: ClassVar[Answer[Any]] = OUTCOME
    route: ClassVar[Route] = Route("POST", "/agents/{to}/events", "Send an event and wait until its turn is committed")
    verb: Literal["send"] = "send"
    to: AgentId
    event: str
    payload: Plain = Field(default={})
    event_id: str | None = None


class PostCommand(WritingCommand):
    """`post`."""

    answer: ClassVar[Answer[Any]] = RECEIPT
    route: ClassVar[Route] = Route(
        "POST", "/agents/{to}/mail", "Post mail to an agent; it is durable when this returns", 202
    )
    verb: Literal["post"] = "post"
    to: AgentId
    event: str
    payload: Plain = Field(default={})
    event_id: str | None = None
    due: Moment | None = None


class RetryCommand(WritingCommand):
    """`retry`. When repeated, it finds mail that is already waiting, and says so."""

    answer: ClassVar[Answer[Any]] = MAIL
    route: ClassVar[Route] = Route(
        "POST", "/mail/{number}/retry", "Deliver refused or dead mail again, or retry failed mail now"
    )
    verb: Literal["retry"] = "retry"
    number: Count
    to: AgentId | None = None


class DiscardCommand(WritingCommand):
    """`discard`. When repeated, it finds no such mail."""

    answer: ClassVar[Answer[Any]] = MAIL
    route: ClassVar[Route] = Route("POST", "/mail/{number}/discard", "Delete refused, dead or unreadable mail")
    verb: Literal["discard"] = "discard"
    number: Count
    to: AgentId | None = None


class StopCommand(WritingCommand):
    """`stop`. An agent that has ended stays as it is, so the command can be repeated as it is."""

    answer: ClassVar[Answer[Any]] = SNAPSHOT
    route: ClassVar[Route] = Route("POST", "/agents/{agent_id}/stop", "Stop an agent in its current state")
    verb: Literal["stop"] = "stop"
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
        "POST", "/agents/{agent_id}/fork", "Start another agent as this one was at a version", 201
    )
    verb: Literal["fork"] = "fork"
    agent_id: AgentId  # of the agent whose past it is
    version: int
    new_id: AgentId | None = None
    idempotency_key: str | None = None


class HandoffCommand(WritingCommand):
    """`handoff`."""

    answer: ClassVar[Answer[Any]] = ASKED
    route: ClassVar[Route] = Route("POST", "/agents/{agent_id}/handoffs", "Hand an agent's work to another agent", 202)
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

    answer: ClassVar[Answer[Any]] = RECEIPT
    route: ClassVar[Route] = Route("POST", "/handoffs/{handoff_id}/cancel", "Withdraw a handoff", 202)
    verb: Literal["cancel_handoff"] = "cancel_handoff"
    handoff_id: str
    reason: str
    idempotency_key: str | None = None


class FireTimerCommand(WritingCommand):
    """`fire_timer`. When repeated after the agent has taken the timer, it finds no timer."""

    answer: ClassVar[Answer[Any]] = MAIL
    route: ClassVar[Route] = Route("POST", "/mail/{number}/fire", "Fire a timer now, for a reason that is recorded")
    verb: Literal["fire_timer"] = "fire_timer"
    number: Count
    reason: str
    to: AgentId | None = None


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


class EraseCommand(WritingCommand):
    """`erase`. When repeated, it finds no such agent, and says so."""

    answer: ClassVar[Answer[Any]] = DONE
    route: ClassVar[Route] = Route("DELETE", "/agents/{agent_id}", "Erase an agent and its history for good", 204)
    verb: Literal["erase"] = "erase"
    agent_id: AgentId


class ReadCommand(BaseCommand):
    """`snapshot`."""

    answer: ClassVar[Answer[Any]] = SNAPSHOT
    route: ClassVar[Route] = Route("GET", "/agents/{agent_id}", "Read an agent as last committed")
    verb: Literal["read"] = "read"
    agent_id: AgentId


class AcceptsCommand(BaseCommand):
    """`accepts`."""

    answer: ClassVar[Answer[Any]] = ACCEPTS
    route: ClassVar[Route] = Route("GET", "/agents/{agent_id}/accepts", "List the events that an agent could take now")
    verb: Literal["accepts"] = "accepts"
    agent_id: AgentId


class CanCommand(BaseCommand):
    """`can`. payload: None if it is not known yet."""

    answer: ClassVar[Answer[Any]] = ACCEPTED
    route: ClassVar[Route] = Route("POST", "/agents/{agent_id}/accepts", "Tell what an event would do to an agent now")
    verb: Literal["can"] = "can"
    agent_id: AgentId
    event: str
    payload: Plain | None = None


class SnapshotAtCommand(BaseCommand):
    """`snapshot_at`."""

    answer: ClassVar[Answer[Any]] = SNAPSHOT
    route: ClassVar[Route] = Route(
        "GET", "/agents/{agent_id}/versions/{version}", "Read an agent as it was at an earlier version"
    )
    verb: Literal["snapshot_at"] = "snapshot_at"
    agent_id: AgentId
    version: int


class HistoryCommand(BaseCommand):
    """`history`."""

    answer: ClassVar[Answer[Any]] = HISTORY
    route: ClassVar[Route] = Route("GET", "/agents/{agent_id}/history", "List an agent's turns, oldest first")
    verb: Literal["history"] = "history"
    agent_id: AgentId
    after: Count = 0
    limit: Count | None = None


class JournalCommand(BaseCommand):
    """`journal`."""

    answer: ClassVar[Answer[Any]] = JOURNAL
    route: ClassVar[Route] = Route(
        "GET", "/agents/{agent_id}/journals/{journal}", "Read one of an agent's journals, a page at a time"
    )
    verb: Literal["journal"] = "journal"
    agent_id: AgentId
    journal: str = CONVERSATION
    after: str | None = None
    limit: Limit = 100


class FindCommand(BaseCommand):
    """`find`."""

    answer: ClassVar[Answer[Any]] = AGENTS
    route: ClassVar[Route] = Route("GET", "/agents", "List agents, a page at a time")
    verb: Literal["find"] = "find"
    graph: str | None = None
    state: str | None = None
    status: Status | None = None
    where: Where | None = None
    order: str = "started"
    after: str | None = None
    limit: Limit = 100


class CountsCommand(BaseCommand):
    """`counts`."""

    answer: ClassVar[Answer[Any]] = COUNTS
    route: ClassVar[Route] = Route("GET", "/counts", "Count agents by graph, status and state")
    verb: Literal["counts"] = "counts"
    graph: str | None = None


class MailCommand(BaseCommand):
    """`mail`."""

    answer: ClassVar[Answer[Any]] = MAILS
    route: ClassVar[Route] = Route("GET", "/mail", "List mail in the order accepted, a page at a time")
    verb: Literal["mail"] = "mail"
    to: AgentId | None = None
    status: MailStatus | None = None
    after: Count = 0
    limit: Count = 100


class HandoffsCommand(BaseCommand):
    """`handoffs`."""

    answer: ClassVar[Answer[Any]] = HANDOFFS
    route: ClassVar[Route] = Route("GET", "/handoffs", "List handoffs, a page at a time")
    verb: Literal["handoffs"] = "handoffs"
    handoff_id: str | None = None
    request: str | None = None
    source: AgentId | None = None
    target: AgentId | None = None
    status: HandoffStatus | None = None
    newest_first: bool = False
    after: Count = 0
    limit: Count = 100


class ScheduleCommand(WritingCommand):
    """`schedule`. It says how a schedule should be, so it can be repeated as it is."""

    answer: ClassVar[Answer[Any]] = SCHEDULE
    route: ClassVar[Route] = Route("POST", "/schedules", "Schedule the start of agents, or change a schedule")
    verb: Literal["schedule"] = "schedule"
    name: ScheduleName
    graph: str
    at: str
    payload: Plain | None = None
    every: Annotated[float, Strict(), AllowInfNan(False)] | str | None = None
    cron: str = ""
    zone: str = "UTC"
    missed: Missed = "one"
    overlap: Overlap = Overlap.SKIP


class SchedulesCommand(BaseCommand):
    """`schedules`."""

    answer: ClassVar[Answer[Any]] = SCHEDULES
    route: ClassVar[Route] = Route("GET", "/schedules", "List schedules in the order they were made, a page at a time")
    verb: Literal["schedules"] = "schedules"
    after: ScheduleName | None = None
    limit: Limit = 100


class PauseScheduleCommand(WritingCommand):
    """`pause_schedule`. A schedule that is paused stays so, so the command can be repeated as it is."""

    answer: ClassVar[Answer[Any]] = SCHEDULE
    route: ClassVar[Route] = Route("POST", "/schedules/{name}/pause", "Let a schedule start no agents for now")
    verb: Literal["pause_schedule"] = "pause_schedule"
    name: ScheduleName


class ResumeScheduleCommand(WritingCommand):
    """`resume_schedule`. A schedule that is not paused goes on, so the command can be repeated as it is."""

    answer: ClassVar[Answer[Any]] = SCHEDULE
    route: ClassVar[Route] = Route("POST", "/schedules/{name}/resume", "Let a paused schedule go on from now")
    verb: Literal["resume_schedule"] = "resume_schedule"
    name: ScheduleName


class RunScheduleCommand(WritingCommand):
    """`run_schedule`."""

    answer: ClassVar[Answer[Any]] = SCHEDULE
    route: ClassVar[Route] = Route("POST", "/schedules/{name}/run", "Start an agent of a schedule now", 202)
    verb: Literal["run_schedule"] = "run_schedule"
    name: ScheduleName
    idempotency_key: str | None = None


class DeleteScheduleCommand(WritingCommand):
    """`delete_schedule`. When repeated, it finds no such schedule, and says so."""

    answer: ClassVar[Answer[Any]] = DONE
    route: ClassVar[Route] = Route("DELETE", "/schedules/{name}", "Delete a schedule; its agents go on", 204)
    verb: Literal["delete_schedule"] = "delete_schedule"
    name: ScheduleName


Command: TypeAlias = Annotated[
    StartCommand
    | StartOnCommand
    | SendCommand
    | PostCommand
    | RetryCommand
    | DiscardCommand
    | StopCommand
    | RollbackCommand
    | ForkCommand
    | HandoffCommand
    | CancelHandoffCommand
    | FireTimerCommand
    | EndInvokeCommand
    | ReadCommand
    | EraseCommand
    | AcceptsCommand
    | CanCommand
    | SnapshotAtCommand
    | HistoryCommand
    | JournalCommand
    | FindCommand
    | CountsCommand
    | MailCommand
    | HandoffsCommand
    | ScheduleCommand
    | SchedulesCommand
    | PauseScheduleCommand
    | ResumeScheduleCommand
    | RunScheduleCommand
    | DeleteScheduleCommand
    | BreakersCommand
    | IsolateBreakerCommand
    | CloseBreakerCommand
    | RegisterEntryCommand
    | DeregisterEntryCommand
    | DirectoryCommand
    | MarkEntryCommand
    | ChooseCommand
    | ForgetUserCommand
    | RateHandoffCommand
    | AlarmCommand
    | FindingsCommand
    | HostsCommand,
    Field(discriminator="verb"),
]

KINDS: Final[tuple[type[BaseCommand], ...]] = get_args(get_args(Command)[0])
"""The class of each command."""

COMMANDS: Final[TypeAdapter[Command]] = TypeAdapter(Command, config=ConfigDict(defer_build=True))
"""Reader of commands of any verb: `COMMANDS.validate_json(text)`. Write one with `command.model_dump_json()`."""
