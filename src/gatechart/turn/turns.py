"""Whole turns: from a snapshot and an event to the record that a store commits.

A turn reads the context from the snapshot's text, actions change it, and the turn writes it into the next snapshot. So
a refused or failed turn has nothing to undo, and a restored agent continues as if it had never stopped.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from time import perf_counter_ns
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from gatechart.context import (
    AgentContext,
    ContextT,
    describe_fields,
    new_context,
    problems_of,
    read_context,
    rewritten,
)
from gatechart.errors.event import (
    ActionFailedError,
    ContextInvalidError,
    EntryGuardError,
    MicrostepLimitError,
    PayloadError,
    UndeclaredEventError,
)
from gatechart.errors.failures import is_failure
from gatechart.errors.operation import IncompatibleGraphError
from gatechart.graph.callables import callable_name
from gatechart.graph.definition import EntryPoint, OnRefusal
from gatechart.graph.escape import UNDOING
from gatechart.graph.graph import AnyGraph, StateTransitionGraph
from gatechart.graph.signals import SIGNAL
from gatechart.handoff.conversation import ConversationContext, fields_for
from gatechart.handoff.packet import HandoffPacket
from gatechart.kernel.plan import plan_entry
from gatechart.kernel.select import accepted_events, defers
from gatechart.turn.entities import with_remedy
from gatechart.turn.escape_requests import ask_way_out
from gatechart.turn.handoff_state import Standing, standing_after
from gatechart.turn.lessons import judgements
from gatechart.turn.macrostep import Macrostep, agrees, macrostep_of
from gatechart.turn.noticing import note_answer, note_late, notice, set_timer
from gatechart.turn.own_events import admitted, not_admitted
from gatechart.turn.payloads import payload_data, refused_as
from gatechart.turn.recurring import first_timers, is_skipped, recurrence_of, set_next
from gatechart.turn.savepoint import Savepoint
from gatechart.turn.trail_mail import is_late
from gatechart.turn.turn_context import Turn, log_of, one_line, own_copy, told
from gatechart.turn.undoing import resume_escape
from gatechart.values.agents import Event, GuardError, Outcome, Refusal, RefusalReason, Refused, Snapshot, Status
from gatechart.values.commits import TurnRecord
from gatechart.values.effects import Cancel, CancelAll, Effect, Send, StartInvoke, Timer
from gatechart.values.escapes import NO_ESCAPES
from gatechart.values.fired_signals import FiredSignal, Reaction
from gatechart.values.frozen import maker, replaced
from gatechart.values.handoffs import Mode
from gatechart.values.names import FRAMEWORK, RECURRING, AgentId, EntryVersions, StateName, is_reserved
from gatechart.values.trail import Trail

logger = logging.getLogger(__name__)

NO_HANDOFFS: Final = Standing()
_make_snapshot, _make_record = maker(Snapshot), maker(TurnRecord)
_UNDONE: Final = (
    "the answer to a signal raised and is undone: %(signal)s of agent %(agent_id)s, graph %(graph)s: %(reason)s"
)

MOST_DEFERRED: Final = 100
"""Maximum number of events that an agent can defer at a time."""


async def take_turn(graph: AnyGraph, previous: Snapshot, event: Event, services: Any = None) -> TurnRecord | Outcome:
    """Process an event in a turn. Return the turn's record, or the outcome of a refused or deferred event.

    Raises ActionFailedError, ContextInvalidError and MicrostepLimitError, after which the turn is undone, and
    IncompatibleGraphError if the graph cannot read the snapshot.
    """
    started = perf_counter_ns()
    admission = _admitted(graph, previous, event)
    if isinstance(admission, Refusal):
        return _refused(previous, event, admission)
    event, data = admission
    context = committed_context(graph, previous)
    macrostep = macrostep_of(graph, previous, previous.agent_id, context, event, previous.handoffs, services, data)
    recurrence = recurrence_of(graph, previous.configuration, event) if event.name.startswith(RECURRING) else None
    if recurrence is None or not is_skipped(recurrence[1], event):
        await macrostep.react()
    if recurrence is not None:
        set_next(macrostep, *recurrence)  # whether or not a guard agreed
    elif not macrostep.taken:
        if defers(graph, previous.configuration, event.name):
            return deferred(previous, event)
        refusal = macrostep.refusal()
        if not (_is_told(graph, event) and await macrostep.tell(refusal)):
            return _refused(previous, event, refusal, tuple(macrostep.guard_errors))
    return await completed(macrostep, previous, event, started)


def _admitted(graph: AnyGraph, previous: Snapshot, event: Event) -> tuple[Event, Any] | Refusal:
    """Return the admitted event, and its payload parsed as its declared type; or the refusal of the event."""
    if previous.status is not Status.ACTIVE:
        return Refusal(RefusalReason.AGENT_ENDED, previous.configuration, ())
    if graph.is_framework or event.name.startswith(FRAMEWORK):
        passed = admitted(graph, previous.agent_id, event)
        if passed is None:
            return not_admitted(graph, previous.configuration)
        event = passed
    if not graph.event_types:
        return event, None
    try:
        return event, payload_data(graph, event.name, event.payload)
    except (PayloadError, UndeclaredEventError) as misfit:
        return refused_as(misfit, graph, previous.configuration)


def _is_told(graph: AnyGraph, event: Event) -> bool:
    """Return whether the refusal is reported to the chart. Events of the framework have no sender to report to."""
    return graph.on_refusal is OnRefusal.EVENT and not is_reserved(event.name)


async def take_trail_mail(graph: AnyGraph, previous: Snapshot, event: Event, services: Any = None) -> TurnRecord | None:
    """Write the entries of trail mail into the trail, and let the chart answer a signal that fires.

    A report of an invoke whose state was left since is written, but fires no signal, because that work is over. Return
    None if the agent has ended or its graph has no signals.
    """
    if previous.status is not Status.ACTIVE or graph.signals_at(previous.trail.entry_point) is None:
        return None
    started, context = perf_counter_ns(), committed_context(graph, previous)
    macrostep = macrostep_of(graph, previous, previous.agent_id, context, event, previous.handoffs, services)
    if is_late(event, previous):
        note_late(macrostep, event)
        return recorded(macrostep, previous, event, started)
    return await completed(macrostep, previous, event, started)


async def begin(
    graph: AnyGraph,
    entry: EntryPoint,
    payload: BaseModel | None,
    agent_id: AgentId,
    event: Event,
    services: Any = None,
) -> TurnRecord:
    """Start an agent with its first turn, which runs the entry actions of the entered states.

    payload: the result of `fit_payload`. Raises PayloadError, EntryGuardError, and what `take_turn` raises.
    """
    started = perf_counter_ns()
    try:
        context = beginning_context(graph, entry, entry_fields(graph, entry, payload))
    except PayloadError as error:
        raise with_remedy(error, graph, entry, payload) from error.__cause__
    ask_entry_guard(graph, entry, context, event)
    macrostep = macrostep_of(graph, None, agent_id, context, event, (), services)
    await macrostep.enter(plan_entry(graph, (entry.state,)))
    return await completed(macrostep, None, event, started, entry_point=entry.name)


def committed_context(graph: StateTransitionGraph[ContextT], snapshot: Snapshot) -> ContextT:
    """Read the context from the snapshot. Raises IncompatibleGraphError if the graph's context type cannot parse it."""
    kept = graph.contexts.take(snapshot.agent_id, snapshot.context_text)
    if kept is not None:
        return kept
    try:
        return read_context(graph.context, snapshot.context_text)
    except ValidationError as error:
        problem = f"its context is not a valid {graph.context.__name__}: {'; '.join(problems_of(error))}"
        raise IncompatibleGraphError(snapshot.agent_id, graph.name, problem) from error


