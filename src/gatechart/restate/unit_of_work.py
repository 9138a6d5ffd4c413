"""Unit of work for one agent, independent of Restate."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from secrets import token_hex
from typing import Any, TypeVar

from gatechart.errors import AgentTooLargeError, EventIdReusedError, UnknownAgentError
from gatechart.graph import AnyGraph
from gatechart.handoff import check_change, is_open
from gatechart.hosting.turn_guard import in_turn
from gatechart.restate.journal_entry import JournalEntry
from gatechart.restate.state import (
    IDS,
    LARGE_BYTES,
    LAYOUT,
    MAIL,
    PAYLOAD,
    RUNNING,
    STATE,
    TURN,
    AgentState,
    Applied,
    Ids,
    LargePayload,
    Turn,
    UnderWay,
    digest_of,
    plain,
    with_payload,
)
from gatechart.restate.terms import ServiceConfig
from gatechart.values import (
    ActiveInvocation,
    AgentId,
    Cancel,
    CancelAll,
    CancelTimer,
    ChangeHandoff,
    Effect,
    Event,
    Invocation,
    Mail,
    Offer,
    Outcome,
    ReplaceInvocation,
    ReplaceMail,
    Send,
    Snapshot,
    StartInvoke,
    StateName,
    Timer,
    TurnRecord,
    refuse_unknown,
)

T = TypeVar("T")


class PayloadsNeededError(BaseException):
    """Payloads that are set aside have to be read before the run is begun anew. No failure of mail, so no Exception."""

    def __init__(self, numbers: list[int]) -> None:
        super().__init__(numbers)
        self.numbers = numbers


class UnitOfWork:
    """Takes what is kept of an agent, and has it changed by turns and mail."""

    def __init__(self, config: ServiceConfig, agent_id: AgentId, state: bytes | None, ids: bytes | None) -> None:
        self.config = config
        self.agent_id = agent_id
        self.state = STATE.validate_json(state) if state else AgentState()
        self._was_large = frozenset(self.state.large)  # as the run begins
        self._is_small = {mail.number for mail in self.state.mail if self.state.layout == LAYOUT}
        self.payloads: Mapping[int, bytes] = {}  # that were set aside, and have been read for this run
        self.state_bytes = len(state or b"")  # of what is kept, as the run begins
        self.entry = JournalEntry()
        self.now = config.now()
        self._ids_text = ids
        self._ids: Ids | None = None
        self._has_ids_changed = False
        self.is_touched = False  # whether what is kept has changed
        self.is_left = False  # whether the mail is left to a service that knows the agent's graph
        self.lifted = 0  # the number of mail whose wait for another attempt was ended
        self.granted: Mapping[str, bool] = {}  # handoffs for which a place was asked: whether it was had

    @property
    def snapshot(self) -> Snapshot:
        """The newest. Raises UnknownAgentError."""
        if self.state.snapshot is None:
            raise UnknownAgentError(self.agent_id)
        return self.state.snapshot

    def graph(self) -> AnyGraph:
        """The graph with which the agent goes on. Raises as `Registry.graph_for`."""
        return self.config.registry.graph_for(self.snapshot)

    def close(self) -> JournalEntry:
        """What has been decided."""
        if self.is_touched:
            self._set_payloads_aside()
            self.entry.state = STATE.dump_json(self.state)
        if self._has_ids_changed:
            self.entry.ids = IDS.dump_json(self._applied())
        return self.entry

    def become(self, state: AgentState, ids: Ids) -> None:
        """Has this kept from now on."""
        self.state, self._ids, self._is_small = state, ids, set()
        self.is_touched = self._has_ids_changed = True

    def full(self, mail: Mail) -> Mail:
        """Return mail with its payload. Raises PayloadsNeededError where that was not read for this run."""
        return self.all_full((mail,))[0]

    def all_full(self, mails: Sequence[Mail]) -> list[Mail]:
        """Return mail with its payloads. Raises as `full`."""
        aside = {mail.number for mail in mails if self.state.is_set_aside(mail)}
        missing = sorted(aside.difference(self.payloads))
        if missing:
            raise PayloadsNeededError(missing)
        return [with_payload(mail, self.payloads[mail.number]) if mail.number in aside else mail for mail in mails]

    def _set_payloads_aside(self) -> None:
        """Take large payloads out of the state, and have those cleared whose mail is gone."""
        state = self.state
        for place, mail in enumerate(state.mail):
            if mail.number not in self._is_small or mail.number in state.large:
                state.mail[place] = self._set_aside(mail)
        standing = {mail.number for mail in state.mail}
        state.large = {number: payload for number, payload in state.large.items() if number in standing}
        state.layout = LAYOUT
        self.entry.cleared = sorted(self._was_large.difference(state.large))

    def _set_aside(self, mail: Mail) -> Mail:
        """Return mail as the state keeps it."""
        if self.state.is_set_aside(mail):
            return mail
        text = PAYLOAD.dump_json(mail.payload)
        if len(text) <= LARGE_BYTES:
            self.state.large.pop(mail.number, None)
            return mail
        if text != self.payloads.get(mail.number):
            self.entry.payloads.append((mail.number, text))
        self.state.large[mail.number] = LargePayload(digest_of(mail.event, mail.payload), len(text))
        return replace(mail, payload={})

    def order(self, do: str, **facts: Any) -> None:
        """Has something done once this is kept."""
        self.entry.orders.append({"do": do, **facts})

    def first_outcome(self, event: Event) -> Outcome | None:
        """The outcome that the event had when its id was applied; None where it was not. Raises EventIdReusedError."""
        known = None if event.id is None else self.applied(event.id)
        if known is None:
            return None
        if known.digest != digest_of(event.name, event.payload):
            raise EventIdReusedError(self.agent_id, event.id or "", known.event)
        return known.outcome.repeated()

    def applied(self, event_id: str) -> Applied | None:
        """What came of the event of this id; None where it was not applied, or is too long ago."""
        return self.ids.get(event_id)

    @property
    def ids(self) -> Ids:
        """What came of events, by their ids."""
        return self._applied()

    def note_made(self, event_id: str, handoff: str) -> None:
        """Keep the id of the handoff that an event has offered, for the same call made again."""
        known = self._applied()
        known[event_id] = replace(known[event_id], made=handoff)

    async def in_turn(self, graph: AnyGraph, event: str, turn: Coroutine[Any, Any, T]) -> T:
        """Return what the turn comes to, within the time that turns have. Raises TurnTimeoutError."""
        return await in_turn(graph, self.agent_id, event, turn, self.config.terms.turn_s)

    def commit(self, turn: TurnRecord) -> bool:
        """Keeps what the turn comes to; False where a handoff does not stand as it says: then nothing has changed.

        Raises UnknownEffectError and AgentTooLargeError.
        """
        settles = tuple(each for each in turn.effects if isinstance(each, ChangeHandoff))
        after = self._settled(settles)
        if after is None:
            return False
        offers = tuple(each.handoff for each in turn.effects if isinstance(each, Offer))
        text = TURN.dump_json(
            Turn(turn.snapshot, turn.event, turn.taken, turn.took_us, turn.guard_errors, offers, settles)
        )
        most = self.config.terms.most_bytes
        if len(text) > most:
            raise AgentTooLargeError(self.agent_id, len(text), most)
        self._check_sent(turn)
        if self.state.snapshot is None:
            self.state.life = token_hex(8)
        self.state.snapshot, self.is_touched = turn.snapshot, True
        self._note_id(turn)
        self._keep_settled(after)
        if self.config.projects:
            self.entry.turns.append((turn.snapshot.version, text))
            self.project()
        if turn.effects:
            self._carry_out(turn)
        return True

    def _check_sent(self, turn: TurnRecord) -> None:
        """Raises AgentTooLargeError where a turn sends more than fits into what the engine writes down of it."""
        sent = sum(len(MAIL.dump_json(mail)) for mail in turn.mail) if turn.effects else 0
        if sent > self.config.terms.inbox_bytes:
            raise AgentTooLargeError(self.agent_id, sent, self.config.terms.inbox_bytes)

    def settle(self, settle: ChangeHandoff) -> bool:
        """Changes a handoff without a turn; False where it does not stand as that says."""
        after = self._settled((settle,))
        if after is None:
            return False
        self._keep_settled(after)
        self.is_touched = True
        return True

    def project(self) -> None:
        """Tells the projection that there is something to do, unless it knows."""
        if not self.state.is_projecting:
            self.state.is_projecting = self.is_touched = True
            self.order("project", after_s=self.config.terms.projection_s)

    def post(self, mail: Mail) -> None:
        """Sends mail."""
        self.order("deliver", to=mail.recipient, mail=plain(MAIL, mail))

    def wake_at(self, mail: Mail, due: datetime) -> None:
        """Comes back to mail when it is due."""
        self.order("wake", number=mail.number, after_s=max((due - self.now).total_seconds(), 0.0))

    def end_calls(self, state: StateName | None = None) -> None:
        """Cancels the invocations of a state, or all."""
        for each in [each for each in self.state.calls if state in (None, each.invocation.state)]:
            self.end_call(each.invocation)

    def end_call(self, call: Invocation) -> None:
        """Cancels one invocation."""
        for each in [each for each in self.state.calls if each.invocation == call]:
            self.state.calls.remove(each)
            if each.engine_id:
                self.order("cancel", engine_id=each.engine_id)

    def _carry_out(self, turn: TurnRecord) -> None:
        for effect in turn.effects:
            self._end_and_amend(effect)
        for effect in turn.effects:
            if isinstance(effect, StartInvoke):
                after = turn.snapshot
                call = Invocation(self.agent_id, effect.state, after.version, effect.invoke)
                self._begin_call(ActiveInvocation(call, after.graph, after.graph_version, after.context))
        for mail in turn.mail:
            if mail.state is None and mail.key is None:
                self.post(mail)
            elif mail.due is not None:
                timer = replace(mail, number=self.state.number())
                self.state.put(timer)
                self.wake_at(timer, mail.due)

    def _end_and_amend(self, effect: Effect) -> None:
        match effect:
            case Cancel(state):
                self.state.drop_timers(state=state)
                self.end_calls(state)
            case CancelTimer(key):
                self.state.drop_timers(key=key)
            case CancelAll():
                self.state.drop_timers()
                self.end_calls()
            case ReplaceMail(number, mail):
                self._amend(number, mail)
            case ReplaceInvocation(call, running):
                self.end_call(call)
                if running is not None:
                    self._begin_call(running)
            case StartInvoke() | Send() | Timer() | Offer() | ChangeHandoff():  # begun or sent later, or settled before
                pass
            case _:
                refuse_unknown(effect)

    def _amend(self, number: int, mail: Mail | None) -> None:
        if mail is None:
            self.state.drop(number)
            return
        self._is_small.discard(number)
        self.state.large.pop(number, None)  # an empty payload in the place of a large one is no sign of it
        self.state.put(mail)
        if mail.due is not None:
            self.wake_at(mail, mail.due)

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

    def _settled(self, settles: tuple[ChangeHandoff, ...]) -> list[ChangeHandoff] | None:
        """The changes, where each handoff stands as they say. One that is not known here is as the change expects."""
        standing = dict(self.state.offers)
        for each in settles:
            check_change(each.before, each.after, each.handoff)
            if standing.get(each.handoff, each.before) is not each.before:
                return None
            standing[each.handoff] = each.after
        return list(settles)

    def _keep_settled(self, settles: list[ChangeHandoff]) -> None:
        for each in settles:
            self.state.offers[each.handoff] = each.after
            graph = None if is_open(each.after) else self.state.places.pop(each.handoff, None)
            if graph is not None:
                self.order("release", graph=graph, handoff=each.handoff)
        over = [handoff for handoff, status in self.state.offers.items() if not is_open(status)]
        for oldest in over[: -self.config.terms.keep_ids]:
            del self.state.offers[oldest]
