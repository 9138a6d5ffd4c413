"""What calls return: values that the framework makes and users read."""

from gatechart.hosting.transfers import TransferOutcome
from gatechart.turn.transfer_offer import TransferOffer
from gatechart.values.agents import Origin, Outcome, Refusal, RefusalReason, Refused, Snapshot, Status
from gatechart.values.handoffs import HandoffChange, HandoffRecord, HandoffStatus
from gatechart.values.mail import Mail, MailStatus, Receipt
from gatechart.values.migrations import Fate, Migrated, Stored
from gatechart.values.possibilities import AcceptedEvent, Agrees, PossibleTransition
from gatechart.values.profiles import Candidate, Choice, Explanation, Judged
from gatechart.values.queries import Forgotten, HistoryEntry, Page
from gatechart.values.replays import Difference, Fidelity, ReplayedTurn
from gatechart.values.schedules import Schedule

__all__ = [
    "AcceptedEvent",
    "Agrees",
    "Candidate",
    "Choice",
    "Difference",
    "Explanation",
    "Fate",
    "Fidelity",
    "Forgotten",
    "HandoffChange",
    "HandoffRecord",
    "HandoffStatus",
    "HistoryEntry",
    "Judged",
    "Mail",
    "MailStatus",
    "Migrated",
    "Origin",
    "Outcome",
    "Page",
    "PossibleTransition",
    "Receipt",
    "Refusal",
    "RefusalReason",
    "Refused",
    "ReplayedTurn",
    "Schedule",
    "Snapshot",
    "Status",
    "Stored",
    "TransferOffer",
    "TransferOutcome",
]