def entry_fields(graph: AnyGraph, entry: EntryPoint, payload: BaseModel | None) -> Mapping[str, Any]:
    """Return the context's fields that a valid payload of the entry point fills. Raises PayloadError."""
    if isinstance(payload, HandoffPacket) and entry.maps is None:
        return fields_for(graph.context, payload, entry.entities)
    try:
        return {} if payload is None else entry.context_fields(payload)
    except BaseException as error:
        if not is_failure(error):
            raise
        raise _no_beginning(graph, entry, (f"maps={callable_name(entry.maps)}",), told(error)) from error


def beginning_context(graph: StateTransitionGraph[ContextT], entry: EntryPoint, fields: Mapping[str, Any]) -> ContextT:
    """Build the initial context of an agent. Raises PayloadError if the fields do not form a valid context."""
    try:
        return new_context(graph.context, fields)
    except ValidationError as error:
        raise _no_beginning(graph, entry, problems_of(error)) from error


def _no_beginning(graph: AnyGraph, entry: EntryPoint, problems: tuple[str, ...], raised: str = "") -> PayloadError:
    kind = graph.context
    taker = f"the initial context at entry point {entry.name!r} of {graph.name!r}"
    return PayloadError(taker, problems, f"{kind.__name__}({describe_fields(kind)})", raised)


def ask_entry_guard(graph: AnyGraph, entry: EntryPoint, context: AgentContext, event: Event) -> None:
    """Raise EntryGuardError if the guard of the entry point says no or raises."""
    if entry.guard is None:
        return
    raised, reason = None, ""
    try:
        answer = entry.guard(context, own_copy(event))
        if agrees(answer, callable_name(entry.guard)):
            return
        reason = one_line(answer.reason) if isinstance(answer, Refused) else ""
    except BaseException as error:
        if not is_failure(error):
            raise
        raised = told(error)
    raise EntryGuardError(graph.name, entry.name, callable_name(entry.guard), raised, reason)


