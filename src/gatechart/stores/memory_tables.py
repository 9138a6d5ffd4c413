"""The tables of the store in memory. The commit rules read them and produce the operations that change them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import assert_never

from gatechart.context import canonical_json
from gatechart.errors.event import UnknownAgentError
from gatechart.handoff.lifecycle import is_open
from gatechart.stores.commit_rules import is_stale
from gatechart.stores.handoff_rules import directed, state_of, with_state
from gatechart.stores.held_work import HeldWork, is_work, work_of
from gatechart.stores.operations import (
    AppendTurn,
    Content,
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
    HandoffState,
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
from gatechart.values.agents import without_trail
from gatechart.values.breakers import BreakerRecord, BreakerState
from gatechart.values.commits import JournalRecord, StepRecord, TurnRecord, Verdict
from gatechart.values.frozen import replaced
from gatechart.values.handoffs import HandoffQuery, HandoffRecord, HandoffStatus
from gatechart.values.mail import ActiveInvocation, Invocation, Mail, MailStatus
from gatechart.values.names import AgentId, EventName, Payload, StateName
from gatechart.values.trail import NO_TRAIL


@dataclass(slots=True)
class _Pending:
    """The mail, the invocations and the journals of one agent."""

    mail: dict[int, Mail] = field(default_factory=dict)  # by number
    active: dict[Invocation, ActiveInvocation] = field(default_factory=dict)
    steps: dict[Invocation, dict[str, str]] = field(default_factory=dict)
    journals: dict[str, dict[str, str]] = field(default_factory=dict)

    def end_state(self, state: StateName) -> None:
        if self.mail:
            self._keep_mail([mail for mail in self.mail.values() if not (waits(mail) and mail.state == state)])
        for call in [call for call in self.active if call.state == state]:
            self.end(call)

    def end_timer(self, key: str) -> None:
        self._keep_mail([mail for mail in self.mail.values() if not (waits(mail) and mail.key == key)])

    def end_all(self) -> None:
        self._keep_mail(
            [mail for mail in self.mail.values() if not waits(mail) or (mail.state is None and mail.key is None)]
        )
        self.active.clear()
        self.steps.clear()

    def end(self, call: Invocation) -> None:
        self.active.pop(call, None)
        self.steps.pop(call, None)

    def move(self, call: Invocation, active: ActiveInvocation) -> None:
        steps = self.steps.get(call)
        self.end(call)
        self.active[active.invocation] = active
        if steps is not None:
            self.steps[active.invocation] = steps

    def record(self, record: StepRecord) -> None:
        steps = self.steps.setdefault(record.invocation, {})
        for name in record.replaces:
            steps.pop(name, None)
        steps[record.name] = record.result

    def write(self, record: JournalRecord) -> None:
        journal = self.journals.setdefault(record.journal, {})
        for name in record.replaces:
            if name != record.name:  # a rewritten entry keeps its position
                journal.pop(name, None)
        journal[record.name] = record.entry

    def _keep_mail(self, kept: Sequence[Mail]) -> None:
        if len(kept) < len(self.mail):
            self.mail = {mail.number: mail for mail in kept}


class Tables:
    """All data of the agents of a store in memory. Fulfils `Loaded`."""

    def __init__(self) -> None:
        self.turns: dict[AgentId, list[TurnRecord]] = {}  # of each agent, in the order started
        self.versions: dict[AgentId, int] = {}  # see Loaded
        self.newest: dict[AgentId, int] = {}  # the number of each agent's newest turn, in the order committed
        self.started: dict[AgentId, int] = {}  # the number of each agent's first turn
        self._turns = 0  # number of turns so far
        self.handoffs: dict[str, HandoffRecord] = {}  # in the order offered
        self._applied: dict[tuple[AgentId, str], int] = {}  # the version of the turn that applied the event
        self._pending: defaultdict[AgentId, _Pending] = defaultdict(_Pending)
        self._recipients: dict[int, AgentId] = {}  # by mail number; may still list deleted mail
        self._offered = 0  # number of handoffs so far
        self._slots: dict[str, str] = {}  # by handoff, the graph of its slot
        self._work = HeldWork()
        self.breakers: dict[str, BreakerRecord] = {}  # by name

    def apply(self, operation: Operation) -> None:
        """Apply one operation of the commit rules."""
        match operation:
            case AppendTurn(turn):
                self.append(turn)
            case InsertMail() | UpdateMail() | DeleteMail():
                self._apply_to_mail(operation)
            case EndState() | EndTimer() | EndAll():
                self._apply_end(operation)
            case StartInvocation() | MoveInvocation() | EndInvocation() | RecordStep() | RecordEntry():
                self._apply_to_invocations(operation)
            case InsertHandoff() | DirectHandoff() | ExplainHandoff() | UpdateHandoff() | TakeSlot() | FreeSlot():
                self._apply_to_handoffs(operation)
            case SetBreaker(breaker):
                self._set(breaker)
            case _:
                assert_never(operation)

    def take_turn(self, turn: TurnRecord) -> Verdict:
        """Commit a turn without effects, unless it is stale."""
        if is_stale(turn, self):
            return Verdict.STALE
        if turn.consumes is not None:
            self.delete_mail(turn.consumes)
        self.append(turn)
        return Verdict.COMMITTED

    def append(self, turn: TurnRecord) -> None:
        """Add a turn as the newest of its agent."""
        agent_id = turn.snapshot.agent_id
        turns = self.turns.get(agent_id)
        if turns is None:
            self.turns[agent_id] = [turn]
            self.started[agent_id] = self._turns
        else:
            if turns[-1].snapshot.trail is not NO_TRAIL:
                turns[-1] = _without_trail(turns[-1])
            turns.append(turn)
        self._turns += 1
        self.newest[agent_id] = self._turns
        self.versions[agent_id] = turn.snapshot.version
        if turn.event.id is not None:
            self._applied[agent_id, turn.event.id] = turn.snapshot.version

    def waits(self, number: int) -> bool:
        """See Loaded."""
        mail = self.mail(number)
        return mail is not None and waits(mail)

    def mail(self, number: int) -> Mail | None:
        """See Loaded."""
        recipient = self._recipients.get(number)
        return None if recipient is None else self._pending[recipient].mail.get(number)

    def waiting(self, recipient: AgentId, mail_id: str) -> Mail | None:
        """See Loaded."""
        for mail in self._pending[recipient].mail.values():
            if mail.id == mail_id and waits(mail):
                return mail
        return None

    def applied(self, recipient: AgentId, event_id: str) -> Content | None:
        """See Loaded."""
        turn = self.applied_turn(recipient, event_id)
        return None if turn is None else self.content(turn.event.name, turn.event.payload)

    def content(self, event: EventName, payload: Payload) -> Content:
        """See Loaded."""
        return event, canonical_json(payload)

    def is_active(self, invocation: Invocation) -> bool:
        """See Loaded."""
        return invocation in self._pending[invocation.agent_id].active

    def has_result(self, invocation: Invocation, step: str) -> bool:
        """See Loaded."""
        return step in self._pending[invocation.agent_id].steps.get(invocation, {})

    def has_entry(self, agent_id: AgentId, journal: str, name: str) -> bool:
        """See Loaded."""
        return name in self._pending[agent_id].journals.get(journal, {})

    def handoff(self, handoff_id: str, expected: HandoffStatus | None = None) -> HandoffState | None:  # noqa: ARG002
        """See Loaded."""
        record = self.handoffs.get(handoff_id)
        return None if record is None else state_of(record)

    def slot(self, handoff_id: str) -> str | None:
        """See Loaded."""
        return self._slots.get(handoff_id)

    def slots_held(self, graph: str) -> int:
        """See Loaded."""
        return self._work.slots(graph)

    def turns_of(self, agent_id: AgentId) -> list[TurnRecord]:
        """Return the turns of an agent, oldest first. Raises UnknownAgentError."""
        try:
            return self.turns[agent_id]
        except KeyError:
            raise UnknownAgentError(agent_id) from None

    def turn(self, agent_id: AgentId, version: int) -> TurnRecord:
        """Return the turn that produced a stored version."""
        turns = self.turns[agent_id]
        return turns[version - turns[0].snapshot.version]

    def applied_turn(self, agent_id: AgentId, event_id: str) -> TurnRecord | None:
        """Return the turn that applied the event with this id."""
        version = self._applied.get((agent_id, event_id))
        return None if version is None else self.turn(agent_id, version)

    def all_mail(self) -> Iterator[Mail]:
        """Yield all mail, in the order accepted."""
        for number, recipient in sorted(self._recipients.items()):
            mail = self._pending[recipient].mail.get(number)
            if mail is None:
                # The entry of ended or erased mail stays until the next listing.
                del self._recipients[number]
            else:
                yield mail

    def mail_of(self, agent_id: AgentId) -> list[Mail]:
        """Return the mail of an agent, in the order accepted."""
        pending = self._pending.get(agent_id)
        return [] if pending is None else [pending.mail[number] for number in sorted(pending.mail)]

    def all_active(self) -> Iterator[ActiveInvocation]:
        """Yield all invocations, agent by agent."""
        for pending in self._pending.values():
            yield from pending.active.values()

    def steps(self, invocation: Invocation) -> dict[str, str]:
        """Return the results recorded for an invocation."""
        return dict(self._pending[invocation.agent_id].steps.get(invocation, {}))

    def journal(self, agent_id: AgentId, name: str) -> dict[str, str]:
        """Return the entries of an agent's journal, in the order written."""
        pending = self._pending.get(agent_id)
        return {} if pending is None else dict(pending.journals.get(name, {}))

    def put_mail(self, mail: Mail) -> None:
        """Store mail, and replace any mail with the same number."""
        self._pending[mail.recipient].mail[mail.number] = mail
        self._recipients[mail.number] = mail.recipient

    def delete_mail(self, number: int) -> None:
        """Delete the mail with this number."""
        recipient = self._recipients.pop(number, None)
        if recipient is not None:
            self._pending[recipient].mail.pop(number, None)

    def find_handoffs(self, query: HandoffQuery) -> Sequence[HandoffRecord]:
        """Return the handoffs that match a query."""
        records = self.handoffs.values()
        found = (
            record
            for record in (reversed(records) if query.newest_first else records)
            if query.is_after(record.number)
            and query.id in (None, record.id)
            and query.request in (None, record.request)
            and query.source in (None, record.source)
            and query.target in (None, record.target)
            and query.status in (None, record.status)
        )
        return list(islice(found, query.limit))

    def is_offered(self, agent_id: AgentId) -> bool:
        """Whether an offer to the agent is still pending."""
        return bool(self.find_handoffs(HandoffQuery(target=agent_id, status=HandoffStatus.PENDING, limit=1)))

    def held(self) -> dict[str, int]:
        """Return the open work by graph, entry point and recipient, see Store."""
        return self._work.counts()

    def with_open_handoffs(self) -> set[AgentId]:
        """Return the sources and targets of open handoffs."""
        records = [record for record in self.handoffs.values() if is_open(record.status)]
        return {agent_id for record in records for agent_id in (record.source, record.target)}

    def forget_turns(self, agent_id: AgentId, count: int) -> None:
        """Delete the oldest turns of an agent, with the ids of their events. count: how many."""
        turns = self.turns[agent_id]
        for turn in turns[:count]:
            if turn.event.id is not None:
                del self._applied[agent_id, turn.event.id]
        del turns[:count]

    def forget(self, agent_id: AgentId) -> None:
        """Delete all data of an agent. A handoff that another agent has accepted keeps its slot."""
        self.forget_turns(agent_id, len(self.turns[agent_id]))
        del self.turns[agent_id]
        del self.newest[agent_id], self.started[agent_id], self.versions[agent_id]
        self._pending.pop(agent_id, None)
        for record in [record for record in self.handoffs.values() if agent_id in (record.source, record.target)]:
            del self.handoffs[record.id]
            self._count(record, -1)
            if record.target == agent_id or record.status is not HandoffStatus.ACCEPTED:
                self._free(record.id)

    def _apply_to_mail(self, operation: MailOperation) -> None:
        match operation:
            case InsertMail(mail) | UpdateMail(mail):
                self.put_mail(mail)
            case DeleteMail(number):
                self.delete_mail(number)
            case _:
                assert_never(operation)

    def _set(self, breaker: BreakerRecord) -> None:
        if breaker.state is BreakerState.CLOSED:
            self.breakers.pop(breaker.name, None)
        else:
            self.breakers[breaker.name] = breaker

    def _apply_end(self, operation: EndOperation) -> None:
        pending = self._pending.get(operation.agent_id)
        if pending is None:
            return
        match operation:
            case EndState(_, state):
                pending.end_state(state)
            case EndTimer(_, key):
                pending.end_timer(key)
            case EndAll():
                pending.end_all()
            case _:
                assert_never(operation)

    def _apply_to_invocations(self, operation: InvocationOperation) -> None:
        match operation:
            case StartInvocation(active):
                self._pending[active.invocation.agent_id].active[active.invocation] = active
            case MoveInvocation(invocation, active):
                self._pending[invocation.agent_id].move(invocation, active)
            case EndInvocation(invocation):
                self._pending[invocation.agent_id].end(invocation)
            case RecordStep(record):
                self._pending[record.invocation.agent_id].record(record)
            case RecordEntry(record):
                self._pending[record.invocation.agent_id].write(record)
            case _:
                assert_never(operation)

    def _apply_to_handoffs(self, operation: HandoffOperation) -> None:
        match operation:
            case InsertHandoff(handoff):
                self._offered += 1
                self.handoffs[handoff.id] = replaced(handoff, number=self._offered)
                self._count(handoff, 1)
            case DirectHandoff(handoff):
                self.handoffs[handoff.id] = directed(self.handoffs[handoff.id], handoff)
            case ExplainHandoff(handoff_id, choice):
                self.handoffs[handoff_id] = replaced(self.handoffs[handoff_id], choice=choice)
            case UpdateHandoff(handoff_id, state):
                before = self.handoffs[handoff_id]
                self.handoffs[handoff_id] = after = with_state(before, state)
                self._count(before, -1)
                self._count(after, 1)
            case TakeSlot(handoff_id, graph):
                self._slots[handoff_id] = graph
                self._work.take(graph, 1)
            case FreeSlot(handoff_id):
                self._free(handoff_id)
            case _:
                assert_never(operation)

    def _free(self, handoff_id: str) -> None:
        graph = self._slots.pop(handoff_id, None)
        if graph is not None:
            self._work.take(graph, -1)

    def _count(self, record: HandoffRecord, by: int) -> None:
        if is_work(record.status):
            self._work.accept(work_of(record), by)


def waits(mail: Mail) -> bool:
    """Whether the mail waits for delivery."""
    return mail.status is MailStatus.WAITING


def _without_trail(turn: TurnRecord) -> TurnRecord:
    """Return a turn without its trail: only an agent's newest turn keeps one, as in a database."""
    before = turn.previous
    return replaced(
        turn, previous=None if before is None else without_trail(before), snapshot=without_trail(turn.snapshot)
    )
