"""Extend the trail of an agent in each turn, and detect the signals that fire."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from gatechart.escape.attempts import after_call, judged
from gatechart.graph.graph import AnyGraph
from gatechart.graph.signals import Signals
from gatechart.turn.macrostep import Macrostep
from gatechart.turn.moves import move_of
from gatechart.turn.payloads import with_marks
from gatechart.turn.progress import is_first, progress_of, with_entered
from gatechart.turn.trail_mail import CALL, DUE, EVENTS, entries_from
from gatechart.turn.trail_text import grown
from gatechart.turn.watch import Watch, fields_of, watch_of
from gatechart.values.agents import Event, Origin, Snapshot, Status
from gatechart.values.detectors import WORKED, Look
from gatechart.values.effects import Timer
from gatechart.values.escapes import NO_ESCAPES, CameTo, Escapes
from gatechart.values.fired_signals import FiredSignal
from gatechart.values.frozen import maker, replaced
from gatechart.values.names import AgentId, Payload, StateName
from gatechart.values.texts import shortened
from gatechart.values.trail import (
    LONGEST_TOLD,
    MOVED,
    NO_TRAIL,
    Moved,
    Said,
    Trail,
    TrailEntry,
    begun_at,
    kinds_of,
    text_of,
)

_make_trail: Final = maker(Trail)
_ENDS: Final = ("done.invoke.", "error.invoke.")


def notice(macrostep: Macrostep, previous: Snapshot | None) -> FiredSignal | None:
    """Add a turn to the trail of its agent. Return the signal that fires; None if none does.

    This runs in every turn of an agent with signals, so the common case is checked first.
    """
    watch = watch_of(macrostep.graph, macrostep.trail.entry_point)
    if watch is None or macrostep.is_final:
        _judge_end(macrostep)
        return None
    moved = None if previous is None else _trail_after_move(macrostep, previous, watch)
    if moved is None:
        return _fired_by_look(macrostep, previous, watch)
    macrostep.trail = moved
    return None


def _trail_after_move(macrostep: Macrostep, previous: Snapshot, watch: Watch) -> Trail | None:
    """Return the trail after a turn that only moved the agent; None if a detector needs a look.

    This is the fast path for nearly all turns. The trail is the same as after `_fired_by_look`.
    """
    trail, event, graph, after = macrostep.trail, macrostep.turn.event, macrostep.graph, macrostep.configuration
    is_more = after == previous.configuration or trail.working or trail.marks != watch.marks
    if is_more or (macrostep.attended and _running_invokes(macrostep, trail)):
        return None
    payload = with_marks(graph, event).payload if graph.event_types else event.payload
    if payload and not watch.telling.isdisjoint(payload):
        return None
    move = move_of(previous.configuration, after, event.name)
    character = move.by(payload, watch.terms.ignore) if payload else move.character
    slots = watch.after_move(trail.slots, character, move.place)
    if slots is None:
        return None
    recent, task, best = with_entered(trail.recent, move.entered, watch.terms.window), trail.task, trail.best
    if watch.is_told or macrostep.log.progressed:
        progress = progress_of(macrostep, watch, recent)
        if progress.entries:
            return None
        recent, task, best = progress.recent, progress.task, progress.best
    escapes = trail.escapes
    if escapes is not NO_ESCAPES:
        is_forward = watch.implies and is_first(trail.recent, move.entered, watch.terms.window)
        escapes = _escapes_after(trail, event, True, is_forward)
    text, appended = grown(trail, move.line, 1, watch.bounds)
    is_timed = trail.is_timed and event.name != DUE
    return _make_trail(text, slots, trail.marks, recent, (), task, best, is_timed, appended, trail.entry_point, escapes)


def _fired_by_look(macrostep: Macrostep, previous: Snapshot | None, watch: Watch) -> FiredSignal | None:
    """Add a turn to the trail and pass a look to the detectors. Return the signal that fires; None if none does."""
    trail, event, graph, terms = macrostep.trail, macrostep.turn.event, macrostep.graph, watch.terms
    before, after = () if previous is None else previous.configuration, macrostep.configuration
    payload = with_marks(graph, event).payload if graph.event_types else event.payload
    line = character = place = ""
    entries: tuple[TrailEntry, ...] = ()
    recent, is_forward, kinds = trail.recent, False, 0
    if after != before or _is_led_back(macrostep, event):
        move = move_of(before, after, event.name)
        line, place, kinds = move.line, move.place, MOVED
        character = move.by(payload, terms.ignore) if payload else move.character
        is_forward = is_first(recent, move.entered, terms.window)
        recent = with_entered(recent, move.entered, terms.window)
    if payload and not watch.telling.isdisjoint(payload):
        entries = _entries_of(event, payload, watch)
    task, best, is_told = trail.task, trail.best, False
    if watch.is_told or macrostep.log.progressed:
        progress = progress_of(macrostep, watch, recent)
        recent, task, best, is_told = progress.recent, progress.task, progress.best, progress.is_told
        is_forward = bool(progress.entries) or (is_forward and watch.implies)
        entries += progress.entries
    text, appended = grown(trail, line + text_of(entries), bool(character) + len(entries), watch.bounds)
    working = _running_invokes(macrostep, trail)
    kinds |= kinds_of(entries) | (WORKED if working or trail.working else 0)
    look = Look(
        macrostep.turn.event,
        before,
        after,
        entries,
        kinds,
        macrostep.context,
        text,
        character,
        place,
        is_forward,
        is_told,
        trail.working != (),
        working != (),
    )
    slots, fired = watch.asked(watch.slots_of(trail), look)
    macrostep.trail = _make_trail(
        text,
        slots,
        watch.marks,
        recent,
        working,
        task,
        best,
        trail.is_timed and event.name != DUE,
        appended,
        trail.entry_point,
        NO_ESCAPES if trail.escapes is NO_ESCAPES else _escapes_after(trail, event, bool(character), is_forward),
    )
    return fired


def _escapes_after(trail: Trail, event: Event, is_move: bool, is_forward: bool) -> Escapes:
    escapes = after_call(trail.escapes, event.payload) if event.name == CALL else trail.escapes
    return judged(escapes, is_move, is_forward)


def _judge_end(macrostep: Macrostep) -> None:
    """Judge the escape that led to the end of the agent."""
    escapes = macrostep.trail.escapes
    if macrostep.is_final and escapes is not NO_ESCAPES:
        came_to = CameTo.NOTHING if macrostep.failed_in else CameTo.PROGRESS
        macrostep.trail = replaced(macrostep.trail, escapes=replaced(escapes.judged(came_to), open=()))


def note_late(macrostep: Macrostep, event: Event) -> None:
    """Add a late report to the trail, from an invoke of a state that the agent has left. No detector sees it."""
    trail, watch = macrostep.trail, watch_of(macrostep.graph, macrostep.trail.entry_point)
    if watch is not None:
        entries = entries_from(event)
        text, appended = grown(trail, text_of(entries), len(entries), watch.bounds)
        macrostep.trail = replaced(trail, text=text, appended=appended)


def note_answer(macrostep: Macrostep, event: Event, before: tuple[StateName, ...]) -> None:
    """Write the move of the answer to a signal into the trail. No detector is evaluated again in that turn."""
    watch = watch_of(macrostep.graph, macrostep.trail.entry_point)
    if watch is None or macrostep.is_final:
        return
    after = macrostep.configuration
    moved = (Moved(after, event.name),) if after != before else ()
    text, appended = grown(macrostep.trail, text_of(moved), len(moved), watch.bounds)
    macrostep.trail = replaced(
        macrostep.trail, text=text, appended=appended, working=_running_invokes(macrostep, macrostep.trail)
    )


def begin_anew(macrostep: Macrostep, before: tuple[StateName, ...], escapes: Escapes, entry_point: str = "") -> None:
    """Reset the trail after an escape that the turn took, and set the timer that it then needs.

    before: active leaves before the turn. entry_point: where the agent restarted; unchanged by default.
    """
    working = _running_invokes(macrostep, macrostep.trail)
    trail = replaced(macrostep.trail, working=working, entry_point=entry_point or macrostep.trail.entry_point)
    macrostep.trail = begun_anew(macrostep.graph, trail, escapes, macrostep.turn.now)
    _judge_end(macrostep)
    note_answer(macrostep, macrostep.turn.event, before)
    set_timer(macrostep)


def begun_anew(graph: AnyGraph, trail: Trail, escapes: Escapes, now: datetime) -> Trail:
    """Reset the trail: detectors forget their observations, and count running work from now on.

    The trail keeps the states that the agent knows, because entering one of them again is not progress.
    """
    watch = watch_of(graph, trail.entry_point)
    slots, marks = ((), "") if watch is None else (("",) * len(watch.detectors), watch.marks)
    if watch is not None and trail.working:
        slots = watch.begun(slots, now)
    return replaced(trail, text="", appended=0, slots=slots, marks=marks, escapes=escapes)


def set_timer(macrostep: Macrostep) -> None:
    """Set the timer of the detectors if work is running, a detector measures time, and no timer is pending."""
    trail = macrostep.trail
    if not trail.working or macrostep.is_final:  # the usual case
        return
    timer = _timer(macrostep.graph, trail, macrostep.turn.now)
    if timer is not None:
        macrostep.log.asked.append(timer)
        macrostep.trail = replaced(trail, is_timed=True)


def with_trail_of(graph: AnyGraph, snapshot: Snapshot, now: datetime) -> tuple[Snapshot, tuple[Timer, ...]]:
    """Adapt the snapshot's trail to the graph, and return the timer that it then needs.

    For an agent that continues in these states without a turn of its chart: after a rollback, a fork or a migration.
    Detectors that the graph still has keep their memory. The record of escapes is kept in any case.
    """
    trail = snapshot.trail
    if not graph.has_signals:
        counted = trail.escapes is not NO_ESCAPES
        kept = replaced(begun_at(trail.entry_point, trail.escapes), recent=trail.recent) if counted else NO_TRAIL
        return replaced(snapshot, trail=kept), ()
    watch = watch_of(graph, trail.entry_point)
    if watch is None or snapshot.status is not Status.ACTIVE:
        return snapshot, ()
    working = _invokes_in(graph, snapshot.configuration)
    slots = watch.begun(watch.slots_of(trail), now) if working else watch.slots_of(trail)
    after = replaced(trail, slots=slots, marks=watch.marks, working=working)
    return with_timer(graph, replaced(snapshot, trail=after), now)


def with_timer(graph: AnyGraph, snapshot: Snapshot, now: datetime) -> tuple[Snapshot, tuple[Timer, ...]]:
    """Return a snapshot whose trail records the timer that it needs, and the timer unless one is pending."""
    timer = _timer(graph, snapshot.trail, now) if snapshot.status is Status.ACTIVE else None
    if timer is None:
        return snapshot, ()
    return replaced(snapshot, trail=replaced(snapshot.trail, is_timed=True)), (timer,)


def _timer(graph: AnyGraph, trail: Trail, now: datetime) -> Timer | None:
    """Return the timer that evaluates detectors again during work; None if one is pending, or no detector needs it."""
    if not trail.working or trail.is_timed:
        return None
    watch = watch_of(graph, trail.entry_point)
    wait_s = None if watch is None else watch.wait_s(trail.slots)
    return None if wait_s is None else Timer(DUE, now + timedelta(seconds=wait_s), {}, key=DUE)


def foreseen(graph: AnyGraph, snapshot: Snapshot, event: Event, context: Any) -> tuple[Snapshot, FiredSignal | None]:
    """Predict the turn of an event for the trail: return the snapshot after it, and the signal that will fire.

    For an invoke, which has no turn. snapshot: from the commit that entered its state, or from the previous call of
    this function. event: trail mail, such as `trail.call`.
    """
    trail, leaves = snapshot.trail, snapshot.configuration
    watch = watch_of(graph, trail.entry_point)
    entries = entries_from(event)
    if watch is None or not entries:
        return snapshot, None
    text, appended = grown(trail, text_of(entries), len(entries), watch.bounds)
    is_working = bool(trail.working)
    kinds = kinds_of(entries) | (WORKED if is_working else 0)
    look = Look(event, leaves, leaves, entries, kinds, context, text, was_working=is_working, is_working=is_working)
    slots, fired = watch.asked(watch.slots_of(trail), look)
    after = replaced(trail, text=text, appended=appended, slots=slots, marks=watch.marks)
    return replaced(snapshot, trail=after), fired


def _entries_of(event: Event, payload: Payload, watch: Watch) -> tuple[TrailEntry, ...]:
    """Return the entries that the turn's event itself reports."""
    if event.name in EVENTS:
        return entries_from(event)
    return _speech(event, payload, watch.terms)


