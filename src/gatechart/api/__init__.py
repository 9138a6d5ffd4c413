"""The interface of every home of agents, its commands, and their JSON in both directions.

`AgentHome` has each verb once; a home implements `execute`. A process that serves a home reads a command with
`COMMANDS.validate_json`, executes it with `home.execute(command)`, and answers with `command.answer.write(result)` or
the JSON of `ErrorDocument.of(error)`. A client inherits from `AgentHome`, too: its `execute` sends the command to that
process.
"""

from gatechart.api.alarm_commands import AlarmCommand
from gatechart.api.base_command import BaseCommand, WritingCommand
from gatechart.api.breaker_commands import BreakersCommand, CloseBreakerCommand, IsolateBreakerCommand
from gatechart.api.codec import COUNTS, DONE, HANDOFF, MAIL, OUTCOME, SNAPSHOT, TURN, Answer, ListAnswer, Part
from gatechart.api.commands import (
    COMMANDS,
    KINDS,
    AcceptsCommand,
    CancelHandoffCommand,
    CanCommand,
    Command,
    CountsCommand,
    DeleteScheduleCommand,
    DiscardCommand,
    EndInvokeCommand,
    EraseCommand,
    FindCommand,
    FireTimerCommand,
    ForkCommand,
    HandoffCommand,
    HandoffsCommand,
    HistoryCommand,
    JournalCommand,
    MailCommand,
    PauseScheduleCommand,
    PostCommand,
    ReadCommand,
    ResumeScheduleCommand,
    RetryCommand,
    RollbackCommand,
    RunScheduleCommand,
    ScheduleCommand,
    SchedulesCommand,
    SendCommand,
    SnapshotAtCommand,
    StartCommand,
    StartOnCommand,
    StopCommand,
)
from gatechart.api.conditions import Bounds
from gatechart.api.directory_commands import (
    ChooseCommand,
    DeregisterEntryCommand,
    DirectoryCommand,
    ForgetUserCommand,
    MarkEntryCommand,
    RateHandoffCommand,
    RegisterEntryCommand,
)
from gatechart.api.errors import ErrorDocument, Reply, facts_of, hidden_under, read_reply
from gatechart.api.home import AgentHome
from gatechart.api.making import check_writable, made
from gatechart.api.remote_agent import RemoteAgent
from gatechart.api.requests import UnderRequest, execute_once, is_about
from gatechart.api.routes import Route
from gatechart.api.watchdog_commands import FindingsCommand, HostsCommand

__all__ = [
    "COMMANDS",
    "COUNTS",
    "DONE",
    "HANDOFF",
    "KINDS",
    "MAIL",
    "OUTCOME",
    "SNAPSHOT",
    "TURN",
    "AcceptsCommand",
    "AgentHome",
    "AlarmCommand",
    "Answer",
    "BaseCommand",
    "Bounds",
    "BreakersCommand",
    "CanCommand",
    "CancelHandoffCommand",
    "ChooseCommand",
    "CloseBreakerCommand",
    "Command",
    "CountsCommand",
    "DeleteScheduleCommand",
    "DeregisterEntryCommand",
    "DirectoryCommand",
    "DiscardCommand",
    "EndInvokeCommand",
    "EraseCommand",
    "ErrorDocument",
    "FindCommand",
    "FindingsCommand",
    "FireTimerCommand",
    "ForgetUserCommand",
    "ForkCommand",
    "HandoffCommand",
    "HandoffsCommand",
    "HistoryCommand",
    "HostsCommand",
    "IsolateBreakerCommand",
    "JournalCommand",
    "ListAnswer",
    "MailCommand",
    "MarkEntryCommand",
    "Part",
    "PauseScheduleCommand",
    "PostCommand",
    "RateHandoffCommand",
    "ReadCommand",
    "RegisterEntryCommand",
    "RemoteAgent",
    "Reply",
    "ResumeScheduleCommand",
    "RetryCommand",
    "RollbackCommand",
    "Route",
    "RunScheduleCommand",
    "ScheduleCommand",
    "SchedulesCommand",
    "SendCommand",
    "SnapshotAtCommand",
    "StartCommand",
    "StartOnCommand",
    "StopCommand",
    "UnderRequest",
    "WritingCommand",
    "check_writable",
    "execute_once",
    "facts_of",
    "hidden_under",
    "is_about",
    "made",
    "read_reply",
]
