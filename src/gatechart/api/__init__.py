"""The interface of every home of agents, its commands, and their JSON in both directions.

`AgentHome` has each verb once; a home implements `execute`. A process that serves a home reads a command with
`COMMANDS.validate_json`, executes it with `perform`, and answers with the JSON of the document or of
`ErrorDocument.of(error)`. A client inherits from `AgentHome`, too: its `execute` sends the command to that process.
"""

from gatechart.api.answers import (
    AskedDocument,
    DoneDocument,
    HandoffsDocument,
    HistoryDocument,
    MailsDocument,
    PageDocument,
)
from gatechart.api.commands import (
    COMMANDS,
    BaseCommand,
    CancelHandoffCommand,
    Command,
    DiscardCommand,
    EndInvokeCommand,
    EraseCommand,
    FindCommand,
    FireTimerCommand,
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
from gatechart.api.documents import Document, EntryDocument, OutcomeDocument, SnapshotDocument
from gatechart.api.errors import ErrorDocument, Reply, facts_of, hidden_under, read_reply
from gatechart.api.execution import UnderRequest, execute_once, perform
from gatechart.api.home import AgentHome, check_writable
from gatechart.api.mail_documents import HandoffDocument, MailDocument, ReceiptDocument
from gatechart.api.remote_agent import RemoteAgent
from gatechart.api.subjects import is_about

__all__ = [
    "COMMANDS",
    "AgentHome",
    "AskedDocument",
    "BaseCommand",
    "CancelHandoffCommand",
    "Command",
    "DiscardCommand",
    "Document",
    "DoneDocument",
    "EndInvokeCommand",
    "EntryDocument",
    "EraseCommand",
    "ErrorDocument",
    "FindCommand",
    "FireTimerCommand",
    "HandoffCommand",
    "HandoffDocument",
    "HandoffsCommand",
    "HandoffsDocument",
    "HistoryCommand",
    "HistoryDocument",
    "MailCommand",
    "MailDocument",
    "MailsDocument",
    "OutcomeDocument",
    "PageDocument",
    "PostCommand",
    "ReadCommand",
    "ReceiptDocument",
    "RemoteAgent",
    "Reply",
    "RetryCommand",
    "RollbackCommand",
    "SendCommand",
    "SnapshotAtCommand",
    "SnapshotDocument",
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
    "perform",
    "read_reply",
]
