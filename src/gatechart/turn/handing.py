"""Turns about handoffs: an offer is taken, an answer comes, what was taken is wanted no more.

Only mail makes them: an event of such a name that a person sends is an event as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter_ns
from typing import Any

from gatechart.context import AgentContext
from gatechart.errors import EntryGuardError, EventRefusedError, PacketError, PayloadError
from gatechart.graph import EntryPoint, StateTransitionGraph
from gatechart.handoff import (
    MOST_HOPS,
    ConversationContext,
    HandoffPacket,
    PacketMigration,
    fields_for,
    next_offer,
    read_packet,
    with_attempt,
)
from gatechart.handoff.fallback import unreadable
from gatechart.handoff.texts import readable as text
from gatechart.kernel import plan_entry
from gatechart.turn.macrostep import Macrostep
from gatechart.turn.offering import answer_payload, conclusion, next_attempt, source_of
from gatechart.turn.offering import asked as asked_for
from gatechart.turn.payload import fit_payload, own_copy
from gatechart.turn.standing import Standing, failures, taken_transfers
from gatechart.turn.take import (
    ask_entry_guard,
    beginning_context,
    committed_context,
    delegate,
    entry_fields,
    recorded,
    take_turn,
)
from gatechart.turn.tools import Turn
from gatechart.values import (
    OFFERED,
    WITHDRAWN,
    AgentId,
    CancelAll,
    Effect,
    Event,
    HandoffStatus,
    Mail,
    Memory,
    Mode,
    Obstacle,
    Offer,
    OpenHandoff,
    Outcome,
    Payload,
    Send,
    Settle,
    Side,
    Snapshot,
    StateName,
    Status,
    TurnRecord,
)

ACCEPTED, REJECTED = "handoff.accepted", "handoff.rejected"
COMPLETED, FAILED = "handoff.completed", "handoff.failed"
EXPIRED, CANCELLED = "handoff.expired", "handoff.cancelled"
ANSWERS = frozenset({ACCEPTED, REJECTED, COMPLETED, FAILED, EXPIRED})


@dataclass(frozen=True, slots=True)
class Rejection:
    """An offer that is not taken: what the agent that asked is told, and what becomes of the handoff."""

    settle: Settle
    event: str
    told: Payload
    asked_by: AgentId


@dataclass(frozen=True, slots=True)
class Void:
    """Mail about a handoff that changes nothing any more."""


def is_about_handoff(mail: Mail | Event) -> bool:
    """Whether it is an offer or its withdrawal, by an agent: those are taken in the place of new agents, too."""
    name = mail.event if isinstance(mail, Mail) else mail.name
    return mail.sender is not None and (name.startswith(OFFERED) or name == WITHDRAWN)


async def take_mail(
    graph: StateTransitionGraph,
    previous: Snapshot,
    event: Event,
    services: Any = None,
    migrations: Sequence[PacketMigration] = (),
) -> TurnRecord | Outcome | Rejection | Void:
    """What becomes of an event that came as mail. Raises what `take_turn` raises."""
    if event.sender is not None and event.name.startswith("handoff."):
        if event.name.startswith(OFFERED):
            return await _take_offer(graph, previous, event, services, migrations)
        if event.name == WITHDRAWN:
            return await _take_withdrawal(graph, previous, event, services)
        if event.name in ANSWERS and "handoff" in event.payload:
            return await _take_answer(graph, previous, event, services)
    return await take_turn(graph, previous, event, services)


async def begin_with_offer(
    graph: StateTransitionGraph, agent_id: AgentId, event: Event, packet: HandoffPacket, services: Any = None
) -> TurnRecord | Rejection:
    """The first turn of an agent that begins by taking a handoff. Raises what `take_turn` raises."""
    started = perf_counter_ns()
    objection = _objection(graph, packet, event)
    if objection is not None:
        return objection
    entry = graph.entry_points[packet.entry_point]
    try:
        context = beginning_context(graph, entry, _fields(graph, entry, packet))
        ask_entry_guard(graph, entry, context, event)
    except PayloadError as error:
        return rejection(packet, Obstacle.PAYLOAD, str(error))
    except EntryGuardError as error:
        return rejection(packet, Obstacle.GUARD, str(error))
    macrostep = _macrostep(graph, None, agent_id, context, event, (_taken(packet, 1),), services)
    await macrostep.enter(plan_entry(graph, (entry.state,)))
    return recorded(macrostep, None, event, started, before=_acceptance(packet))


REQUESTED = "handoff.requested"


def requested(
    graph: StateTransitionGraph, previous: Snapshot, event: Event, ask: Callable[[Turn], object], services: Any = None
) -> TurnRecord:
    """The turn in which somebody outside has an agent hand on its work: no action runs, it waits where it is.

    Raises PayloadError, and EventRefusedError where the agent has ended.
    """
    if previous.status is not Status.ACTIVE:
        raise EventRefusedError(previous.agent_id, event.name, f"the agent is {previous.status.value}")
    context = committed_context(graph, previous)
    macrostep = _macrostep(graph, previous, previous.agent_id, context, event, previous.handoffs, services)
    ask(macrostep.turn)
    return recorded(macrostep, previous, event, perf_counter_ns())


def delegated(
    graph: StateTransitionGraph, after: Snapshot, states: Sequence[StateName], event: Event, services: Any = None
) -> Standing:
    """The offers to the agents that states invoke which become active with no turn of the agent's own.

    What an invoke has offered already stands. Raises what the functions raise that make packets.
    """
    context, leaves = committed_context(graph, after), after.configuration
    turn = Turn(after.agent_id, after.version, own_copy(event), services, graph.name, after.handoffs, context, leaves)
    under_way = frozenset(each.invoke for each in after.handoffs)
    for state in states:
        delegate(graph, state, turn, under_way)
    offers = [each for each in turn.asked if isinstance(each, Offer)]
    new = [asked_for(offer, after.version, *turn.awaits[offer.handoff.id]) for offer in offers]
    return Standing((*after.handoffs, *new), tuple(turn.asked))


def rejection(packet: HandoffPacket, obstacle: Obstacle, details: str) -> Rejection:
    """An offer that cannot be taken."""
    why = text(details)
    settle = Settle(packet.handoff_id, HandoffStatus.PENDING, HandoffStatus.REJECTED, f"{obstacle.value}: {why}")
    told = answer_payload(packet, HandoffStatus.REJECTED, why, obstacle)
    return Rejection(settle, REJECTED, told, packet.source_agent)


def withdrawn(event: Event, late: str = "") -> Rejection:
    """An offer that was withdrawn before it was taken. late: the id of one that came after its deadline."""
    is_late = bool(late) or event.payload.get("expired", False)
    after = HandoffStatus.EXPIRED if is_late else HandoffStatus.CANCELLED
    told_why = "" if late else event.payload.get("reason")
    details = told_why or ("not accepted before its deadline" if is_late else "withdrawn")
    handoff = late or event.payload["handoff"]
    told = {"handoff": handoff, "status": after.value, "details": details}
    settle = Settle(handoff, HandoffStatus.PENDING, after, details)
    return Rejection(settle, EXPIRED if is_late else FAILED, told, event.sender or "")


def readable(event: Event, migrations: Sequence[PacketMigration]) -> HandoffPacket | Rejection:
    """The packet of an offer, as this release reads it; else the rejection, which keeps it as it came."""
    try:
        return read_packet(event.payload, migrations)
    except PacketError as error:
        return rejection(unreadable(event.payload, str(error)), Obstacle.UNREADABLE, str(error))


async def _take_offer(
    graph: StateTransitionGraph,
    previous: Snapshot,
    event: Event,
    services: Any,
    migrations: Sequence[PacketMigration],
) -> TurnRecord | Rejection:
    started = perf_counter_ns()
    packet = readable(event, migrations)
    if isinstance(packet, Rejection):
        return packet
    if previous.status is not Status.ACTIVE:
        return rejection(packet, Obstacle.ENDED, f"it is {previous.status.value}")
    objection = _objection(graph, packet, event)
    if objection is not None:
        return objection
    entry = graph.entry_points[packet.entry_point]
    context = committed_context(graph, previous)
    try:
        _fields(graph, entry, packet)
        ask_entry_guard(graph, entry, context, event)
    except PayloadError as error:
        return rejection(packet, Obstacle.PAYLOAD, str(error))
    except EntryGuardError as error:
        return rejection(packet, Obstacle.GUARD, str(error))
    handoffs = (*previous.handoffs, _taken(packet, previous.version + 1))
    macrostep = _macrostep(graph, previous, previous.agent_id, context, event, handoffs, services)
    await macrostep.react()
    if not _leads_to(macrostep, entry):
        reason = f"nothing leads to {entry.state}" if macrostep.taken else str(macrostep.refusal())
        return rejection(packet, Obstacle.NO_TRANSITION, reason)
    return recorded(macrostep, previous, event, started, before=_acceptance(packet))


async def _take_withdrawal(
    graph: StateTransitionGraph, previous: Snapshot, event: Event, services: Any
) -> TurnRecord | Rejection | Void:
    taken = _open(previous, event, Side.TOOK)
    if taken is None:
        return withdrawn(event)
    if taken.mode is Mode.TRANSFER:
        return Void()
    is_late, reason = event.payload.get("expired", False), event.payload.get("reason", "")
    details = reason or ("not completed before its deadline" if is_late else "withdrawn")
    settle, *_ = conclusion(taken, HandoffStatus.CANCELLED, details, None)
    told = {"handoff": taken.id, "request": taken.request, "status": "cancelled", "details": details}
    answers = (Send(taken.peer, EXPIRED if is_late else FAILED, told),) if is_late or reason else ()
    others = tuple(each for each in previous.handoffs if each is not taken)
    if taken.is_new:
        ended = (settle, *answers, CancelAll(), *failures(others, "the agent was ended with what it began for"))
        return _unmoved(previous, event, (), ended, Status.STOPPED)
    happened = replace(event, name=CANCELLED)
    return await _reacted(graph, previous, happened, others, (settle, *answers), services)


async def _take_answer(
    graph: StateTransitionGraph, previous: Snapshot, event: Event, services: Any
) -> TurnRecord | Outcome | Void:
    asked = _open(previous, event, Side.ASKED)
    if asked is None:
        return Void()
    others = tuple(each for each in previous.handoffs if each is not asked)
    if not asked.states and event.name != ACCEPTED:  # it was withdrawn, and is not taken
        return _unmoved(previous, event, others)
    if event.name == ACCEPTED and asked.mode is Mode.DELEGATE:
        standing = tuple(replace(each, is_accepted=True) if each is asked else each for each in previous.handoffs)
        if asked.invoke:
            return _unmoved(previous, event, standing)
        return await _reacted(graph, previous, event, standing, (), services, replied=asked.id)
    if event.name == ACCEPTED:
        return await _handed_over(graph, previous, event, others, services)
    if event.name == REJECTED:
        following = _next(previous, event, asked)
        if following is not None:
            return following
    happened = _as_the_chart_knows_it(event, asked)
    return await _reacted(graph, previous, happened, others, (), services)


async def _handed_over(
    graph: StateTransitionGraph, previous: Snapshot, event: Event, others: tuple[OpenHandoff, ...], services: Any
) -> TurnRecord:
    """The turn after which another agent has the work. One whose chart says nothing of that ends."""
    turn = await _reacted(graph, previous, event, others, (), services)
    if turn.taken:
        return _let_go(turn)
    passed = taken_transfers(others)
    left = tuple(each for each in others if each not in passed)
    ended = (*_handed_on(passed), CancelAll(), *failures(left, "the agent handed over what it did"))
    return _unmoved(previous, event, (), ended, Status.DONE)


def _let_go(turn: TurnRecord) -> TurnRecord:
    """The turn, with an end to the transfers that it has not ended with a result: another agent has that work now."""
    passed = taken_transfers(turn.snapshot.handoffs)
    left = tuple(each for each in turn.snapshot.handoffs if each not in passed)
    return replace(turn, snapshot=replace(turn.snapshot, handoffs=left), effects=(*_handed_on(passed), *turn.effects))


def _handed_on(passed: Sequence[OpenHandoff]) -> tuple[Effect, ...]:
    return tuple(conclusion(each, HandoffStatus.COMPLETED, "handed on", None)[0] for each in passed)


def _next(previous: Snapshot, event: Event, asked: OpenHandoff) -> TurnRecord | None:
    """The turn that offers to the next target; None where there is none."""
    if "packet" not in event.payload:
        return None
    packet = read_packet(event.payload["packet"])
    obstacle, details = Obstacle(event.payload["obstacle"]), event.payload["details"]
    following = next_offer(packet, obstacle, details, event.time)
    if following is None:
        return None
    version = previous.version + 1
    offer = next_attempt(*following, event.time, source_of(previous.agent_id, version, event.time))
    made = offer.handoff
    again = replace(asked, id=made.id, peer=made.target)
    handoffs = tuple(again if each is asked else each for each in previous.handoffs)
    return _unmoved(previous, event, handoffs, (offer,))


def _as_the_chart_knows_it(event: Event, asked: OpenHandoff) -> Event:
    """The answer as the event that the waiting state handles."""
    told = {name: value for name, value in event.payload.items() if name not in ("packet", "obstacle")}
    told |= {"handoff": asked.request or asked.id, "reason": event.payload.get("obstacle", "")}
    name = event.name
    if "packet" in event.payload:
        packet = read_packet(event.payload["packet"])
        failed = with_attempt(packet, Obstacle(event.payload["obstacle"]), event.payload["details"], event.time)
        told["attempts"] = [each.model_dump(mode="json") for each in failed.attempts]
        name = FAILED if len(failed.attempts) > 1 else REJECTED
    if not asked.invoke:
        return replace(event, name=name, payload=told)
    if name == COMPLETED:
        return replace(event, name=f"done.invoke.{asked.invoke}", payload={"result": told["result"]})
    failure = {"type": name, "message": told.get("details", ""), "traceback": "", "attempts": 1, **told}
    return replace(event, name=f"error.invoke.{asked.invoke}", payload=failure)


async def _reacted(
    graph: StateTransitionGraph,
    previous: Snapshot,
    event: Event,
    handoffs: tuple[OpenHandoff, ...],
    before: tuple[Effect, ...],
    services: Any,
    replied: str = "",
) -> TurnRecord:
    """The turn that the event makes; where the chart does not handle it, one that only takes note."""
    started = perf_counter_ns()
    context = committed_context(graph, previous)
    macrostep = _macrostep(graph, previous, previous.agent_id, context, event, handoffs, services)
    if previous.status is Status.ACTIVE:
        await macrostep.react()
    if not macrostep.taken:
        return _unmoved(previous, event, handoffs, before)
    return recorded(macrostep, previous, event, started, before=before, replied=replied)


def _unmoved(
    previous: Snapshot,
    event: Event,
    handoffs: tuple[OpenHandoff, ...],
    effects: tuple[Effect, ...] = (),
    status: Status | None = None,
) -> TurnRecord:
    """The turn of an agent that stays where it is, and only takes note of what became of a handoff."""
    entered = previous.entered if status is None else ()
    after = replace(
        previous,
        version=previous.version + 1,
        handoffs=handoffs,
        status=status or previous.status,
        entered=entered,
    )
    return TurnRecord(previous, after, event, (), 0, (), effects)


def _macrostep(
    graph: StateTransitionGraph,
    previous: Snapshot | None,
    agent_id: AgentId,
    context: AgentContext,
    event: Event,
    handoffs: tuple[OpenHandoff, ...],
    services: Any,
) -> Macrostep:
    version, leaves, memory = (1, (), ()) if previous is None else _where(previous)
    turn = Turn(agent_id, version, own_copy(event), services, graph.name, handoffs, context, leaves)
    return Macrostep(graph, leaves, memory, context, turn)


def _where(previous: Snapshot) -> tuple[int, tuple[StateName, ...], Memory]:
    return previous.version + 1, previous.configuration, previous.memory


def _objection(graph: StateTransitionGraph, packet: HandoffPacket, event: Event) -> Rejection | None:
    """Why the graph does not take the packet at all."""
    if packet.deadline is not None and packet.deadline <= event.time:
        return withdrawn(event, packet.handoff_id)
    if packet.target_graph != graph.name:
        return rejection(packet, Obstacle.UNKNOWN_GRAPH, f"the agent is of {graph.name!r}")
    if packet.entry_point not in graph.entry_points:
        doors = ", ".join(graph.entry_points)
        return rejection(packet, Obstacle.NO_ENTRY, f"the entry points of {graph.name!r} are {doors}")
    if len(packet.path) > MOST_HOPS:
        return rejection(packet, Obstacle.LOOP, f"it has been handed on {len(packet.path)} times")
    unwanted = graph.accepts.objection(packet)
    return rejection(packet, Obstacle.WRONG_SKILLS, unwanted) if unwanted else None


def _fields(graph: StateTransitionGraph, entry: EntryPoint, packet: HandoffPacket) -> Mapping[str, Any]:
    """The context's fields that the packet fills; those that the entry point takes go before those of a conversation.

    Raises PayloadError where the packet does not fit the entry point.
    """
    if entry.takes is None:
        return fields_for(graph.context, packet)
    if issubclass(entry.takes, HandoffPacket):
        return entry_fields(graph, entry, packet)
    content = {**packet.internal_state, **packet.entities}
    known = {name: content[name] for name in entry.takes.model_fields if name in content}
    told = graph.context.fields_from(packet) if issubclass(graph.context, ConversationContext) else {}
    return {**told, **entry_fields(graph, entry, fit_payload(graph.name, entry, known))}


def _leads_to(macrostep: Macrostep, entry: EntryPoint) -> bool:
    """Whether a transition that was taken leads to the entry point."""
    plans = macrostep.plans
    return any(entry.state in plan.entries or any(entry.state in edge.targets for edge in plan.taken) for plan in plans)


def _open(previous: Snapshot, event: Event, side: Side) -> OpenHandoff | None:
    """The handoff that mail is about, as far as the agent has that part in it."""
    wanted = event.payload.get("handoff")
    return next((each for each in previous.handoffs if each.id == wanted and each.side is side), None)


def _taken(packet: HandoffPacket, version: int) -> OpenHandoff:
    """What the agent that takes an offer remembers of it."""
    return OpenHandoff(
        id=packet.handoff_id,
        side=Side.TOOK,
        peer=packet.source_agent,
        mode=packet.mode,
        since=version,
        request=packet.request,
        is_accepted=True,
        is_new=packet.is_new,
        path=tuple(each.model_dump(mode="json") for each in packet.path),
        session=packet.session_id,
        reason=packet.reason,
    )


def _acceptance(packet: HandoffPacket) -> tuple[Effect, ...]:
    settle = Settle(packet.handoff_id, HandoffStatus.PENDING, HandoffStatus.ACCEPTED)
    return settle, Send(packet.source_agent, ACCEPTED, answer_payload(packet, HandoffStatus.ACCEPTED))
