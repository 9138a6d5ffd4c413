"""Turns that record the outcome of a handoff, with or without a transition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from operator import itemgetter
from time import perf_counter_ns
from typing import Any, Final

from gatechart.errors.event import EventRefusedError
from gatechart.graph.graph import AnyGraph
from gatechart.kernel.plan import Plan, plan_microstep
from gatechart.kernel.select import candidates, enabled
from gatechart.turn.handoff_state import Standing, asked
from gatechart.turn.macrostep import Macrostep, macrostep_of
from gatechart.turn.turn_context import Turn, TurnLog, own_copy
from gatechart.turn.turns import committed_context, completed, delegate, recorded
from gatechart.values.agents import Event, Snapshot, Status
from gatechart.values.commits import TurnRecord
from gatechart.values.effects import Effect, Offer, ReplaceMail, Send
from gatechart.values.escapes import ESCAPE_DUE
from gatechart.values.frozen import replaced
from gatechart.values.handoffs import OpenHandoff, Side
from gatechart.values.mail import Mail
from gatechart.values.names import ERROR_MAIL, AgentId, EventName, Payload, StateName

REQUESTED: Final = "handoff.requested"
NOTED: Final = "noted"
"""Key in the payload of dead mail about a handoff: the handoff is updated, and only the chart has yet to handle it."""

_NAMES: Final = ("handoff.", "done.invoke.", "error.invoke.")  # events that report the result of a handoff to a chart


async def reacted(
    graph: AnyGraph,
    previous: Snapshot,
    event: Event,
    handoffs: tuple[OpenHandoff, ...],
    before: tuple[Effect, ...],
    services: Any,
    *,
    replied: str = "",
    dead: Mail | None = None,
) -> TurnRecord:
    """Process the event in the chart; if the chart does not handle it, only record it.

    dead: the mail that brought the event, if the chart failed at it; the chart is then skipped.
    replied: see `standing_after`.
    """
    if dead is not None:
        return unmoved(previous, event, handoffs, (*before, *noted(previous, dead, event)))
    started = perf_counter_ns()
    macrostep = await _react(graph, previous, event, handoffs, services)
    if macrostep is None or not macrostep.taken:
        return unmoved(previous, event, handoffs, before)
    return await completed(macrostep, previous, event, started, before=before, replied=replied)


async def _react(
    graph: AnyGraph, previous: Snapshot, event: Event, handoffs: tuple[OpenHandoff, ...], services: Any
) -> Macrostep | None:
    """Take the transitions that the event enables; return None if no transition exists, whatever the guards.

    Usually the turn only leaves a waiting state. Then it does not read the context, and reuses the plan made here.
    """
    groups = candidates(graph, previous.configuration, event.name) if previous.status is Status.ACTIVE else ()
    if not groups:
        return None
    edges = enabled(graph, groups, event.name, itemgetter(0))  # correct as long as no guard is evaluated
    plan: Plan | None = None  # of a turn that needs no context
    if not graph.has_signals and not any(edge.ask for edge in edges):
        plan = plan_microstep(graph, previous.configuration, previous.memory, edges)
        if plan.deeds or plan.has_eventless or plan.attended or (plan.is_final and handoffs):
            plan = None
    context = committed_context(graph, previous) if plan is None else None
    macrostep = macrostep_of(graph, previous, previous.agent_id, context, event, handoffs, services)
    await (macrostep.react() if plan is None else macrostep.take(plan))
    return macrostep


def unmoved(
    previous: Snapshot,
    event: Event,
    handoffs: tuple[OpenHandoff, ...],
    effects: tuple[Effect, ...] = (),
    status: Status | None = None,
) -> TurnRecord:
    """Return a turn that only records the outcome of a handoff; the agent stays in its states."""
    entered = previous.entered if status is None else ()
    after = replaced(
        previous,
        version=previous.version + 1,
        handoffs=handoffs,
        status=status or previous.status,
        entered=entered,
        changed=event.time,
    )
    return TurnRecord(previous, after, event, (), 0, (), effects)


def open_handoff(previous: Snapshot, event: Event, side: Side) -> OpenHandoff | None:
    """Find the handoff of a mail that the peer or the agent itself sent. side: the agent's side of the handoff."""
    wanted, own = event.payload.get("handoff"), previous.agent_id
    known = (handoff for handoff in previous.handoffs if handoff.side is side and event.sender in (handoff.peer, own))
    return next((handoff for handoff in known if handoff.id == wanted), None)