def _is_led_back(macrostep: Macrostep, event: Event) -> bool:
    """Return whether the turn re-entered its initial states because of the agent's own event.

    An event from another sender brings new information, so re-entering because of it is harmless.
    """
    return any(plan.entries for plan in macrostep.plans) and not _is_from_outside(event, macrostep.turn.agent_id)


def _is_from_outside(event: Event, agent_id: AgentId) -> bool:
    is_other = event.sender is not None and event.sender != agent_id
    return is_other or event.origin in (Origin.OUTSIDE, Origin.OPERATOR)


def _speech(event: Event, payload: Payload, terms: Signals) -> tuple[Said, ...]:
    """Return the message that the event contains. payload: the event's payload."""
    for field in fields_of(terms, event.name):
        if field in payload:
            message = payload[field]
            if isinstance(message, str) and message and (terms.said is not None or event.origin is Origin.OUTSIDE):
                return (Said(shortened(message, LONGEST_TOLD)),)
    return ()


def _running_invokes(macrostep: Macrostep, trail: Trail) -> tuple[str, ...]:
    """Return the ids of running invokes, except delegations, after a turn that does not end the agent."""
    if not trail.marks:  # the agent is new, or older than the signals of its graph
        return _invokes_in(macrostep.graph, macrostep.configuration)
    working = trail.working
    name, nodes = macrostep.turn.event.name, macrostep.graph.nodes
    if not (macrostep.left or macrostep.attended or name.startswith(_ENDS)):
        return working
    ended = {invoke.id for state in macrostep.left for invoke in nodes[state].invokes}
    ended.add(name.partition(".invoke.")[2])
    begun_ids = (invoke.id for state in macrostep.attended for invoke in nodes[state].invokes if not invoke.agent)
    return (*(running for running in working if running not in ended), *begun_ids)


def _invokes_in(graph: AnyGraph, leaves: Sequence[StateName]) -> tuple[str, ...]:
    """Return the ids of the invokes of the active states, except delegations."""
    nodes = graph.nodes
    active = dict.fromkeys(state for leaf in leaves for state in (*nodes[leaf].ancestors[::-1], leaf))
    return tuple(invoke.id for state in active for invoke in nodes[state].invokes if not invoke.agent)
