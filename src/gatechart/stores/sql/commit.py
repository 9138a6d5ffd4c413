"""Commit a batch of units in one transaction: load, apply the commit rules, write."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias, assert_never

from sqlalchemy import BindParameter, Connection, bindparam, delete, insert, or_, update

from gatechart.stores.commit_rules import apply
from gatechart.stores.held_work import UNCHANGED, WorkChange
from gatechart.stores.operations import (
    AppendTurn,
    DeleteMail,
    DirectHandoff,
    EndAll,
    EndInvocation,
    EndOperation,
    EndState,
    EndTimer,
    ExplainHandoff,
    FreeSlot,
    HandoffOperation,
    InsertHandoff,
    InsertMail,
    InvocationOperation,
    MailOperation,
    MoveInvocation,
    Operation,
    RecordEntry,
    RecordStep,
    SetBreaker,
    StartInvocation,
    TakeSlot,
    UpdateHandoff,
    UpdateMail,
)
from gatechart.stores.sql.agent_rows import changes_row, snapshot_row
from gatechart.stores.sql.breaker_rows import breaker_row
from gatechart.stores.sql.columns import text_once
from gatechart.stores.sql.dialects import KEEP_NUMBER, listed
from gatechart.stores.sql.handoff_rows import DIRECTED, directed_row, handoff_row, state_row
from gatechart.stores.sql.history_rows import delta_of, history_row
from gatechart.stores.sql.load import LoadedRows
from gatechart.stores.sql.mail_rows import mail_row, new_mail_row
from gatechart.stores.sql.searchable import FoundValues
from gatechart.stores.sql.statements import Many, Row, Single, SparseStatement
from gatechart.stores.sql.tables import (
    WAITS,
    agents,
    breakers,
    handoffs,
    history,
    invokes,
    journals,
    mail,
    places,
    steps,
)
from gatechart.stores.sql.work_rows import changed_work
from gatechart.values.breakers import BreakerRecord, BreakerState
from gatechart.values.commits import JournalRecord, StepRecord, TurnRecord, Unit, Verdict
from gatechart.values.mail import ActiveInvocation
from gatechart.values.names import Payload

_Statement: TypeAlias = Many | SparseStatement

_ID: Final[BindParameter[str]] = bindparam("of_id")
_AGENT: Final[BindParameter[int]] = bindparam("of_agent")
_STATE: Final[BindParameter[str]] = bindparam("of_state")
_TIMER: Final[BindParameter[str]] = bindparam("of_timer")
_NUMBER: Final[BindParameter[int]] = bindparam("of_number")
_KEY: Final[BindParameter[int]] = bindparam("of_key")
_INVOCATION: Final[BindParameter[int]] = bindparam("of_invocation")
_JOURNAL: Final[BindParameter[str]] = bindparam("of_journal")
_NAME: Final[BindParameter[str]] = bindparam("of_name")

_IS_TIMER: Final = or_(mail.c.state.is_not(None), mail.c.key.is_not(None))
_OWN_MAIL: Final = delete(mail).where(mail.c.recipient == _ID, WAITS)
_OWN_CALLS: Final = delete(invokes).where(invokes.c.agent == _AGENT)  # cascades to their steps

START: Final = SparseStatement(insert(agents))
CONTINUE: Final = SparseStatement(update(agents).where(agents.c.key == _KEY))
APPEND_HISTORY: Final = SparseStatement(insert(history))
DELETE_MAIL: Final = Single(delete(mail).where(mail.c.number.in_(listed(int))))
END_TIMERS: Final = Single(delete(mail).where(mail.c.recipient.in_(listed()), WAITS, _IS_TIMER))
END_INVOCATIONS_OF: Final = Single(delete(invokes).where(invokes.c.agent.in_(listed(int))))
END_MAIL_OF_STATE: Final = Many(_OWN_MAIL.where(mail.c.state == _STATE))
END_INVOCATIONS_OF_STATE: Final = Many(_OWN_CALLS.where(invokes.c.state == _STATE))
END_TIMER: Final = Many(_OWN_MAIL.where(mail.c.key == _TIMER))
END_INVOCATIONS: Final = Single(delete(invokes).where(invokes.c.key.in_(listed(int))))
MOVE_INVOCATION: Final = Many(update(invokes).where(invokes.c.key == _KEY), ["state", "epoch", "invoke", "context"])
START_INVOCATION: Final = Many(insert(invokes), ["agent", "state", "epoch", "invoke", "context"])
UPDATE_MAIL: Final = Many(
    update(mail).where(mail.c.number == _NUMBER),
    [column.name for column in mail.c if column is not mail.c.number],
)
INSERT_MAIL: Final = SparseStatement(insert(mail))
FORGET_STEP: Final = Many(delete(steps).where(steps.c.invocation == _INVOCATION, steps.c.name == _NAME))
RECORD_STEP: Final = Many(insert(steps))
FORGET_ENTRY: Final = Many(
    delete(journals).where(journals.c.agent == _AGENT, journals.c.journal == _JOURNAL, journals.c.name == _NAME)
)
REWRITE_ENTRY: Final = Many(
    update(journals).where(journals.c.agent == _AGENT, journals.c.journal == _JOURNAL, journals.c.name == _NAME),
    ["entry"],
)
WRITE_ENTRY: Final = Many(insert(journals), ["agent", "journal", "name", "entry"])
INSERT_HANDOFF: Final = Many(insert(handoffs), [column.name for column in handoffs.c if column is not handoffs.c.key])
DIRECT_HANDOFF: Final = Many(update(handoffs).where(handoffs.c.id == _ID), list(DIRECTED))
EXPLAIN_HANDOFF: Final = Many(update(handoffs).where(handoffs.c.id == _ID), ["choice"])
UPDATE_HANDOFF: Final = Many(update(handoffs).where(handoffs.c.id == _ID), ["status", "changes", "result"])
FREE_SLOTS: Final = Single(delete(places).where(places.c.handoff.in_(listed())))
TAKE_SLOT: Final = Many(insert(places))
DROP_BREAKERS: Final = Single(delete(breakers).where(breakers.c.name.in_(listed())))
PUT_BREAKER: Final = Many(insert(breakers))

_OF_ROWS: Final[Sequence[_Statement]] = (
    START,
    CONTINUE,
    APPEND_HISTORY,
    END_MAIL_OF_STATE,
    END_INVOCATIONS_OF_STATE,
    END_TIMER,
    MOVE_INVOCATION,
    START_INVOCATION,
    UPDATE_MAIL,
    INSERT_MAIL,
    FORGET_STEP,
    RECORD_STEP,
    FORGET_ENTRY,
    REWRITE_ENTRY,
    WRITE_ENTRY,
    INSERT_HANDOFF,
    DIRECT_HANDOFF,
    EXPLAIN_HANDOFF,
    UPDATE_HANDOFF,
    TAKE_SLOT,
    PUT_BREAKER,
)
_OF_LISTS: Final[Sequence[Single]] = (
    DELETE_MAIL,
    END_TIMERS,
    END_INVOCATIONS_OF,
    END_INVOCATIONS,
    FREE_SLOTS,
    DROP_BREAKERS,
)


def commit_units(
    connection: Connection, searchable: Mapping[str, Sequence[str]], units: Sequence[Unit], *, counts_work: bool
) -> tuple[list[Verdict], WorkChange]:
    """Return the verdict of each unit, as `Store.commit` promises, and the changes of the open work.

    The connection holds the owner's lock. Other processes write only to `requests` meanwhile.
    searchable: the declared fields, by graph. counts_work: whether to compute the changes of the open work.
    """
    stored = LoadedRows(connection, units)
    verdicts, operations = apply(units, stored)
    changes = _Changes(stored, FoundValues(searchable) if searchable else None)
    for operation in operations:
        changes.add(operation)
    work = changed_work(connection, stored, operations) if counts_work else UNCHANGED
    changes.write(connection)
    return verdicts, work


class _Changes:
    """Collects the rows of operations, one list for each statement."""

    def __init__(self, stored: LoadedRows, values: FoundValues | None) -> None:
        self._stored = stored
        self._values = values
        self._text: Callable[[Payload], str] = partial(text_once, {})
        self._rows: defaultdict[_Statement, list[Row]] = defaultdict(list)
        self._lists: defaultdict[Single, list[Any]] = defaultdict(list)

    def add(self, operation: Operation) -> None:
        match operation:
            case AppendTurn(turn):
                self._append(turn)
            case InsertMail() | UpdateMail() | DeleteMail():
                self._add_mail(operation)
            case EndState() | EndTimer() | EndAll():
                self._add_end(operation)
            case StartInvocation() | MoveInvocation() | EndInvocation() | RecordStep() | RecordEntry():
                self._add_invocation(operation)
            case InsertHandoff() | DirectHandoff() | ExplainHandoff() | UpdateHandoff() | TakeSlot() | FreeSlot():
                self._add_handoff(operation)
            case SetBreaker(breaker):
                self._set(breaker)
            case _:
                assert_never(operation)

    def write(self, connection: Connection) -> None:
        """Write the collected rows. Ends and deletions precede insertions."""
        for listing in _OF_LISTS:
            if listing in self._lists:
                listing.run(connection, self._lists[listing])
        for statement in _OF_ROWS:
            if statement in self._rows:
                statement.run(connection, self._rows[statement])
        if self._values is not None:
            self._values.write(connection)
        if INSERT_MAIL in self._rows and connection.dialect.name in KEEP_NUMBER:
            highest = max(row["number"] for row in self._rows[INSERT_MAIL])
            connection.execute(KEEP_NUMBER[connection.dialect.name], {"number": highest})

    def _set(self, breaker: BreakerRecord) -> None:
        self._lists[DROP_BREAKERS].append(breaker.name)
        if breaker.state is not BreakerState.CLOSED:
            self._rows[PUT_BREAKER].append(breaker_row(breaker))

    def _append(self, turn: TurnRecord) -> None:
        before, after = turn.previous, turn.snapshot
        key, deltas = self._stored.agents[after.agent_id]
        row = snapshot_row(after) if before is None else changes_row(before, after)
        delta = delta_of(turn, deltas)
        if self._values is not None:
            self._values.add(key, before, after)
        self._rows[APPEND_HISTORY].append(history_row(turn, key, delta, row))
        if before is None:
            self._rows[START].append(row | {"key": key, "deltas": delta.deltas})
        else:
            self._rows[CONTINUE].append(row | {"deltas": delta.deltas, _KEY.key: key})

    def _add_mail(self, operation: MailOperation) -> None:
        match operation:
            case InsertMail(new):
                self._rows[INSERT_MAIL].append(new_mail_row(new, self._text))
            case UpdateMail(changed):
                self._rows[UPDATE_MAIL].append(mail_row(changed) | {_NUMBER.key: changed.number})
            case DeleteMail(number):
                self._lists[DELETE_MAIL].append(number)
            case _:
                assert_never(operation)

    def _add_end(self, operation: EndOperation) -> None:
        agent_id, key = operation.agent_id, self._stored.key_of(operation.agent_id)
        match operation:
            case EndState(_, state):
                self._rows[END_MAIL_OF_STATE].append({_ID.key: agent_id, _STATE.key: state})
                self._rows[END_INVOCATIONS_OF_STATE].append({_AGENT.key: key, _STATE.key: state})
            case EndTimer(_, timer):
                self._rows[END_TIMER].append({_ID.key: agent_id, _TIMER.key: timer})
            case EndAll():
                self._lists[END_TIMERS].append(agent_id)
                self._lists[END_INVOCATIONS_OF].append(key)
            case _:
                assert_never(operation)

    def _add_invocation(self, operation: InvocationOperation) -> None:
        match operation:
            case StartInvocation(active):
                agent = {"agent": self._stored.key_of(active.invocation.agent_id)}
                self._rows[START_INVOCATION].append(agent | _invocation_row(active))
            case MoveInvocation(invocation, active):
                key = self._stored.key_of_invocation(invocation)
                self._rows[MOVE_INVOCATION].append(_invocation_row(active) | {_KEY.key: key})
            case EndInvocation(invocation):
                self._lists[END_INVOCATIONS].append(self._stored.key_of_invocation(invocation))
            case RecordStep(record):
                self._add_step(record)
            case RecordEntry(record):
                self._add_entry(record)
            case _:
                assert_never(operation)

    def _add_step(self, record: StepRecord) -> None:
        key = self._stored.key_of_invocation(record.invocation)
        if record.replaces:
            self._rows[FORGET_STEP] += [{_INVOCATION.key: key, _NAME.key: name} for name in record.replaces]
        self._rows[RECORD_STEP].append({"invocation": key, "name": record.name, "result": record.result})

    def _add_entry(self, record: JournalRecord) -> None:
        key = self._stored.key_of_writer(record.invocation.agent_id)
        names = [name for name in record.replaces if name != record.name]
        replaced = [{_AGENT.key: key, _JOURNAL.key: record.journal, _NAME.key: name} for name in names]
        if replaced:
            self._rows[FORGET_ENTRY] += replaced
        if self._stored.has_entry(record.invocation.agent_id, record.journal, record.name):
            where = {_AGENT.key: key, _JOURNAL.key: record.journal, _NAME.key: record.name}
            self._rows[REWRITE_ENTRY].append({**where, "entry": record.entry})
            return
        row = {"agent": key, "journal": record.journal, "name": record.name, "entry": record.entry}
        self._rows[WRITE_ENTRY].append(row)

    def _add_handoff(self, operation: HandoffOperation) -> None:
        match operation:
            case InsertHandoff(handoff):
                self._rows[INSERT_HANDOFF].append(handoff_row(handoff, self._text))
            case DirectHandoff(handoff):
                self._rows[DIRECT_HANDOFF].append({**directed_row(handoff, self._text), _ID.key: handoff.id})
            case ExplainHandoff(handoff_id, choice):
                self._rows[EXPLAIN_HANDOFF].append({"choice": self._text(choice), _ID.key: handoff_id})
            case UpdateHandoff(handoff_id, state):
                self._rows[UPDATE_HANDOFF].append({**state_row(state), _ID.key: handoff_id})
            case TakeSlot(handoff_id, graph):
                self._rows[TAKE_SLOT].append({"handoff": handoff_id, "graph": graph})
            case FreeSlot(handoff_id):
                self._lists[FREE_SLOTS].append(handoff_id)
            case _:
                assert_never(operation)


def _invocation_row(active: ActiveInvocation) -> dict[str, Any]:
    call = active.invocation
    return {"state": call.state, "epoch": call.epoch, "invoke": call.invoke, "context": active.context}
