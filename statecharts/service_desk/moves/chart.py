"""A chart for each kind of service: that of the service desk, with doors to and from the others, and to a person."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from pydantic import Field

from gatechart import (
    ConversationContext,
    EntryPoint,
    Event,
    Fallbacks,
    Handoff,
    HandoffPacket,
    Human,
    SameTarget,
    State,
    StateTransitionGraph,
    Transition,
    Turn,
)
from gatechart.handoff import Mode, Reason
from statecharts.service_desk import actions
from statecharts.service_desk.context import DeskContext, Request, TurnBegun
from statecharts.service_desk.graph import service_desk
from statecharts.service_desk.guards import has_required_slots, is_next_speaker
from statecharts.service_desk.schema import Brought, Known, Service

PERSON = "human_desk"
FALLBACKS = Fallbacks(SameTarget(attempts=3, first_s=0.1), Human(PERSON, at="NORMAL"))


class Move(Brought):
    """What the user wants of another service."""

    graph: str
    service: Service
    intent: str
    slots: dict[str, str] = Field(default_factory=dict)  # that the user gave with it


class Colleague(Brought):
    """An agent that had the conversation before, and what it knew of the user's wishes."""

    agent: str
    slots: dict[str, str] = Field(default_factory=dict)


class ServiceContext(DeskContext, ConversationContext):
    """A conversation as an agent of one service knows it."""

    colleagues: dict[str, Colleague] = Field(default_factory=dict)  # by service
    unsolved: str = ""  # the intent whose call failed last, until it is tried again


class Entry(Request):
    """What an agent is told that takes a conversation over."""

    colleagues: dict[str, Colleague] = Field(default_factory=dict)


def kind_of(service: str) -> str:
    """Return the name of the graph for services of its kind.

    >>> kind_of("RideSharing_1"), kind_of("Weather")
    ('ride_sharing', 'weather')
    """
    kind = re.sub(r"_\d+$", "", service)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind).lower()


def keep_words(context: ServiceContext, event: Event, turn: Turn) -> None:
    """Add to the conversation what was said."""
    words = TurnBegun.model_validate(event.payload)
    context.initial_query = context.initial_query or words.text
    context.say(words.speaker, words.text, turn.now)


def move_on(context: ServiceContext, event: Event, turn: Turn) -> None:
    """Hand the conversation to the service that the user wants now: to its agent where it has one already."""
    move = Move.model_validate(event.payload)
    intent = move.service.intents[move.intent]
    context.colleagues[context.service.name] = Colleague(agent=turn.agent_id, slots=context.slots)
    context.entities |= {**context.answers, **context.slots}
    before = context.colleagues.get(move.service.name)
    slots = (before.slots if before else {}) | move.slots
    entry = Entry(
        service=move.service,
        intent=move.intent,
        slots=slots,
        carried=_without_repeats(context.known()),
        speaker="user",
        colleagues=context.colleagues,
    )
    turn.handoff(
        move.graph,
        at=door_for(entry),
        agent=before.agent if before else None,
        packet=context.packet(
            Reason.OUT_OF_SCOPE,
            current_problem=intent.name,
            internal_state=entry.model_dump(mode="json"),
        ),
        fallbacks=FALLBACKS,
        achieved=achieved(context),
        progressed=lambda _steps: True,  # the user leads: to come back is not to go round in circles
    )


def _without_repeats(known: Iterable[Known]) -> tuple[Known, ...]:
    return tuple({(each.slot, each.value): each for each in known}.values())


def door_for(entry: Request) -> str:
    """Return the entry point for a service that takes over what it and other services were told before.

    A service may look for what the user told others; what it does in earnest it is told itself.
    """
    intent = entry.service.intents[entry.intent]
    if intent.is_transactional:
        return "CONFIRMING" if set(intent.required_slots) <= set(entry.slots) else "ELICITING_DETAILS"
    desk = DeskContext(service=entry.service, intent=entry.intent, slots=entry.slots, carried=entry.carried)
    is_complete = all(slot in entry.slots or desk.recalled(slot) for slot in intent.required_slots)
    return "SEARCHING" if is_complete else "ELICITING_CRITERIA"


def achieved(context: ServiceContext) -> str:
    """Describe the service's result in words."""
    did = {"done": context.successes, "failed": context.failures, "answered": len(context.answers)}
    told = [f"{count} {what}" for what, count in did.items() if count]
    return ", ".join([*told, *(f"{slot} is {value}" for slot, value in context.slots.items())])


def take_up(context: ServiceContext, event: Event) -> None:
    """Go on with a conversation that has come back."""
    context.take(HandoffPacket.model_validate(event.payload))
    context.offer, context.asked, context.read_back, context.agreed = {}, {}, {}, {}
    context.proposal, context.questions, context.given = "", [], []


def say_goodbye(context: ServiceContext, _event: Event, turn: Turn) -> None:
    """Tell the agents that had the conversation before that it is over."""
    for colleague in context.colleagues.values():
        if colleague.agent != turn.agent_id:
            turn.send(colleague.agent, "CONVERSATION_OVER")


def note_failure(context: ServiceContext, _event: Event) -> None:
    """Remember what could not be done."""
    context.unsolved = context.intent


