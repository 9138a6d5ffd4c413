"""The rules of a commit, shared by all stores: units and stored data in, verdicts and operations out. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from gatechart.errors.event import EventIdReusedError
from gatechart.stores.handoff_rules import HandoffLedger
from gatechart.stores.operations import (
    AppendTurn,
    Content,
    DeleteMail,
    EndAll,
    EndInvocation,
    EndOperation,
    EndState,
    EndTimer,
    InsertMail,
    Loaded,
    MailId,
    MoveInvocation,
    Operation,
    RecordEntry,
    RecordStep,
    SetBreaker,
    StartInvocation,
    UpdateMail,
)
from gatechart.values.agents import Event
from gatechart.values.breakers import BreakerRecord
from gatechart.values.commits import (
    BreakerChange,
    InvocationTask,
    InvokeReport,
    JournalRecord,
    MailChange,
    MailEnd,
    Posting,
    RejectionReport,
    ReserveSlot,
    StepRecord,
    StoreTask,
    TurnRecord,
    Unit,
    Verdict,
    refuse_unknown_unit,
)
from gatechart.values.effects import (
    Cancel,
    CancelAll,
    CancelTimer,
    ChangeHandoff,
    Offer,
    OfferChosen,
    ReplaceInvocation,
    ReplaceMail,
    Send,
    StartInvoke,
    Timer,
    refuse_unknown,
)
from gatechart.values.frozen import replaced
from gatechart.values.handoffs import HandoffRecord, HandoffStatus
from gatechart.values.mail import ActiveInvocation, Invocation, Mail, MailStatus
from gatechart.values.names import AgentId, EventName


def apply(units: Sequence[Unit], loaded: Loaded) -> tuple[list[Verdict], list[Operation]]:
    """Return the verdict of each unit, as `Store.commit` promises, and the operations that carry out the commit.

    Judges each unit after the units before it: first the turns, then the mail that they send, then the other units.
    Apply the operations in order. A store may apply operations of one kind together, if ends (`EndState`, `EndTimer`,
    `EndAll`, `EndInvocation`) and deletions precede changes, and changes precede insertions. At most one operation
    concerns any piece of mail, slot or circuit breaker.

    Raises HandoffStateError, and UnknownEffectError for an effect of an unknown class.
    """
    batch = _Batch(loaded)
    verdicts = [Verdict.STALE] * len(units)
    tasks: list[tuple[int, StoreTask]] = []
    breakers: dict[str, BreakerRecord] = {}
    for index, unit in enumerate(units):
        if isinstance(unit, TurnRecord):
            verdicts[index] = batch.take_turn(unit)
        elif isinstance(unit, BreakerChange):  # concerns no agent, so it cannot be stale
            breakers[unit.breaker.name] = unit.breaker
            verdicts[index] = Verdict.COMMITTED
        else:
            tasks.append((index, unit))
    batch.send_mail()
    for index, task in tasks:
        verdicts[index] = batch.take_task(task)
    operations = batch.operations()
    if breakers:
        operations += map(SetBreaker, breakers.values())
    return verdicts, operations


def is_stale(turn: TurnRecord, loaded: Loaded) -> bool:
    """Whether the turn started from another version than the stored one, or consumes mail that does not wait."""
    previous = turn.previous
    if loaded.versions.get(turn.snapshot.agent_id, 0) != (previous.version if previous else 0):
        return True
    return turn.consumes is not None and not loaded.waits(turn.consumes)


def refused_for_its_id(mail: Mail, known_from: EventName) -> Mail:
    """Return the mail as refused, because its id was used before.

    known_from: the earlier event with this id and different content.
    """
    reason = str(EventIdReusedError(mail.recipient, mail.id or "", known_from))
    return replaced(mail, status=MailStatus.REFUSED, reason=reason)


class _Batch:
    """A layer of changes over the loaded data, one unit after the other."""

    __slots__ = (
        "_applied",
        "_changed",
        "_ended",
        "_ends",
        "_entries",
        "_handoffs",
        "_inserted",
        "_loaded",
        "_named",
        "_offered",
        "_operations",
        "_over",
        "_results",
        "_sending",
    )

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._handoffs: HandoffLedger | None = None  # created on first use
        self._operations: list[Operation] = []  # of turns; mail, steps and handoffs add their net changes at the end
        self._sending: list[Mail] = []
        self._offered: dict[str, HandoffRecord] = {}  # by turns
        self._applied: dict[MailId, Event] = {}
        self._inserted: dict[int, Mail] = {}
        self._changed: dict[int, Mail | None] = {}  # new values of stored mail; None if it was deleted
        self._named: dict[MailId, int] = {}  # the numbers of waiting mail that was inserted or changed
        self._ended: set[EndOperation] = set()
        self._over: set[Invocation] = set()
        self._ends: list[Operation] = []  # ends of invocations that reported
        self._results: dict[tuple[Invocation, str], StepRecord] = {}
        self._entries: dict[tuple[AgentId, str, str], JournalRecord] = {}

    def take_turn(self, turn: TurnRecord) -> Verdict:
        # Handoffs come first, since any of them can make the whole turn stale.
        if is_stale(turn, self._loaded) or (turn.effects and not self._take_handoffs(turn)):
            return Verdict.STALE
        self._operations.append(AppendTurn(turn))
        if turn.consumes is not None:
            self._changed[turn.consumes] = None
        if turn.event.id is not None:
            self._applied[turn.snapshot.agent_id, turn.event.id] = turn.event
        if turn.effects:
            self._apply_effects(turn)
            self._sending += turn.mail
        return Verdict.COMMITTED

    def send_mail(self) -> None:
        """Accept the mail that the turns send. Runs after all turns, so their events count as applied."""
        for mail in self._sending:
            # The turn that makes an offer generates its id, so no earlier mail has it.
            is_offer = mail.id in self._offered and mail.payload is self._offered[mail.id].packet
            before = None if is_offer else self._before(mail)
            if before is None:
                self._insert(mail)
            elif before != self._loaded.content(mail.event, mail.payload):
                self._insert(refused_for_its_id(mail, before[0]))

    def take_task(self, task: StoreTask) -> Verdict:
        match task:
            case Posting(mail):
                return self._post(mail)
            case MailChange(mail, raised):
                return self._change_mail(mail, raised)
            case MailEnd(number):
                return self._end_mail(number)
            case StepRecord() | JournalRecord() | InvokeReport():
                return self._take_invocation_task(task)
            case RejectionReport():
                return self._answer(task)
            case ReserveSlot():
                return self._handoff_ledger().reserve(task)
            case _:
                return refuse_unknown_unit(task)

    def operations(self) -> list[Operation]:
        done = self._operations
        for number, mail in self._changed.items():
            done.append(DeleteMail(number) if mail is None else UpdateMail(mail))
        for mail in self._inserted.values():
            done.append(InsertMail(mail))
        if self._results or self._entries:
            done += self._records()
        done += self._ends
        if self._handoffs is not None:
            done += self._handoffs.operations()
        return done

    def _records(self) -> Iterator[Operation]:
        for record in self._results.values():
            # An invocation that ends later in the batch loses its steps.
            if record.invocation not in self._over:
                yield RecordStep(record)
        yield from map(RecordEntry, self._entries.values())

    def _handoff_ledger(self) -> HandoffLedger:
        if self._handoffs is None:
            self._handoffs = HandoffLedger(self._loaded)
        return self._handoffs

    def _take_handoffs(self, turn: TurnRecord) -> bool:
        changes: list[ChangeHandoff] = []
        offers: list[HandoffRecord] = []
        chosen: list[HandoffRecord] = []
        for effect in turn.effects:
            if isinstance(effect, ChangeHandoff):
                changes.append(effect)
            elif isinstance(effect, Offer):
                offers.append(effect.handoff)
            elif isinstance(effect, OfferChosen):
                change = ChangeHandoff(effect.handoff.id, HandoffStatus.CHOOSING, HandoffStatus.PENDING, effect.details)
                changes.append(change)
                chosen.append(effect.handoff)
        if changes and not self._handoff_ledger().change(changes, turn.event.time):
            return False
        for handoff in offers:
            self._handoff_ledger().offer(handoff)
            self._offered[handoff.id] = handoff
        for handoff in chosen:
            self._handoff_ledger().direct(handoff)
        return True

    def _apply_effects(self, turn: TurnRecord) -> None:
        """Apply a turn's effects: first ends, then replacements, then new invocations."""
        agent_id, after = turn.snapshot.agent_id, turn.snapshot
        replaced: list[ReplaceMail | ReplaceInvocation] = []
        started: list[Operation] = []
        for effect in turn.effects:
            match effect:
                case (
                    Send() | Timer() | Offer() | OfferChosen() | ChangeHandoff()
                ):  # mail is sent after all turns; handoffs are changed with the turn
                    pass
                case StartInvoke(state, invoke):
                    call = Invocation(agent_id, state, after.version, invoke)
                    active = ActiveInvocation(call, after.graph, after.graph_version, after.context_text)
                    started.append(StartInvocation(active))
                case Cancel() | CancelTimer() | CancelAll():
                    self._end(agent_id, effect)
                case ReplaceMail() | ReplaceInvocation():
                    replaced.append(effect)
                case _:
                    refuse_unknown(effect)
        # Effects come in any order, but a turn must not replace mail that it ends, nor end invocations that it starts.
        for replacement in replaced:
            self._replace(replacement)
        self._operations += started

    def _end(self, agent_id: AgentId, effect: Cancel | CancelTimer | CancelAll) -> None:
        match effect:
            case Cancel(state):
                end: EndOperation = EndState(agent_id, state)
            case CancelTimer(key):
                end = EndTimer(agent_id, key)
            case CancelAll():
                end = EndAll(agent_id)
            case _:
                assert_never(effect)
        self._ended.add(end)
        self._operations.append(end)

    def _replace(self, effect: ReplaceMail | ReplaceInvocation) -> None:
        match effect:
            case ReplaceMail(number, mail):
                before = self._mail(number)
                if before is not None and before.status is MailStatus.WAITING:
                    self._change(before, mail)
            case ReplaceInvocation(invocation, active):
                if self._is_active(invocation):
                    self._over.add(invocation)
                    self._operations.append(
                        EndInvocation(invocation) if active is None else MoveInvocation(invocation, active)
                    )
            case _:
                assert_never(effect)

    def _post(self, mail: Mail) -> Verdict:
        verdict = self._as_repeated(mail)
        if verdict is Verdict.COMMITTED:
            self._insert(mail)
        return verdict

    def _change_mail(self, mail: Mail, raised: Mail | None) -> Verdict:
        before = self._mail(mail.number)
        if before is None or (raised is not None and before.status is not MailStatus.WAITING):
            return Verdict.STALE
        waits_again = mail.status is MailStatus.WAITING and before.status is not MailStatus.WAITING
        verdict = self._as_repeated(mail) if waits_again else Verdict.COMMITTED
        if verdict is Verdict.COMMITTED:
            self._change(before, mail)
            if raised is not None:
                self._insert(raised)
        return verdict

    def _end_mail(self, number: int) -> Verdict:
        before = self._mail(number)
        if before is None:
            return Verdict.STALE
        self._change(before, None)
        return Verdict.COMMITTED

    def _take_invocation_task(self, task: InvocationTask) -> Verdict:
        is_by_operator = isinstance(task, JournalRecord) and task.is_by_operator
        if not is_by_operator and not self._is_active(task.invocation):
            return Verdict.STALE
        match task:
            case StepRecord():
                return self._record(task)
            case JournalRecord():
                return self._record_entry(task)
            case InvokeReport(invocation, mail, ends):
                return self._report(invocation, mail, ends=ends)
            case _:
                assert_never(task)

    def _record(self, record: StepRecord) -> Verdict:
        name = record.invocation, record.name
        if name in self._results or self._loaded.has_result(*name):
            return Verdict.REPEATED
        for replaced_name in record.replaces:
            self._results.pop((record.invocation, replaced_name), None)
        self._results[name] = record
        self._insert_if_any(record.tells)
        return Verdict.COMMITTED

    def _record_entry(self, record: JournalRecord) -> Verdict:
        name = record.invocation.agent_id, record.journal, record.name
        if record.name not in record.replaces and (name in self._entries or self._loaded.has_entry(*name)):
            return Verdict.REPEATED
        earlier = self._entries.get(name)  # written earlier in this commit, and now rewritten
        for replaced_name in record.replaces:
            if replaced_name != record.name:
                self._entries.pop((*name[:2], replaced_name), None)
        dropped = () if earlier is None else earlier.replaces
        self._entries[name] = replaced(record, replaces=(*dropped, *record.replaces)) if dropped else record
        self._insert_if_any(record.tells)
        return Verdict.COMMITTED

    def _insert_if_any(self, mail: Mail | None) -> None:
        if mail is not None:
            self._insert(mail)

    def _report(self, invocation: Invocation, mail: Mail, *, ends: bool) -> Verdict:
        if ends:
            self._over.add(invocation)
            self._ends.append(EndInvocation(invocation))
        self._insert(mail)
        return Verdict.COMMITTED

    def _answer(self, answer: RejectionReport) -> Verdict:
        consumed = self._mail(answer.consumes)
        if consumed is None or consumed.status is not MailStatus.WAITING:
            return Verdict.STALE
        if not self._handoff_ledger().change((answer.settle,), answer.time):
            return Verdict.STALE
        self._change(consumed, None)
        self._insert(answer.reply)
        return Verdict.COMMITTED

    def _is_active(self, invocation: Invocation) -> bool:
        """Whether an invocation was started before this batch and still runs. One started in it cannot report yet."""
        if invocation in self._over or not self._loaded.is_active(invocation):
            return False
        if not self._ended:
            return True
        agent_id = invocation.agent_id
        return EndAll(agent_id) not in self._ended and EndState(agent_id, invocation.state) not in self._ended

    def _as_repeated(self, mail: Mail) -> Verdict:
        """Return COMMITTED if the mail's id is new, REPEATED after mail with the same content, else REUSED."""
        before = self._before(mail)
        if before is None:
            return Verdict.COMMITTED
        is_same = before == self._loaded.content(mail.event, mail.payload)
        return Verdict.REPEATED if is_same else Verdict.REUSED

    def _before(self, mail: Mail) -> Content | None:
        """Return the content of earlier mail with the same id, if it waits or was applied."""
        if mail.id is None:
            return None
        name = mail.recipient, mail.id
        if name in self._applied:
            event = self._applied[name]
            return self._loaded.content(event.name, event.payload)
        return self._loaded.applied(*name) or self._waiting(name)

    def _waiting(self, name: MailId) -> Content | None:
        stored = None if name in self._named else self._loaded.waiting(*name)
        number = self._named.get(name) if stored is None else stored.number
        mail = None if number is None else self._mail(number)
        if mail is None or mail.status is not MailStatus.WAITING:
            return None
        return self._loaded.content(mail.event, mail.payload)

    def _mail(self, number: int) -> Mail | None:
        if number in self._inserted:
            return self._inserted[number]
        if number in self._changed:
            return self._changed[number]
        mail = self._loaded.mail(number)
        return None if mail is None or (self._ended and self._is_ended(mail)) else mail

    def _is_ended(self, mail: Mail) -> bool:
        """Whether a turn of the batch ends the mail with its state or key."""
        if mail.status is not MailStatus.WAITING or (mail.state is None and mail.key is None):
            return False
        agent_id, state, key = mail.recipient, mail.state, mail.key
        return (
            EndAll(agent_id) in self._ended
            or (state is not None and EndState(agent_id, state) in self._ended)
            or (key is not None and EndTimer(agent_id, key) in self._ended)
        )

    def _insert(self, mail: Mail) -> None:
        self._inserted[mail.number] = mail
        self._name(mail)

    def _change(self, before: Mail, mail: Mail | None) -> None:
        if before.number not in self._inserted:
            self._changed[before.number] = mail
        elif mail is None:
            del self._inserted[before.number]
        else:
            self._inserted[before.number] = mail
        if mail is not None:
            self._name(mail)

    def _name(self, mail: Mail) -> None:
        if mail.id is not None and mail.status is MailStatus.WAITING:
            self._named[mail.recipient, mail.id] = mail.number
