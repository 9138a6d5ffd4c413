"""Unit of work for one agent, independent of Restate."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import count
from secrets import token_hex
from typing import Any, TypeVar, assert_never

from gatechart.errors.event import EventIdReusedError, UnknownAgentError
from gatechart.errors.operation import AgentTooLargeError
from gatechart.graph.graph import AnyGraph
from gatechart.handoff.lifecycle import is_open
from gatechart.hosting.escapes import attempt_of, log_attempt
from gatechart.hosting.transcripts import MOST_BYTES, journals_wanted, with_transcripts
from gatechart.hosting.turn_guard import in_turn
from gatechart.restate.state import (
    IDS,
    LAYOUT,
    MAIL,
    PAYLOAD,
    RUNNING,
    STATE,
    TURN,
    AgentState,
    Applied,
    CommittedTurn,
    HandlerResult,
    Ids,
    LargePayload,
    LoadedState,
    UnderWay,
    digest_of,
    most_inline,
    plain,
    with_payload,
)
from gatechart.restate.terms import ServiceConfig
from gatechart.stores.commit_rules import apply
from gatechart.stores.handoff_rules import HandoffLedger
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
from gatechart.values.agents import Event, Outcome, Snapshot, without_trail
from gatechart.values.commits import TurnRecord, Verdict
from gatechart.values.effects import ChangeHandoff, Offer, OfferChosen
from gatechart.values.frozen import replaced
from gatechart.values.handoffs import HandoffStatus
from gatechart.values.mail import ActiveInvocation, Invocation, Mail, MailStatus
from gatechart.values.names import AgentId, StateName

T = TypeVar("T")


class PayloadsNeededError(BaseException):
    """A request to read payloads before the run is repeated. Not an Exception, so that it is not a failure."""

    def __init__(self, numbers: list[int]) -> None:
        super().__init__(numbers)
        self.numbers = numbers


class FactNeededError(BaseException):
    """A question to the engine before the run is repeated. Not an Exception, so that it is not a failure."""

    def __init__(self, question: dict[str, Any]) -> None:
        super().__init__(question)
        self.question = question


class UnitOfWork:
    """The state of an agent during one run, as changed by turns and mail."""

    def __init__(self, config: ServiceConfig, agent_id: AgentId, state: bytes | None, ids: bytes | None) -> None:
        self.config = config
        self.agent_id = agent_id
        self.state = STATE.validate_json(state) if state else AgentState()
        self._was_at = self.position
        self._was_large = frozenset(self.state.large)  # at the start of the run
        self._is_small = {mail.number for mail in self.state.mail if self.state.layout == LAYOUT}
        self.payloads: Mapping[int, bytes] = {}  # payloads that were read for this run
        self.state_bytes = len(state or b"")  # size of the stored state at the start of the run
        self.entry = HandlerResult()
        self.now = config.now()
        self._ids_text = ids
        self._ids: Ids | None = None
        self._has_ids_changed = False
        self.is_touched = False  # whether the state has changed
        self.is_left = False  # whether to leave the mail to a service that knows the agent's graph
        self.lifted = 0  # number of the mail whose wait for another attempt was ended
        self.granted: Mapping[str, Mapping[str, Any]] = {}  # slots that were requested, by handoff
        self.choices: Mapping[str, Mapping[str, Any]] = {}  # choices that were made, by handoff
        self.facts: Mapping[str, Any] = {}  # the engine's answers, by question

    @property
    def snapshot(self) -> Snapshot:
        """Newest snapshot. Raises UnknownAgentError."""
        if self.state.snapshot is None:
            raise UnknownAgentError(self.agent_id)
        return self.state.snapshot

    @property
    def position(self) -> object:
        """The agent's position: while this is the same, it defers the same mail."""
        return _position(self.state.snapshot)

    @property
    def has_moved(self) -> bool:
        """Whether the agent has another position than before the run."""
        return self.position != self._was_at

    @property
    def is_asking(self) -> bool:
        """Whether to repeat the run, with the answer to its question."""
        entry = self.entry
        return any(each is not None for each in (entry.place, entry.choice, entry.question))

    def graph(self) -> AnyGraph:
        """Return the graph that drives the agent. Raises as `Registry.graph_for` does."""
        return self.config.registry.graph_for(self.snapshot)

    def close(self) -> HandlerResult:
        """Return the result of the run."""
        if self.is_touched:
            self._set_payloads_aside()
            self.entry.state = STATE.dump_json(self.state)
        if self._has_ids_changed:
            self.entry.ids = IDS.dump_json(self._applied())
        return self.entry

    def become(self, state: AgentState, ids: Ids) -> None:
        """Replace the stored state and ids."""
        self.state, self._ids, self._is_small = state, ids, set()
        self.is_touched = self._has_ids_changed = True

    def full(self, mail: Mail) -> Mail:
        """Return mail with its payload. Raises PayloadsNeededError if the payload was not read for this run."""
        return self.all_full((mail,))[0]

    def all_full(self, mails: Sequence[Mail]) -> list[Mail]:
        """Return mail with its payloads. Raises as `full` does."""
        aside = {mail.number for mail in mails if self.state.is_set_aside(mail)}
        missing = sorted(aside.difference(self.payloads))
        if missing:
            raise PayloadsNeededError(missing)
        return [with_payload(mail, self.payloads[mail.number]) if mail.number in aside else mail for mail in mails]

    def _set_payloads_aside(self) -> None:
        """Move large payloads out of the state, and delete payloads whose mail no longer exists."""
        state = self.state
        for position, mail in enumerate(state.mail):
            if mail.number not in self._is_small or mail.number in state.large:
                state.mail[position] = self._set_aside(mail)
        standing = {mail.number for mail in state.mail}
        state.large = {number: payload for number, payload in state.large.items() if number in standing}
        state.layout = LAYOUT
        self.entry.cleared = sorted(self._was_large.difference(state.large))

    def _set_aside(self, mail: Mail) -> Mail:
        """Return mail in its stored form."""
        if self.state.is_set_aside(mail):
            return mail
        text = PAYLOAD.dump_json(mail.payload)
        if len(text) <= most_inline(self.state_bytes):
            self.state.large.pop(mail.number, None)
            return mail
        if text != self.payloads.get(mail.number):
            self.entry.payloads.append((mail.number, text))
        self.state.large[mail.number] = LargePayload(digest_of(mail.event, mail.payload), len(text))
        return replace(mail, payload={})

    def order(self, do: str, **facts: Any) -> None:
        """Add an order, to be carried out once the state is stored."""
        self.entry.orders.append({"do": do, **facts})

    def first_outcome(self, event: Event) -> Outcome | None:
        """Return the outcome of an applied event with the same id; None if there is none. Raises EventIdReusedError."""
        known = None if event.id is None else self.applied(event.id)
        if known is None:
            return None
        if known.digest != digest_of(event.name, event.payload):
            raise EventIdReusedError(self.agent_id, event.id or "", known.event)
        return known.outcome.repeated()

    def applied(self, event_id: str) -> Applied | None:
        """Return the record of an event by its id; None if it was not applied, or was forgotten."""
        return self.ids.get(event_id)

    @property
    def ids(self) -> Ids:
        """Records of applied events, by their ids."""
        return self._applied()

    def note_made(self, event_id: str, handoff: str) -> None:
        """Store the id of the handoff that an event offered, for a repeat of the same call."""
        known = self._applied()
        known[event_id] = replace(known[event_id], made=handoff)

    async def in_turn(self, graph: AnyGraph, event: str, turn: Coroutine[Any, Any, T]) -> T:
        """Run the turn within the time limit of turns, and return its result. Raises TurnTimeoutError."""
        return await in_turn(graph, self.agent_id, event, turn, self.config.terms.turn_s)

    def commit(self, turn: TurnRecord) -> bool:
        """Store a turn and its effects. Return False, with nothing changed, if a handoff has an unexpected status.

        Raises UnknownEffectError and AgentTooLargeError.
        """
        turn = self._with_transcripts(turn)
        turn = turn.numbered(count().__next__)  # unlike others: an object numbers the mail that it receives
        (verdict,), operations = apply((turn,), self._loaded())
        if verdict is not Verdict.COMMITTED:
            return False
        dropped = _dropped_choices(turn, self.state)
        text = self._text_of(turn, (*self.state.settled, *dropped))
        self._check_sent(turn)
        for operation in operations:
            self._apply(operation)
        attempt = attempt_of(turn)
        if attempt is not None:
            log_attempt(turn, attempt)
        self.state.settled = []
        self.state.offers |= {each.handoff: each.after for each in dropped}
        self._forget_old_handoffs()
        if self.config.projects:
            self.entry.turns.append((turn.snapshot.version, text))
            self.project()
        return True

    def _with_transcripts(self, turn: TurnRecord) -> TurnRecord:
        """Return a turn whose offers include the messages of model loops. Raises FactNeededError before they are read.

        The messages take at most a quarter of `most_bytes`, the limit of a turn.
        """
        graph = self.config.registry.graph_for(turn.snapshot)
        journals: dict[str, Mapping[str, str]] = {}
        for name in journals_wanted(graph, turn):
            what = f"journal {name}"
            if what not in self.facts:
                raise FactNeededError({"what": what, "journal": name})
            journals[name] = self.facts[what]
        return with_transcripts(graph, turn, journals, min(MOST_BYTES, self.config.terms.most_bytes // 4))

    def _loaded(self) -> LoadedState:
        return LoadedState(self.state)

    def _text_of(self, turn: TurnRecord, settled: tuple[ChangeHandoff, ...]) -> bytes:
        """Return the turn as text for the projection. Raises AgentTooLargeError if no message can carry it.

        settled: changes of handoffs to be projected with it. If the text is too large, their explanations are dropped.
        """
        text, most = _projected(turn, settled), self.config.terms.most_bytes
        if len(text) > most and settled:
            text = _projected(turn, tuple(replaced(each, choice=None) for each in settled))
        if len(text) > most:
            raise AgentTooLargeError(self.agent_id, len(text), most)
        return text

    def _check_sent(self, turn: TurnRecord) -> None:
        """Raise AgentTooLargeError if the turn's mail does not fit into a journal entry."""
        sent = sum(len(MAIL.dump_json(mail)) for mail in turn.mail)
        if sent > self.config.terms.inbox_bytes:
            raise AgentTooLargeError(self.agent_id, sent, self.config.terms.inbox_bytes)

    def change_handoff(self, change: ChangeHandoff) -> bool:
        """Change a handoff without a turn; return False if it has another status than the change expects."""
        handoffs = HandoffLedger(self._loaded())
        if not handoffs.change((change,), self.now):
            return False
        for operation in handoffs.operations():
            self._apply(operation)
        self._forget_old_handoffs()
        if change.before is HandoffStatus.CHOOSING and self.config.projects:
            self.state.settled.append(change)
        self.is_touched = True
        return True

    def project(self) -> None:
        """Notify the projection of new turns, unless it has been notified."""
        if not self.state.is_projecting:
            self.state.is_projecting = self.is_touched = True
            self.order("project", after_s=self.config.terms.projection_s)

    def post(self, mail: Mail) -> None:
        """Send mail."""
        self.order("deliver", to=mail.recipient, mail=plain(MAIL, mail))

    def wake_at(self, mail: Mail, due: datetime) -> None:
        """Wake the agent when the mail is due."""
        self.order("wake", number=mail.number, after_s=max((due - self.now).total_seconds(), 0.0))

    def end_calls(self, state: StateName | None = None) -> None:
        """Cancel the invocations of a state, or all."""
        for each in [each for each in self.state.calls if state in (None, each.invocation.state)]:
            self.end_call(each.invocation)

    def end_call(self, call: Invocation) -> None:
        """Cancel one invocation."""
        for each in [each for each in self.state.calls if each.invocation == call]:
            self.state.calls.remove(each)
            if each.engine_id:
                self.order("cancel", engine_id=each.engine_id)

    def _apply(self, operation: Operation) -> None:
        """Apply one operation of the commit rules: to the state, or as an order to the engine."""
        match operation:
            case AppendTurn(turn):
                self._append(turn)
            case InsertMail() | UpdateMail() | DeleteMail():
                self._apply_to_mail(operation)
            case EndState() | EndTimer() | EndAll():
                self._apply_end(operation)
            case StartInvocation() | MoveInvocation() | EndInvocation() | RecordStep() | RecordEntry():
                self._apply_to_invocations(operation)
            case InsertHandoff() | DirectHandoff() | ExplainHandoff() | UpdateHandoff() | TakeSlot() | FreeSlot():
                self._apply_to_handoffs(operation)
            case SetBreaker():  # each breaker has a separate object
                pass
            case _:
                assert_never(operation)

    def _append(self, turn: TurnRecord) -> None:
        if self.state.snapshot is None:
            self.state.life = token_hex(8)
        if self.position != _position(turn.snapshot):
            self.state.deferred = []
        self.state.snapshot, self.is_touched = turn.snapshot, True
        self._note_id(turn)

    def _apply_to_mail(self, operation: MailOperation) -> None:
        match operation:
            case InsertMail(mail):
                self._send(mail)
            case UpdateMail(mail):
                self._is_small.discard(mail.number)
                # Otherwise a new empty payload would be mistaken for a large one that is set aside.
                self.state.large.pop(mail.number, None)
                self.state.put(mail)
                if mail.due is not None:
                    self.wake_at(mail, mail.due)
            case DeleteMail(number):
                self.state.drop(number)
            case _:
                assert_never(operation)

    def _send(self, mail: Mail) -> None:
        """Send mail, but keep timers here, and mail to the agent itself under the id of the turn's event."""
        if mail.status is MailStatus.WAITING and mail.state is None and mail.key is None:
            self.post(mail)
            return
        mail_to_self = replace(mail, number=self.state.number())
        self.state.put(mail_to_self)
        if mail_to_self.due is not None:
            self.wake_at(mail_to_self, mail_to_self.due)

    def _apply_end(self, operation: EndOperation) -> None:
        match operation:
            case EndState(_, state):
                self.state.drop_timers(state=state)
                self.end_calls(state)
            case EndTimer(_, key):
                self.state.drop_timers(key=key)
            case EndAll():
                self.state.drop_timers()
                self.end_calls()
            case _:
                assert_never(operation)

    def _apply_to_invocations(self, operation: InvocationOperation) -> None:
        match operation:
            case StartInvocation(active):
                self._begin_call(active)
            case MoveInvocation(invocation, active):
                self.end_call(invocation)
                self._begin_call(active)
            case EndInvocation(invocation):
                self.end_call(invocation)
            case RecordStep() | RecordEntry():  # step results are in the engine's journal, entries in an object
                pass
            case _:
                assert_never(operation)

    def _apply_to_handoffs(self, operation: HandoffOperation) -> None:
        match operation:
            case UpdateHandoff(handoff_id, state) if state.status is HandoffStatus.PENDING:
                self.state.offers.pop(handoff_id, None)  # its target was chosen, and owns it from here on
            case UpdateHandoff(handoff_id, state):
                self.state.offers[handoff_id] = state.status
            case FreeSlot(handoff_id):
                graph = self.state.places.pop(handoff_id, None)
                if graph is not None:
                    self.order("release", graph=graph, handoff=handoff_id)
            case (
                InsertHandoff() | DirectHandoff() | ExplainHandoff() | TakeSlot()
            ):  # the offer's mail carries the handoff, and the graph's object counts the slot
                pass
            case _:
                assert_never(operation)

    def _forget_old_handoffs(self) -> None:
        over = [handoff for handoff, status in self.state.offers.items() if not is_open(status)]
        for oldest in over[: -self.config.terms.keep_ids]:
            del self.state.offers[oldest]

    def _begin_call(self, running: ActiveInvocation) -> None:
        self.state.calls.append(UnderWay(running))
        self.order("call", running=plain(RUNNING, running))

    def _applied(self) -> Ids:
        if self._ids is None:
            self._ids = IDS.validate_json(self._ids_text) if self._ids_text else {}
        return self._ids

    def _note_id(self, turn: TurnRecord) -> None:
        event = turn.event
        if event.id is None:
            return
        known = self._applied()
        known[event.id] = Applied(digest_of(event.name, event.payload), event.name, turn.outcome)
        for oldest in list(known)[: -self.config.terms.keep_ids]:
            del known[oldest]
        self._has_ids_changed = True


def _projected(turn: TurnRecord, settled: tuple[ChangeHandoff, ...]) -> bytes:
    """Return the turn as text for the projection. settled: further changes of handoffs, which came before it."""
    changes = tuple(each for each in turn.effects if isinstance(each, ChangeHandoff))
    offers = tuple(each.handoff for each in turn.effects if isinstance(each, Offer))
    chosen = tuple(each for each in turn.effects if isinstance(each, OfferChosen))
    facts = without_trail(turn.snapshot), turn.event, turn.taken, turn.took_us, turn.guard_errors, turn.fired
    return TURN.dump_json(CommittedTurn(*facts, offers, (*settled, *changes), chosen))


def _dropped_choices(turn: TurnRecord, state: AgentState) -> tuple[ChangeHandoff, ...]:
    """Withdraw handoffs without a chosen target when the turn ends their source: no other agent would report it."""
    handoffs = () if turn.previous is None else turn.previous.handoffs
    kept_ids = {handoff.id for handoff in turn.snapshot.handoffs}
    dropped = (handoff.id for handoff in handoffs if handoff.is_choosing and handoff.id not in kept_ids)
    withdrawn = HandoffStatus.CHOOSING, HandoffStatus.CANCELLED, "withdrawn"
    return tuple(
        ChangeHandoff(each, *withdrawn)
        for each in dropped
        if state.offers.get(each, HandoffStatus.CHOOSING) is HandoffStatus.CHOOSING
    )


def _position(snapshot: Snapshot | None) -> object:
    return None if snapshot is None else (snapshot.configuration, snapshot.status, snapshot.graph_version)
