"""The frozen values that everything else speaks in: events, snapshots, effects, mail, records, history."""

from gatechart.values.agents import Event, GuardError, Outcome, Refusal, RefusalReason, Snapshot, Status
from gatechart.values.effects import (
    Adopt,
    Amend,
    Call,
    Cancel,
    CancelAll,
    CancelTimer,
    Effect,
    Send,
    Timer,
)
from gatechart.values.graphs import KnownGraph
from gatechart.values.history import ActiveIn, Forgotten, HistoryEntry, MailQuery, Page, Pruned, Pruning, Query
from gatechart.values.mail import Invocation, Mail, MailStatus, Receipt, Running
from gatechart.values.migrated import Fate, Migrated
from gatechart.values.names import STARTED, AgentId, Epochs, EventName, Memory, Name, Payload, StateName, name_of
from gatechart.values.records import Errand, MailChange, MailEnd, Posting, Report, StepRecord, TurnRecord, Unit, Verdict
from gatechart.values.retry import Retry
from gatechart.values.stored import Stored

__all__ = [
    "STARTED",
    "ActiveIn",
    "Adopt",
    "AgentId",
    "Amend",
    "Call",
    "Cancel",
    "CancelAll",
    "CancelTimer",
    "Effect",
    "Epochs",
    "Errand",
    "Event",
    "EventName",
    "Fate",
    "Forgotten",
    "GuardError",
    "HistoryEntry",
    "Invocation",
    "KnownGraph",
    "Mail",
    "MailChange",
    "MailEnd",
    "MailQuery",
    "MailStatus",
    "Memory",
    "Migrated",
    "Name",
    "Outcome",
    "Page",
    "Payload",
    "Posting",
    "Pruned",
    "Pruning",
    "Query",
    "Receipt",
    "Refusal",
    "RefusalReason",
    "Report",
    "Retry",
    "Running",
    "Send",
    "Snapshot",
    "StateName",
    "Status",
    "StepRecord",
    "Stored",
    "Timer",
    "TurnRecord",
    "Unit",
    "Verdict",
    "name_of",
]
