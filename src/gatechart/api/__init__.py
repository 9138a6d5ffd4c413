"""The verbs of a runtime as JSON, both ways: calls, what they answer, what they raise.

Whoever hosts agents reads a call (`CALLS.validate_json`), carries it out (`perform`) and answers with its document
(`document.model_dump_json()`) or with an `ErrorDocument.of(error)`. Whoever calls from elsewhere inherits from `Verbs`
and brings `_call`, which takes a call there and gives back the document, `answer.model_validate_json(text)`, or raises
`ErrorDocument.model_validate_json(text).value()`.
"""

from gatechart.api.answers import (
    AskedDocument,
    DoneDocument,
    HandoffsDocument,
    HistoryDocument,
    MailsDocument,
    PageDocument,
)
from gatechart.api.calls import (
    CALLS,
    BaseCall,
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
from gatechart.api.direct import Direct
from gatechart.api.documents import Document, EntryDocument, OutcomeDocument, SnapshotDocument
from gatechart.api.errors import ErrorDocument, Reply, facts_of, hidden_under, read_reply
from gatechart.api.mail_documents import HandoffDocument, MailDocument, ReceiptDocument
from gatechart.api.making import handoff_asked, handoff_call
from gatechart.api.naming import is_about
from gatechart.api.performing import Performer, perform, perform_once
from gatechart.api.verbs import Verbs

__all__ = [
    "CALLS",
    "AskedDocument",
    "BaseCall",
    "Call",
    "CancelHandoffCall",
    "Direct",
    "Document",
    "DoneDocument",
    "EndInvokeCall",
    "EntryDocument",
    "EraseCall",
    "ErrorDocument",
    "FindCall",
    "FireTimerCall",
    "HandoffCall",
    "HandoffDocument",
    "HandoffsCall",
    "HandoffsDocument",
    "HistoryCall",
    "HistoryDocument",
    "MailCall",
    "MailDocument",
    "MailsDocument",
    "OutcomeDocument",
    "PageDocument",
    "Performer",
    "PostCall",
    "ReadCall",
    "ReceiptDocument",
    "Reply",
    "RetryCall",
    "RollbackCall",
    "SendCall",
    "SnapshotAtCall",
    "SnapshotDocument",
    "StartCall",
    "StartOnCall",
    "StopCall",
    "Verbs",
    "WritingCall",
    "facts_of",
    "handoff_asked",
    "handoff_call",
    "hidden_under",
    "is_about",
    "perform",
    "perform_once",
    "read_reply",
]