def error_mail(dead: Mail, number: int, now: datetime) -> Mail:
    """Build the mail that reports dead mail to its recipient. It belongs to the same state as the dead mail."""
    whose = dead.recipient
    return Mail(number, whose, ERROR_MAIL, _payload_about(dead), now, sender=whose, state=dead.state, epoch=dead.epoch)


def is_noted(name: EventName, payload: Payload, sender: AgentId | None) -> bool:
    """Return whether mail reports the result of a handoff that only the chart has yet to handle."""
    return sender is not None and NOTED in payload and "handoff" in payload and name.startswith(_NAMES)


def noted(previous: Snapshot, dead: Mail, event: Event) -> tuple[Effect, ...]:
    """Return the effects that record the content of dead mail without the chart. event: the event for the chart.

    The mail is kept, so that a retry delivers it to the chart alone.
    """
    payload = {"handoff": dead.payload["handoff"], **event.payload, NOTED: True}
    kept = replaced(dead, event=event.name, payload=payload)
    if previous.status is not Status.ACTIVE:
        return (ReplaceMail(dead.number, kept),)
    return ReplaceMail(dead.number, kept), Send(previous.agent_id, ERROR_MAIL, _payload_about(kept))


def keeps(turn: TurnRecord, dead: Mail) -> bool:
    """Return whether the turn keeps the mail as dead; False if the turn handled it."""
    return any(isinstance(effect, ReplaceMail) and effect.number == dead.number for effect in turn.effects)


def _payload_about(dead: Mail) -> Payload:
    about = {"handoff": dead.payload["handoff"]} if is_noted(dead.event, dead.payload, dead.sender) else {}
    if dead.event == ESCAPE_DUE:
        about = {name: dead.payload[name] for name in ("finding", "signal") if name in dead.payload}
        about |= {"goes_on": True} if "goes_on" in dead.payload else {}
    return {"event": dead.event, "number": dead.number, "attempts": dead.attempts, "reason": dead.reason, **about}


def requested(
    graph: AnyGraph, previous: Snapshot, event: Event, ask: Callable[[Turn], object], services: Any = None
) -> TurnRecord:
    """Hand on the agent's work for an outside caller, in a turn without actions. The agent waits in its current state.

    Raises PayloadError, and EventRefusedError if the agent has ended.
    """
    if previous.status is not Status.ACTIVE:
        raise EventRefusedError(previous.agent_id, event.name, f"the agent is {previous.status.value}")
    context = committed_context(graph, previous)
    macrostep = macrostep_of(graph, previous, previous.agent_id, context, event, previous.handoffs, services)
    ask(macrostep.turn)
    return recorded(macrostep, previous, event, perf_counter_ns())


def delegated(
    graph: AnyGraph, after: Snapshot, states: Sequence[StateName], event: Event, services: Any = None
) -> Standing:
    """Offer work to the agents that the given states invoke, if the states became active outside a turn.

    Existing offers of an invoke stay open. Raises the exceptions of the functions that build packets.
    """
    context, log = committed_context(graph, after), TurnLog(after.configuration)
    log.selectors = graph.selectors
    turn = Turn(after.agent_id, after.version, own_copy(event), services, graph.name, after.handoffs, context, log)
    running = frozenset(handoff.invoke for handoff in after.handoffs)
    for state in states:
        delegate(graph, state, turn, running)
    offers = [effect for effect in log.asked if isinstance(effect, Offer)]
    new = [asked(offer, after.version, *log.awaits[offer.handoff.id]) for offer in offers]
    return Standing((*after.handoffs, *new), tuple(log.asked))