async def completed(
    macrostep: Macrostep,
    previous: Snapshot | None,
    event: Event,
    started: int,
    *,
    before: tuple[Effect, ...] = (),
    replied: str = "",
    entry_point: str = "",
) -> TurnRecord:
    """Evaluate the signals of a turn, let the chart answer one, and build the record. Raises what `recorded` raises.

    If the answer raises, only the answer is undone. entry_point: where the agent starts or accepts work in this turn.
    """
    graph = macrostep.graph
    if not graph.has_signals:
        return recorded(macrostep, previous, event, started, before=before, replied=replied)
    if entry_point:
        kept = macrostep.trail
        escapes = kept.escapes if kept.escapes is NO_ESCAPES else kept.escapes.settled
        macrostep.trail = Trail(entry_point=entry_point, is_timed=kept.is_timed, escapes=escapes)
    fired = notice(macrostep, previous)
    if macrostep.trail.escapes.undoing:
        fired = resume_escape(macrostep, fired)
    if fired is not None:
        savepoint = Savepoint(macrostep)
        try:
            await _answer(macrostep, fired)
            return recorded(macrostep, previous, event, started, before=before, replied=replied)
        except BaseException as error:
            if not is_failure(error):
                raise
            savepoint.restore(macrostep)
            macrostep.fired = replaced(fired, reaction=Reaction.UNDONE, problem=told(_of_answer(error)))
            _log_undone(macrostep, macrostep.fired)
    if macrostep.trail.working:
        set_timer(macrostep)
    return recorded(macrostep, previous, event, started, before=before, replied=replied)


async def _answer(macrostep: Macrostep, fired: FiredSignal) -> None:
    """Let the chart answer a signal."""
    signal, leaves = Event(f"{SIGNAL}{fired.signal}", fired.payload, macrostep.turn.now), macrostep.configuration
    is_taken = await macrostep.answer(signal)
    if fired.reaction is Reaction.ESCAPING:  # the escape was requested already
        is_asked = True
        if UNDOING not in macrostep.configuration:
            macrostep.trail = replaced(macrostep.trail, escapes=macrostep.trail.escapes.interrupted)
    else:
        is_asked = not is_taken and ask_way_out(macrostep, fired)
    reaction = Reaction.TAKEN if is_taken else Reaction.ESCAPING if is_asked else Reaction.UNTAKEN
    macrostep.fired = replaced(fired, reaction=reaction)
    note_answer(macrostep, signal, leaves)
    set_timer(macrostep)


def _of_answer(error: BaseException) -> BaseException:
    """Return the error of an answer to a signal, reworded to say that only the answer is undone."""
    if isinstance(error, ActionFailedError | ContextInvalidError | MicrostepLimitError):
        return dataclasses.replace(error, undone="the answer")
    return error


def _log_undone(macrostep: Macrostep, fired: FiredSignal) -> None:
    facts = {"agent_id": macrostep.turn.agent_id, "graph": macrostep.graph.name}
    facts |= {"signal": fired.signal, "reason": fired.problem}
    logger.warning(_UNDONE, facts, extra=facts)


def recorded(
    macrostep: Macrostep,
    previous: Snapshot | None,
    event: Event,
    started: int,
    *,
    before: tuple[Effect, ...] = (),
    replied: str = "",
) -> TurnRecord:
    """Build the record of a completed turn. Raises ContextInvalidError and HandoffNotAwaitedError.

    before: effects that precede the turn's own. replied: see `standing_after`.
    """
    graph, turn = macrostep.graph, macrostep.turn
    text = _text_after(macrostep, previous)
    escapes = macrostep.trail.escapes
    if previous is not None and escapes is not previous.trail.escapes:
        is_attempt = escapes.count > previous.trail.escapes.count  # an attempt has reset the trail
        since = previous.trail.text if is_attempt else macrostep.trail.text
        macrostep.log.asked.extend(judgements(previous, escapes, since, macrostep.configuration))
    for state in () if macrostep.is_final else macrostep.attended:  # a final state that contains states may end at once
        delegate(graph, state, turn)
    # A plain turn ends no state and requests no effects, so entry versions and status do not change.
    is_plain = not (macrostep.left or macrostep.attended or macrostep.log.asked or macrostep.is_final)
    standing = NO_HANDOFFS
    if turn.handoffs or macrostep.log.asked:
        result = macrostep.result() if macrostep.is_final and turn.handoffs else None
        standing = standing_after(macrostep, replied, result)
    epochs = previous.entered if previous else ()
    snapshot = _make_snapshot(
        turn.agent_id,
        graph.name,
        graph.version,
        graph.fingerprint,
        macrostep.configuration,
        text,
        turn.version,
        macrostep.status if macrostep.is_final else Status.ACTIVE,
        macrostep.memory,
        epochs if is_plain else _entered(macrostep, epochs),
        standing.handoffs,
        previous.started if previous else event.time,
        event.time,
        macrostep.transfers,
        macrostep.trail,
    )
    took_us = (perf_counter_ns() - started) // 1000
    effects = () if is_plain else effects_of(macrostep)
    return _make_record(
        previous,
        snapshot,
        event,
        tuple(macrostep.taken),
        took_us,
        tuple(macrostep.guard_errors),
        (*before, *effects, *standing.effects),
        fired=macrostep.fired,
    )


