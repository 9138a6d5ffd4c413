"""The interface of every home of agents, its commands, and their JSON in both directions.

`AgentHome` has each verb once; a home implements `execute`. A process that serves a home reads a command with
`COMMANDS.validate_json`, executes it with `home.execute(command)`, and answers with `command.answer.write(result)` or
the JSON of `ErrorDocument.of(error)`. A client inherits from `AgentHome`, too: its `execute` sends the command to that
process.
"""

from gatechart.api.codec import DONE, HANDOFF, MAIL, OUTCOME, SNAPSHOT, TURN, Answer, ListAnswer, Part
from gatechart.api.commands import (
    COMMANDS,
    KINDS,
    AcceptsCommand,
    BaseCommand,
    CancelHandoffCommand,
    CanCommand,
    Command,
    DiscardCommand,
    EndInvokeCommand,
    EraseCommand,
    FindCommand,
    FireTimerCommand,
    ForkCommand,
    HandoffCommand,
    HandoffsCommand,
    HistoryCommand,
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
    WritingCommand,
)
from gatechart.api.errors import ErrorDocument, Reply, facts_of, hidden_under, read_reply
from gatechart.api.home import AgentHome
from gatechart.api.making import check_writable
from gatechart.api.remote_agent import RemoteAgent
from gatechart.api.requests import UnderRequest, execute_once, is_about
from gatechart.api.routes import Route

__all__ = [
    "COMMANDS",
    "DONE",
    "HANDOFF",
    "KINDS",
    "MAIL",
    "OUTCOME",
    "SNAPSHOT",
    "TURN",
    "AcceptsCommand",
    "AgentHome",
    "Answer",
    "BaseCommand",
    "CanCommand",
    "CancelHandoffCommand",
    "Command",
    "DiscardCommand",
    "EndInvokeCommand",
    "EraseCommand",
    "ErrorDocument",
    "FindCommand",
    "FireTimerCommand",
    "ForkCommand",
    "HandoffCommand",
    "HandoffsCommand",
    "HistoryCommand",
    "ListAnswer",
    "MailCommand",
    "Part",
    "PostCommand",
    "ReadCommand",
    "RemoteAgent",
    "Reply",
    "RetryCommand",
    "RollbackCommand",
    "Route",
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
    "read_reply",
]