def try_again(context: ServiceContext, _event: Event) -> None:
    """Forget it: something is being done."""
    context.unsolved = ""


def keep_help(context: ServiceContext, event: Event) -> None:
    """Note what a person came to."""
    context.decisions.append(str(event.payload["result"]))
    context.offer, context.unsolved = {}, ""


def of_the_failure(context: ServiceContext, _event: Event) -> HandoffPacket:
    """All that a person needs to know of what could not be done."""
    return context.packet(
        Reason.TOOL_FAILURE,
        current_problem=f"{context.service.name} could not do {context.unsolved or context.intent}",
        entities={**context.entities, **context.slots},
    )


def has_failed(context: ServiceContext, _event: Event) -> bool:
    """Whether something could not be done, and was not tried again."""
    return bool(context.unsolved)


def has_counter_offer(context: ServiceContext, _event: Event) -> bool:
    """Whether the service suggested something else in place of what failed."""
    return bool(context.offer)


def is_service_known(_context: ServiceContext, event: Event) -> bool:
    """Whether the service that the user moves on to has what they want of it."""
    move = Move.model_validate(event.payload)
    return move.intent in move.service.intents


def knows_enough(context: ServiceContext, event: Event) -> bool:
    """Whether nothing is missing that the intent requires: in what a packet brings, and else in the context."""
    brought = event.payload.get("internal_state")
    if brought is None:
        return has_required_slots(context, event)
    return door_for(Request.model_validate({name: brought[name] for name in Request.model_fields})) in (
        "SEARCHING",
        "CONFIRMING",
    )


TO_A_PERSON = Handoff(PERSON, at="NORMAL", mode=Mode.DELEGATE, reason=Reason.TOOL_FAILURE, packet=of_the_failure)

_ENTERED = {"GIVEN_UP": note_failure, "SEARCH": try_again, "TRANSACTION": try_again}
_DOORS = (
    *(
        EntryPoint(each.state, takes=Entry, guard=knows_enough if each.guard else None)
        for each in service_desk.entry_points.values()
    ),
    EntryPoint("CONFIRMING", takes=Entry, guard=knows_enough),
)
_OWNING = ("SEARCH", "TRANSACTION", "CLOSING")  # the states of an agent that has the conversation


def _moves() -> Iterator[Transition[Any]]:
    for state in _OWNING:
        yield Transition(state, "USER_MOVED_ON", "HANDING_ON", guard=is_service_known, actions=move_on)
        yield Transition(state, "TURN_BEGAN", guard=is_next_speaker, actions=(actions.take_turn, keep_words))
    yield Transition("HANDING_ON", "handoff.accepted", "AWAY")
    yield Transition("HANDING_ON", "handoff", "WRAPPING_UP")
    for door in _DOORS:
        yield Transition("AWAY", f"handoff.offered.{door.name}", door.state, actions=take_up)
    yield Transition("AWAY", "CONVERSATION_OVER", "ENDED")
    for state in ("PARTING", "FAREWELL"):
        yield Transition(state, "SERVICE_SAID_GOODBYE", "ENDED", actions=say_goodbye)


def _help() -> Iterator[Transition[Any]]:
    yield Transition("COUNTER_OFFERING", "USER_DISAGREED", "CALLING_PERSON", actions=TO_A_PERSON)
    yield Transition("ASKING_FOR_MORE", "USER_DISAGREED", "CALLING_PERSON", guard=has_failed, actions=TO_A_PERSON)
    yield Transition("CALLING_PERSON", "handoff.accepted", "WITH_PERSON")
    yield Transition("WITH_PERSON", "handoff.completed", "WRAPPING_UP", guard=has_counter_offer, actions=keep_help)
    yield Transition("WITH_PERSON", "handoff.completed", "PARTING", actions=keep_help)
    yield Transition("CALLING_PERSON", "handoff", "PARTING")
    yield Transition("WITH_PERSON", "handoff", "PARTING")


_ADDED = (*_moves(), *_help())
_REPLACED = {
    ("COUNTER_OFFERING", "USER_DISAGREED"),
    ("PARTING", "SERVICE_SAID_GOODBYE"),
    ("FAREWELL", "SERVICE_SAID_GOODBYE"),
}


def service(kind: str) -> StateTransitionGraph[Any]:
    """Build the chart for one kind of service."""
    kept = [
        each
        for each in service_desk.transitions
        if (each.source, each.event) not in _REPLACED and each.event != "TURN_BEGAN"
    ]
    return StateTransitionGraph(
        kind,
        context=ServiceContext,
        states=(*map(_with_entry, service_desk.tree), "CALLING_PERSON", "WITH_PERSON", "HANDING_ON", "AWAY"),
        transitions=(*_ADDED, *kept),
        entry_points=_DOORS,
    )


def services(names: Iterable[str]) -> tuple[StateTransitionGraph[Any], ...]:
    """Build a chart for each kind of the named services."""
    return tuple(map(service, sorted(set(map(kind_of, names)))))


def _with_entry(state: State[Any]) -> State[Any]:
    entered = _ENTERED.get(state.name)
    on_entry = (*state.on_entry, entered) if entered else state.on_entry
    return replace(state, on_entry=on_entry, states=tuple(map(_with_entry, state.states)))