def effects_of(macrostep: Macrostep) -> tuple[Effect, ...]:
    """Return the turn's effects: ends for the states left, starts for the states entered, and requests of actions.

    An agent that has ended keeps no timers and invokes, but its messages to other agents are sent.
    """
    if macrostep.is_final:
        others = [effect for effect in macrostep.log.asked if isinstance(effect, Send)]
        return (CancelAll(), *others)
    effects: list[Effect] = [Cancel(state) for state in macrostep.left]
    for state in macrostep.attended:
        effects += beginnings(macrostep.graph, state, macrostep.turn.now)
    return (*effects, *macrostep.log.asked)


def beginnings(graph: AnyGraph, state: StateName, now: datetime) -> list[Effect]:
    """Return the effects that start when a state is entered: its timers and invokes."""
    node = graph.nodes[state]
    timers = [Timer(event, now + timedelta(seconds=delay_s), {}, state) for event, delay_s in node.timers]
    invokes = [StartInvoke(state, invoke.id) for invoke in node.invokes if not invoke.agent]
    return [*timers, *first_timers(node, now), *invokes]


def delegate(graph: AnyGraph, state: StateName, turn: Turn, under_way: Collection[str] = ()) -> None:
    """Offer work to the agents that the state invokes. under_way: ids of invokes that are running already."""
    for invoke in graph.nodes[state].invokes:
        if invoke.agent and invoke.id not in under_way:
            packet = None if invoke.packet is None else invoke.packet(turn.context, turn.event)
            due, fallbacks = invoke.timeout_s, invoke.fallbacks
            handoff_id = turn.handoff(
                invoke.agent, at=invoke.at, packet=packet, mode=Mode.DELEGATE, deadline=due, fallbacks=fallbacks
            )
            log_of(turn).awaits[handoff_id] = (state,), invoke.id


def _entered(macrostep: Macrostep, before: EntryVersions) -> EntryVersions:
    if macrostep.is_final:
        return ()
    if not macrostep.left and not macrostep.attended:
        return before
    version = macrostep.turn.version
    stays = [(state, epoch) for state, epoch in before if state not in macrostep.left]
    return (*stays, *((state, version) for state in macrostep.attended))


def _text_after(macrostep: Macrostep, previous: Snapshot | None) -> str:
    context, before = macrostep.context, None if previous is None else previous.context_text
    if context is None and before is not None:  # the turn did not need it
        return before
    if isinstance(context, ConversationContext):
        context.identify()
    text, restored = rewritten(context, before, macrostep.turn.agent_id, macrostep.turn.event.name)
    # The cache skips new agents: if many start, each would only evict another. A validator may have built an object of
    # another class.
    if previous is not None and type(restored) is macrostep.graph.context:
        macrostep.graph.contexts.keep(macrostep.turn.agent_id, text, restored)
    return text


def deferred(snapshot: Snapshot, event: Event, *, repeat: bool = False) -> Outcome:
    """Return the outcome of an event that is deferred to a later state. repeat: whether it was deferred before."""
    at = snapshot
    return Outcome(event.name, at.configuration, at.version, at.status, repeat=repeat, deferred=True)


def too_many_deferred(graph: AnyGraph, snapshot: Snapshot, event: Event) -> Outcome:
    """Return the refusal of an event to defer, for an agent that has reached `MOST_DEFERRED`.

    It lists no deferrable events, because the agent could not defer any of them.
    """
    accepts = accepted_events(graph, snapshot.configuration)
    return _refused(snapshot, event, Refusal(RefusalReason.DEFERRED_TOO_MANY, snapshot.configuration, accepts))


def _refused(snapshot: Snapshot, event: Event, refusal: Refusal, guard_errors: tuple[GuardError, ...] = ()) -> Outcome:
    return Outcome(event.name, snapshot.configuration, snapshot.version, snapshot.status, (), refusal, guard_errors)
